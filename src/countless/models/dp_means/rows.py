"""Rows with their weights under one divergence: passes over them, block by block and in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.validate import whole_number
from .assignment import Block, Centres, Tally, assign, assign_squared, cost_of_labels
from .divergences import FloatArray, IntArray, Measure, SquaredDistance, add_rows, single_sums

# Rows of one block; sums are added up block by block, so that threads do not change them.
BLOCK = 1 << 15
# Up to this many rows, equal ones are counted as one row with more weight.
COLLAPSE = 5000


class Pass(NamedTuple):
    """What a pass over all rows gives.

    Attributes
    ----------
    cost : float
        Total weighted divergence of the rows from the centres that they have now.
    moved : int
        Rows that changed their cluster.
    change : array (cluster, width)
        By how much the sums of each cluster changed.
    far : array (cluster,)
        Largest weighted divergence of a row of each cluster.
    far_row : array of int (cluster,)
        The row that has it.
    """

    cost: float
    moved: int
    change: FloatArray
    far: FloatArray
    far_row: IntArray


@dataclass
class WeightedRows:
    """Rows in local units, their weights, how they are measured, and a ``map`` that runs over their blocks."""

    measure: Measure
    rows: FloatArray
    weights: FloatArray
    run: Callable[..., Any] = map

    def __post_init__(self) -> None:
        self.total = float(self.weights.sum())
        squared = isinstance(self.measure.divergence.hyper, SquaredDistance)
        self.kernel = assign_squared if squared else assign

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: IntArray, scale: float = 1.0) -> WeightedRows:
        """Some of the rows, with their weights multiplied by ``scale``."""
        return WeightedRows(self.measure, np.ascontiguousarray(self.rows[index]), self.weights[index] * scale)

    def assign(self, centres: Centres, labels: IntArray, lower: FloatArray | None = None) -> Pass:
        """Give each row to its best centre: ``labels``, and the bounds ``lower``, are changed in place."""

        def visit(block: Block, tally: Tally) -> tuple[float, int]:
            return self.kernel(self.measure.divergence, block, centres, tally)

        return self._pass(visit, len(centres.means), labels, lower)

    def cost_of(self, means: FloatArray, labels: IntArray) -> Pass:
        """Divergence of each row from the centre of its own cluster; no row moves."""

        def visit(block: Block, tally: Tally) -> tuple[float, int]:
            return cost_of_labels(self.measure.divergence, block, means, tally), 0

        return self._pass(visit, len(means), labels, None)

    def _pass(
        self,
        visit: Callable[[Block, Tally], tuple[float, int]],
        n_clusters: int,
        labels: IntArray,
        lower: FloatArray | None,
    ) -> Pass:
        bounds = np.zeros(len(self)) if lower is None else lower

        def block(start: int) -> tuple[float, int, FloatArray, FloatArray, IntArray]:
            part = slice(start, start + BLOCK)
            tally = Tally.allocate(n_clusters, self.measure.width)
            cost, moved = visit(Block(self.rows[part], self.weights[part], labels[part], bounds[part]), tally)
            return cost, moved, tally.change, tally.far, start + tally.far_row

        parts = list(self.run(block, range(0, len(self), BLOCK)))
        costs, moves, changes, fars, far_rows = (np.array(part) for part in zip(*parts, strict=True))
        farthest, every = np.argmax(fars, axis=0), np.arange(n_clusters)
        return Pass(
            costs.sum(), int(moves.sum()), changes.sum(axis=0), fars[farthest, every], far_rows[farthest, every]
        )

    def nearest(self, sums: FloatArray, count_weight: float) -> IntArray:
        """The cluster in which each row costs least."""
        labels = np.full(len(self), -1, dtype=np.int64)
        self.assign(Centres(sums / sums[:, :1], count_offsets(sums, count_weight), np.zeros(len(sums)), 0), labels)
        return labels

    def sums(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """The sums of each cluster."""

        def block(start: int) -> FloatArray:
            part = slice(start, start + BLOCK)
            out = np.zeros((n_clusters, self.measure.width))
            add_rows(self.measure.divergence, self.rows[part], self.weights[part], labels[part], out)
            return out

        return np.sum(list(self.run(block, range(0, len(self), BLOCK))), axis=0)

    def single(self, i: int) -> FloatArray:
        """The sums of a cluster that holds row i alone."""
        out = np.zeros(self.measure.width)
        single_sums(self.measure.divergence, self.rows[i], self.weights[i], out)
        return out


def count_offsets(sums: FloatArray, count_weight: float) -> FloatArray:
    """What the label of each cluster costs a row: -count_weight log(N_k / N)."""
    if count_weight == 0.0:
        return np.zeros(len(sums))
    return -count_weight * np.log(sums[:, 0] / sums[:, 0].sum())


@contextmanager
def threads(n_threads: int | None) -> Iterator[Callable[..., Any]]:
    """A function like ``map`` that uses so many threads (default: all cores)."""
    count = os.cpu_count() or 1 if n_threads is None else whole_number("n_threads", n_threads, 1)
    if count == 1:
        yield map
    else:
        with ThreadPoolExecutor(count) as pool:
            yield pool.map


def distinct_rows(
    measure: Measure, rows: FloatArray, weights: FloatArray, n_clusters: int | None = None
) -> tuple[WeightedRows, IntArray]:
    """The rows to search, and the place of each of the user's rows among them.

    In a small table equal rows become one row. ValueError where more clusters are asked for than rows differ.
    """
    first = np.unique(rows[:COLLAPSE], axis=0)
    if n_clusters is not None and n_clusters > len(first):
        n_distinct = len(first if len(rows) <= COLLAPSE else np.unique(rows, axis=0))
        if n_clusters > n_distinct:
            raise ValueError(
                f"n_clusters is {n_clusters}, but X has {n_distinct} different rows (of positive weight); "
                f"ask for at most {n_distinct}"
            )
    if len(rows) > COLLAPSE:
        return WeightedRows(measure, measure.local(rows), weights), np.arange(len(rows))
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    place = place.reshape(-1)
    return WeightedRows(measure, measure.local(distinct), np.bincount(place, weights).astype(np.float64)), place
