"""One sweep over truncated sticks: numbers of the prior, order, weights, parameters, then all labels at once.

Ishwaran and James 2001, section 5.2. Given weights and parameters the rows are independent, so that their labels are
one pass over blocks of rows (two matrix products a block, on all cores).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....core.jit import kernel
from ....core.validate import whole_number
from ....families import verbs
from ....partitions.clusters import clear, refresh_slots
from ....partitions.seats import SPARE_SLOTS
from ....partitions.sticks import draw_log_weights, switch_components
from ....passes.passes import Passes
from ..state import State

# Bound on the truncation error from which the number of sticks at the start follows, and the most of them.
WANTED_BOUND = 0.01
MOST_AT_START = 100


class BlockedSweep:
    """Numbers of the prior, order, weights, parameters and labels of truncated sticks, once each.

    Slots of the state are the components in the order of the sticks, and ``state.weights`` has their weights.

    Parameters
    ----------
    truncation : int, optional
        Number of sticks at the start; default, by the bound.
    limit : int
        Most sticks ever; equal to ``truncation``, their number is fixed.
    passes : Passes, optional
        Shared passes over the rows of the problem; default, its own with one thread.
    """

    name = "blocked"

    def __init__(self, truncation: int | None = None, limit: int = 1000, passes: Passes | None = None) -> None:
        self._truncation = truncation
        self._limit = limit
        self._passes = passes
        self._least = 1

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        n_sticks = self._make_room(state)
        counts = state.seats.arrays.sizes[:n_sticks]
        state.set_prior(state.seats.prior.draw_learned_of_components(rng, state.seats.fixed, counts))
        shapes = state.seats.fixed.stick_shapes(n_sticks)
        order = switch_components(rng, counts, shapes)
        state.renumber(np.concatenate([order, np.arange(n_sticks, state.capacity)]))
        log_weights = draw_log_weights(rng, state.seats.arrays.sizes[:n_sticks], shapes)
        clusters = state.clusters.arrays
        naturals = np.empty((n_sticks, clusters.statistics.shape[1]))
        _draw_components(state.hyper, rng, state.seats.arrays.sizes, clusters, naturals)
        naturals[:, 0] += log_weights  # entry 0 of the statistics of a row is 1
        drawn = self._passes_over(state).draw(naturals, rng)
        clusters.statistics[:n_sticks] = drawn.sums
        state.seats.seat(drawn.labels)
        refresh_slots(state.hyper, clusters, state.seats.in_use)
        state.weights = np.exp(log_weights)

    def adapt(self, state: State) -> None:
        """Give up empty sticks at the end that a bad start left behind; for the warm-up only."""
        if state.weights is not None:
            state.weights = state.weights[: max(self._least, int(state.labels.max()) + 2)]

    def snapshot(self) -> dict[str, int]:
        """The least number of sticks, set at the first step."""
        return {"least": int(self._least)}

    def restore(self, saved: Mapping[str, int]) -> None:
        """Continue with that number."""
        self._least = whole_number("least", saved["least"], 1)

    def _make_room(self, state: State) -> int:
        """Number of sticks for this step: set at the first, more where the last one was used."""
        if state.weights is None:
            n_sticks = self._least = self._wanted(state)
            if self._truncation is None:
                n_sticks = max(n_sticks, state.n_clusters + 1)
        else:
            n_sticks = len(state.weights)
            if state.seats.arrays.sizes[n_sticks - 1] > 0:
                n_sticks = max(n_sticks + max(2, n_sticks // 2), self._wanted(state))
        n_sticks = len(state.seats.fixed.stick_shapes(min(n_sticks, self._limit))[0])
        state.enlarge(n_sticks + SPARE_SLOTS)
        if state.weights is None:
            state.seats.seat(state.partition() % n_sticks)
            state.rebuild()
        return n_sticks

    def _wanted(self, state: State) -> int:
        """Sticks that bring the bound on the truncation error below what is wanted."""
        if self._truncation is not None:
            return self._truncation
        prior = state.seats.fixed
        for n_sticks in range(2, MOST_AT_START):
            if prior.truncation_bound(state.n_rows, n_sticks) <= WANTED_BOUND:
                return n_sticks
        return MOST_AT_START

    def _passes_over(self, state: State) -> Passes:
        if self._passes is None or self._passes.problem is not state.problem:
            self._passes = Passes(state.problem, n_threads=1)
        return self._passes


@kernel
def _draw_components(family, rng, sizes, clusters, naturals):
    """Parameters of every component: from the posterior given its rows, or from the prior where it has none."""
    for k in range(naturals.shape[0]):
        if sizes[k] == 0:
            clear(family, clusters, k)
        verbs.draw_parameters(family, clusters.statistics, clusters.cache, k, rng, clusters.parameters)
        verbs.natural(family, clusters.parameters, k, naturals[k])
