"""A partition on its way to the least J (see ``small_variance.py``): passes, single rows, joins, halves.

Every step is taken only where it lowers J, so that J never rises: a pass over the rows with centres held (then means
move: the mean is the best centre of any Bregman divergence), a single row exchanged, a pair joined, a cluster halved,
or, where the number of clusters is fixed, a cluster halved and another pair joined.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.validate import whole_number
from .divergences import (
    FloatArray,
    IntArray,
    Measure,
    SquaredDistance,
    collect,
    count_term,
    describe,
    family_pass,
    join_cost,
    mean_drifts,
    squared_pass,
)
from .moves import agglomerate, bisect, exchange

# Rows of one block; sums are added up block by block, so that threads do not change them.
BLOCK = 1 << 15
# Rows times clusters up to which single rows are exchanged.
EXCHANGE_LIMIT = 100_000
# A change of J below this share of it is rounding, or not worth a pass.
MARGIN = 1e-9


@dataclass
class Table:
    """Rows and weights under one divergence, with the threads that pass over them."""

    measure: Measure
    rows: FloatArray
    weights: FloatArray
    run: Callable[..., Any] = map

    def __post_init__(self) -> None:
        self.total = float(self.weights.sum())
        self.kernel = squared_pass if isinstance(self.measure.hyper, SquaredDistance) else family_pass

    def take(self, index: IntArray, scale: float = 1.0) -> Table:
        return Table(self.measure, np.ascontiguousarray(self.rows[index]), self.weights[index] * scale)

    def pass_over(
        self,
        means: FloatArray,
        offsets: FloatArray,
        labels: IntArray,
        lower: FloatArray,
        slack: FloatArray,
        n_new: int = 0,
        frozen: bool = False,
    ) -> tuple[float, int, FloatArray, FloatArray, IntArray]:
        """One pass: total divergence, rows moved, change of sums, and the farthest row of each cluster."""
        k = len(means)

        def block(start: int) -> tuple[float, int, FloatArray, FloatArray, IntArray]:
            delta, far, far_row = np.zeros((k, self.measure.width)), np.full(k, -1.0), np.zeros(k, dtype=np.int64)
            stop = min(start + BLOCK, len(self.rows))
            cost, moved = self.kernel(
                self.measure.hyper, self.rows, self.weights, means, offsets, labels, lower, slack, n_new, frozen, start,
                stop, self.measure.n_statistics, delta, far, far_row,
            )  # fmt: skip
            return cost, moved, delta, far, far_row

        parts = list(self.run(block, range(0, len(self.rows), BLOCK)))
        costs, moves, deltas, fars, far_rows = (np.array(part) for part in zip(*parts, strict=True))
        nearest = np.argmax(fars, axis=0)
        every = np.arange(k)
        return costs.sum(), int(moves.sum()), deltas.sum(axis=0), fars[nearest, every], far_rows[nearest, every]

    def nearest(self, sums: FloatArray, count_weight: float) -> IntArray:
        """The cluster that each row costs least in."""
        labels = np.full(len(self.rows), -1, dtype=np.int64)
        none = np.zeros(len(sums))
        self.pass_over(sums / sums[:, :1], count_offsets(sums, count_weight), labels, np.zeros(len(labels)), none)
        return labels

    def sums(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """The sums of each cluster."""

        def block(start: int) -> FloatArray:
            out = np.zeros((n_clusters, self.measure.width))
            stop = min(start + BLOCK, len(self.rows))
            measure = self.measure
            collect(measure.hyper, self.rows, self.weights, labels, measure.n_statistics, start, stop, out)
            return out

        return np.sum(list(self.run(block, range(0, len(self.rows), BLOCK))), axis=0)

    def single(self, i: int) -> FloatArray:
        """The sums of a cluster that holds row i alone."""
        out = np.zeros(self.measure.width)
        describe(self.measure.hyper, self.rows[i], self.weights[i], self.measure.n_statistics, out)
        return out


def count_offsets(sums: FloatArray, count_weight: float) -> FloatArray:
    """What the label of each cluster costs a row: -count_weight log(N_k / N)."""
    if count_weight == 0.0:
        return np.zeros(len(sums))
    return -count_weight * np.log(sums[:, 0] / sums[:, 0].sum())


@contextmanager
def threads(n_threads: int | None) -> Iterator[Callable[..., Any]]:
    """Something like ``map`` that runs on so many threads (default: all cores)."""
    count = os.cpu_count() or 1 if n_threads is None else whole_number("n_threads", n_threads, 1)
    if count == 1:
        yield map
    else:
        with ThreadPoolExecutor(count) as pool:
            yield pool.map


@dataclass(frozen=True)
class Objective:
    """What a cluster costs; ``n_clusters`` instead of a penalty asks for that number."""

    penalty: float = 0.0
    count_weight: float = 0.0
    n_clusters: int | None = None
    splits: bool = True

    @property
    def fixed(self) -> bool:
        return self.n_clusters is not None


class Halves(NamedTuple):
    """A cluster in two: what that saves, without any penalty, the sums of both, and the rows of the second."""

    saved: float
    cluster: int
    pair: FloatArray
    second: IntArray


@dataclass
class Partition:
    """Labels, the sums of each cluster, and J as it fell."""

    table: Table
    aim: Objective
    labels: IntArray
    sums: FloatArray
    within: float = np.inf
    trace: list[float] = field(default_factory=list)
    n_iter: int = 0

    @property
    def n_clusters(self) -> int:
        return len(self.sums)

    def value(self) -> float:
        """J, with the divergence summed so far."""
        counts = self.count_cost(self.sums[:, 0])
        return self.within + self.aim.penalty * self.n_clusters + counts

    def count_cost(self, weights: FloatArray) -> float:
        if self.aim.count_weight == 0.0:
            return 0.0
        return float(sum(count_term(self.aim.count_weight, self.table.total, n) for n in weights))

    def note(self) -> None:
        self.trace.append(self.value())

    # --- passes ------------------------------------------------------------------------------------------------

    def settle(self, max_iter: int, tol: float, opening: np.random.Generator | bool = False) -> bool:
        """Passes with centres held until nothing moves; returns whether J fell.

        ``opening``: far rows open clusters, the farthest first, or one drawn by its excess where a generator is given.
        """
        table, measure = self.table, self.table.measure
        lower = np.zeros(len(table.rows))
        slack = np.zeros(self.n_clusters)
        fell = False
        first = bool(self.labels[0] < 0)
        opened = 0
        # Counts starve small clusters; where their number is fixed, a pass that empties one is taken back.
        careful = self.aim.fixed and self.aim.count_weight > 0.0
        means = self.sums / self.sums[:, :1]
        for _ in range(max_iter):
            before = self.value()
            # Seeds have no counts yet.
            offsets = count_offsets(self.sums, 0.0 if first else self.aim.count_weight)
            kept_labels = self.labels.copy() if careful and not first else self.labels
            cost, moved, delta, far, far_row = table.pass_over(means, offsets, self.labels, lower, slack, opened)
            sums = delta if first else self.sums + delta
            self.n_iter += 1
            kept = sums[:, -1] > 0.5
            if careful and not first and not kept.all():
                self.labels[:] = kept_labels
                break
            self.sums = sums
            if not kept.all():
                self._close(kept)
                far, far_row, means = far[kept], far_row[kept], means[kept]
            n_former = self.n_clusters
            self.within = cost - float(_drifts(measure, self.sums / self.sums[:, :1], means) @ self.sums[:, 0])
            opened = self._open(far, far_row, opening) if opening is not False else self._refill(far, far_row)
            # The bound of a row that opened a cluster leaves out the centre that it came from.
            lower[far_row[self.labels[far_row] >= n_former]] = 0.0
            former, means = means, self.sums / self.sums[:, :1]
            drift = np.zeros(self.n_clusters)
            drift[:n_former] = _drifts(measure, means[:n_former], former)
            slack = _slack(np.sqrt(np.maximum(drift, 0.0)))
            after = self.value()
            fell |= first or after < before - MARGIN * abs(before)
            self.note()
            if not opened and (moved == 0 or (not first and before - after <= tol * abs(before))):
                break
            first = False
        return fell

    def _close(self, kept: NDArray[np.bool_]) -> None:
        """Drop clusters without rows."""
        number = np.cumsum(kept) - 1
        self.labels[:] = number[self.labels]
        self.sums = np.ascontiguousarray(self.sums[kept])

    def _open(self, far: FloatArray, far_row: IntArray, opening: Any) -> int:
        """Rows that lie farther than the penalty open clusters, at most one in four clusters at a time."""
        excess = np.maximum(far - self.aim.penalty, 0.0)
        excess[self.sums[:, -1] < 1.5] = 0.0
        n_candidates = min(int(np.count_nonzero(excess)), max(1, self.n_clusters // 4))
        if n_candidates == 0:
            return 0
        if isinstance(opening, np.random.Generator):
            chosen = opening.choice(len(far), n_candidates, replace=False, p=excess / excess.sum())
        else:
            chosen = np.argsort(-excess, kind="stable")[:n_candidates]
        return sum(self._detach(int(k), int(far_row[k])) for k in chosen)

    def _refill(self, far: FloatArray, far_row: IntArray) -> int:
        """Far rows take the place of clusters that lost all their rows, where the number is fixed."""
        missing = (self.aim.n_clusters or 0) - self.n_clusters
        if missing <= 0:
            return 0
        free = Objective(-np.inf, self.aim.count_weight)
        order = np.argsort(-np.where(self.sums[:, -1] > 1.5, far, -1.0), kind="stable")[:missing]
        opened = sum(self._detach(int(k), int(far_row[k]), free) for k in order)
        return opened + (self._refill(*self.farthest()) if 0 < opened < missing else 0)

    def _detach(self, k: int, i: int, aim: Objective | None = None) -> bool:
        single = self.table.single(i)
        if self.sums[k, -1] < 1.5 or self.labels[i] != k:
            return False
        return self._divide(k, np.stack([self.sums[k] - single, single]), np.array([i]), aim or self.aim)

    def _divide(self, k: int, pair: FloatArray, second: IntArray, aim: Objective) -> bool:
        """Make the rows ``second`` of cluster k a cluster of their own where that lowers J."""
        saved = self.saving(k, pair)
        if not saved > aim.penalty * (1 + MARGIN):
            return False
        self.within -= _join(self.table.measure, pair)
        self.sums[k] = pair[0]
        self.labels[second] = self.n_clusters
        self.sums = np.concatenate([self.sums, pair[1:]])
        return True

    def saving(self, k: int, pair: FloatArray) -> float:
        """By how much J without its penalty falls when cluster k becomes this pair."""
        return _join(self.table.measure, pair) + self.count_cost(self.sums[k : k + 1, 0]) - self.count_cost(pair[:, 0])

    # --- single rows, joins, halves -------------------------------------------------------------------------------

    def exchange(self, rng: np.random.Generator, sweeps: int = 20) -> bool:
        """Move single rows until none lowers J; returns whether any did."""
        table, aim = self.table, self.aim
        before = self.value()
        for _ in range(sweeps):
            if len(table.rows) * self.n_clusters > EXCHANGE_LIMIT:
                break
            spare = 0 if aim.fixed else min(len(table.rows), self.n_clusters + 16)
            sums = np.concatenate([self.sums, np.zeros((spare, table.measure.width))])
            used, _, moved, _ = exchange(
                table.measure.hyper, table.rows, table.weights, self.labels, sums, self.n_clusters,
                table.measure.n_statistics, aim.penalty, aim.count_weight, table.total, aim.fixed,
                rng.permutation(len(table.rows)),
            )  # fmt: skip
            self.sums = sums[:used]
            self._close(self.sums[:, -1] > 0.5)
            self.n_iter += 1
            if moved == 0:
                break
            self.recount()
            self.note()
        return self.value() < before - MARGIN * abs(before)

    def recount(self) -> None:
        """Sums from the rows, and the divergence from the means, free of what updates left behind."""
        self.sums = self.table.sums(self.labels, self.n_clusters)
        none = np.zeros(self.n_clusters)
        means = self.sums / self.sums[:, :1]
        self.within = self.table.pass_over(means, none, self.labels, np.zeros(len(self.labels)), none, frozen=True)[0]

    def farthest(self) -> tuple[FloatArray, IntArray]:
        """The largest weighted divergence in each cluster, and whose it is."""
        none = np.zeros(self.n_clusters)
        means = self.sums / self.sums[:, :1]
        return self.table.pass_over(means, none, self.labels, np.zeros(len(self.labels)), none, frozen=True)[3:]

    def detachments(self) -> list[float]:
        """What it saves to make the farthest row of each cluster a cluster of its own."""
        singles = [self.table.single(i) for i in self.farthest()[1]]
        return [
            self.saving(k, np.stack([self.sums[k] - single, single]))
            for k, single in enumerate(singles)
            if self.sums[k, -1] > 1.5
        ]

    def join(self, limit: float, target: int) -> bool:
        """Join the cheapest pairs while they cost less than ``limit`` and more than ``target`` clusters are left."""
        parent, heights, sums = self.tree(limit, target)
        if len(heights) == 0:
            return False
        before = self.count_cost(self.sums[:, 0])
        roots = np.unique(parent)
        self.labels[:] = np.searchsorted(roots, parent)[self.labels]
        self.sums = np.ascontiguousarray(sums[roots])
        self.within += float(heights.sum()) + before - self.count_cost(self.sums[:, 0])
        self.note()
        return True

    def tree(self, limit: float, target: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Which cluster each one ends in, the cost of each join, and the sums, as ``join`` would leave them."""
        sums = self.sums.copy()
        parent, heights = np.zeros(len(sums), dtype=np.int64), np.zeros(len(sums))
        measure = self.table.measure
        n_joins = agglomerate(
            measure.hyper, sums, measure.n_statistics, self.aim.count_weight, self.table.total, limit, target, parent,
            heights,
        )  # fmt: skip
        return parent, heights[:n_joins], sums

    def halves(self, rng: np.random.Generator, worth: float, tries: int = 2) -> list[Halves]:
        """The best halves found of each cluster, largest saving first; those certain to save less than ``worth`` are
        left out."""
        # Few distinct labels: as small integers they are sorted by counting.
        labels = self.labels.astype(np.int16) if self.n_clusters < 2**15 else self.labels
        order = np.argsort(labels, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=self.n_clusters))])
        found = []
        for k in range(self.n_clusters):
            members = order[bounds[k] : bounds[k + 1]]
            best = max((self._halve(k, members, rng, worth) for _ in range(tries)), key=lambda halves: halves.saved)
            if best.saved > 0:
                found.append(best)
        return sorted(found, key=lambda halves: (-halves.saved, halves.cluster))

    def _halve(self, k: int, members: IntArray, rng: np.random.Generator, worth: float) -> Halves:
        table, measure = self.table, self.table.measure
        pair = np.zeros((2, measure.width))
        none = Halves(0.0, k, pair, members[:0])
        if len(members) < 2:
            return none
        part = table.take(members if len(members) <= 2000 else np.sort(rng.choice(members, 2000, replace=False)))
        side = np.zeros(len(part.rows), dtype=np.int64)
        rough = bisect(measure.hyper, part.rows, part.weights, measure.n_statistics, side, pair, 10, rng)
        if rough == 0.0:
            return none
        if len(part.rows) < len(members):
            # What a sample saves, carried over to the cluster, is within a few per cent: hopeless halves end here.
            if rough * self.sums[k, 0] / part.total < 0.8 * worth and self.aim.count_weight == 0.0:
                return none
            part = table.take(members)
            side = np.full(len(members), -1, dtype=np.int64)
            pair = part.pass_over(pair / pair[:, :1], np.zeros(2), side, np.zeros(len(members)), np.zeros(2))[2]
            if (pair[:, -1] < 0.5).any():
                return none
        return Halves(self.saving(k, pair), k, pair, members[side == 1])

    def split(self, rng: np.random.Generator) -> bool:
        """Halve every cluster whose halves lower J."""
        found = self.halves(rng, self.aim.penalty)
        done = [self._divide(k, pair, second, self.aim) for _, k, pair, second in found]
        self.note()
        return any(done)

    def swap(self, rng: np.random.Generator) -> bool:
        """Halve one cluster and join two others where that lowers J at the same number."""
        if self.n_clusters < 3:
            return False
        parent, heights, _ = self.tree(np.inf, self.n_clusters - 1)
        joined = {int(k) for k in np.flatnonzero(parent != np.arange(len(parent)))}
        joined |= {int(parent[k]) for k in joined}
        for saved, k, pair, second in self.halves(rng, heights[0]):
            if k not in joined and saved > heights[0] * (1 + MARGIN) + MARGIN * abs(self.value()):
                n = self.n_clusters
                # Joining first keeps J from rising in between only if the sum is looked at: note after both.
                self._divide(k, pair, second, Objective(-np.inf, self.aim.count_weight))
                a, b = sorted(joined)
                self.within += _join(self.table.measure, self.sums[[a, b]])
                self.sums[a] += self.sums[b]
                self.sums[b] = self.sums[n]
                self.sums = np.ascontiguousarray(self.sums[:n])
                self.labels[self.labels == b] = a
                self.labels[self.labels == n] = b
                self.note()
                return True
        return False

    # --- all of them ------------------------------------------------------------------------------------------------

    def descend(self, rng: np.random.Generator, max_iter: int, tol: float, opening: Any = True) -> Partition:
        """All moves in turn until none lowers J."""
        aim = self.aim
        while self.n_iter < max_iter:
            self.settle(max_iter - self.n_iter, tol, opening=False if aim.fixed else opening)
            changed = self.exchange(rng)
            if aim.fixed:
                changed |= self.swap(rng)
            else:
                changed |= self.join(aim.penalty * (1 - MARGIN), 1)
                if aim.splits:
                    changed |= self.split(rng)
            if not changed:
                break
        return self


def _join(measure: Measure, pair: FloatArray) -> float:
    scratch = np.zeros((3, measure.width - 1))
    return join_cost(measure.hyper, np.ascontiguousarray(pair), 0, 1, measure.n_statistics, scratch)


def _drifts(measure: Measure, means: FloatArray, centres: FloatArray) -> FloatArray:
    out = np.zeros(len(means))
    mean_drifts(measure.hyper, means, centres, measure.n_statistics, out)
    return out


def _slack(shift: FloatArray) -> FloatArray:
    """How much nearer another centre may have come to the rows of each cluster: the largest shift of another."""
    slack = np.full(len(shift), shift.max())
    k = int(np.argmax(shift))
    slack[k] = np.delete(shift, k).max(initial=0.0)
    return slack
