"""Sweeps over the rows: collapsed, given parameters, and one row at a time.

The kernels are in ``partitions``; here they are moves of a mixture.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..parameter_sweep import draw_parameters, sweep_labels
from ..partition import Partition
from ..sweep import sweep_rows

# Tables with more rows have no restless ones: their sweeps are long, and a checkpoint holds a number for each row.
MOST_ROWS = 20_000
# A row is restless where the sweeps of the warm-up have moved it more often than this, counted in thousandths.
RESTLESS = 20
# Visits to restless rows in one sweep: a part of the number of rows, more in a small table, where they cost less than
# what surrounds a sweep: so many visits, or cells where rows are wide. And most passes.
VISITED_AGAIN = 0.25
MOST_VISITS, MOST_CELLS = 1000, 4000
MOST_PASSES = 20


class GibbsSweep:
    """One collapsed pass over all rows, in order, then more passes over those that are restless.

    Most rows of a table hardly ever leave their cluster; the number of clusters changes through the few that do. The
    warm-up finds them. After it the order of the visits is fixed, so that all of them together leave the posterior as
    it is, as each of them does.
    """

    name = "sweep"

    def __init__(self) -> None:
        self._moved: NDArray[np.bool_] | None = None
        self._rates: NDArray[np.int64] | None = None
        self._order: NDArray[np.int64] | None = None

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        if self._order is None:
            self._order = _visits(state.rows.shape, self._rates)
        state.compact_if_sparse()
        before = state.labels.copy()
        sweep_rows(rng, state, self._order, greedy=False)
        self._moved = before != state.labels

    def adapt(self, state: Partition) -> None:
        """Called during the warm-up only: keep a running mean of how often each row moves."""
        if state.n_rows <= MOST_ROWS and self._moved is not None:
            rates = np.zeros(state.n_rows, dtype=np.int64) if self._rates is None else self._rates
            self._rates = rates + (1000 * self._moved - rates) // 20
            self._order = None

    def snapshot(self) -> dict[str, Any]:
        """How often rows have moved, in thousandths."""
        return {} if self._rates is None else {"rates": self._rates.tolist()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue with these rates."""
        if saved:
            rates = np.asarray(saved["rates"])
            if rates.dtype != np.int64 or rates.ndim != 1:
                raise ValueError("the state of a chain holds rates of the wrong shape or type")
            self._rates, self._order = rates, None


def _visits(shape: tuple[int, ...], rates: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The rows of a table of this shape in the order in which a sweep visits them."""
    n_rows, n_columns = shape
    everyone = np.arange(n_rows)
    if rates is None:
        return everyone
    if len(rates) != n_rows:
        raise ValueError("the state of a chain holds rates of a different table")
    restless = np.flatnonzero(rates >= RESTLESS)
    visits = max(int(VISITED_AGAIN * n_rows), min(MOST_VISITS, MOST_CELLS // n_columns))
    n_passes = min(MOST_PASSES, visits // max(1, len(restless)))
    return np.concatenate([everyone, np.tile(restless, n_passes)])


class ParameterSweep:
    """Parameters given labels, then one pass over all rows given parameters.

    The first half makes it right after any move that leaves the law of the partition alone, whatever parameters were
    there before.
    """

    name = "parameters"

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        draw_parameters(rng, state, state.seats.in_use)
        sweep_labels(rng, state)


class SingleSiteSweep:
    """One pass over all rows given parameters, which clusters keep as long as they live.

    Clusters that have no parameters yet, at the start of a chain, draw them from their posterior.
    """

    name = "single-site"

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        slots = state.seats.in_use
        without = slots[np.isnan(state.clusters.arrays.parameters[slots, 0])]
        if len(without):
            draw_parameters(rng, state, without)
        sweep_labels(rng, state)
