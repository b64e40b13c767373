"""Direct assignment of single steps, parameters and transition probabilities integrated out.

Its predictive densities are of whole rows. Where rows count for less, whole paths do its work.
"""

from __future__ import annotations

import numpy as np

from ..kernels.direct import sweep
from ..state import State
from .paths import WholePath

# Steps of one sweep: of a longer series a stretch is visited, chosen at random.
MOST_STEPS = 10_000


class DirectSweep:
    """Visit the steps one after the other: all of them, or a stretch of a long series."""

    name = "direct assignment"

    def __init__(self, most_steps: int = MOST_STEPS) -> None:
        self._most_steps = most_steps

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        if state.problem.row_weight != 1.0:
            WholePath().step(rng, state)
            return
        n = state.n_rows
        begin = 0 if n <= self._most_steps else int(rng.integers(n - self._most_steps + 1))
        sweep_steps(rng, state, begin, min(n, begin + self._most_steps), False)


def sweep_steps(rng: np.random.Generator, state: State, begin: int, end: int, greedy: bool) -> int:
    """Put each step where its conditional sends it, or (greedy) where that is largest; returns how many moved.

    None moves where rows have weights.
    """
    if state.problem.row_weight != 1.0:
        return 0
    at, moved = begin, 0
    while at < end:
        state.reserve(state.n_states + 1)
        path = state.arrays()
        at, _, count = sweep(
            state.hyper,
            rng,
            state.rows,
            state.log_new,
            state.problem.first,
            path,
            state.clusters.arrays,
            state.n_states,
            at,
            end,
            greedy,
        )
        moved += count
        state.take(path)
    return moved
