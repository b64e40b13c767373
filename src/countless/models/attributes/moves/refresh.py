"""What a round begins with: the rest of every pair free of rounding, and, for links, new precisions."""

from __future__ import annotations

import math

import numpy as np

from ..state import State


class Refresh:
    """Compute the rest anew; draw the precisions of links (Polson, Scott & Windle 2013)."""

    name = "refresh"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        if state.problem.binary:
            from ..kernels.polya_gamma import draw_precisions

            state.pull = np.zeros_like(state.pull)
            draw_precisions(rng, state.sums(), state.problem.observed, state.problem.directed, state.pull)
        state.rebuild()


class Heat:
    """Raise the weight of the data from round to round, for starts: chains find their attributes from coarse to fine.

    Parameters
    ----------
    rounds : int
        Rounds until the data have their full weight.
    lowest : float
        Where it begins.
    """

    name = "heat"

    def __init__(self, rounds: int, lowest: float = 0.02) -> None:
        self.rounds, self.lowest, self.done = rounds, lowest, 0

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        self.done += 1
        if state.problem.binary:
            # Links say little each: chains that begin without them take up far too many attributes.
            return
        state.heat = math.exp(math.log(self.lowest) * max(0.0, 1.0 - self.done / (0.7 * self.rounds)))

    def snapshot(self) -> dict[str, int]:
        """Rounds so far."""
        return {"done": self.done}

    def restore(self, saved: dict[str, int]) -> None:
        """Go on after so many rounds."""
        if type(saved.get("done")) is not int:
            raise ValueError("the state of a chain belongs to a different schedule")
        self.done = saved["done"]
