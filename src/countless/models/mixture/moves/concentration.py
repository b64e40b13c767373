"""The concentration given the partition: drawn in Gibbs, set to its mode in MAP.

How it is drawn is the prior's affair (Escobar and West 1995 for the CRP, slice sampling for the others).
"""

from __future__ import annotations

import numpy as np

from ..state import Problem, State


class ConcentrationUpdate:
    """Draw a learned concentration given the sizes of the clusters; a fixed one stays."""

    name = "concentration"

    def step(self, rng: np.random.Generator, state: State, problem: Problem) -> None:
        """Update ``state`` in place."""
        if problem.prior.is_learned:
            value = problem.prior.draw_concentration(rng, state.concentration, state.cluster_sizes())
            state.set_concentration(problem, value)


def to_mode(state: State, problem: Problem) -> None:
    """Set a learned concentration to its mode given the partition."""
    if problem.prior.is_learned:
        state.set_concentration(problem, problem.prior.mode_concentration(state.cluster_sizes()))
