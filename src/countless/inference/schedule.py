"""A sampler is a list of moves: each leaves the posterior as it is, so does their sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from .state import Problem, State

# Sweeps between two rebuilds of all statistics from the rows, which undo the drift of rank-one updates.
REBUILD_EVERY = 100


class Move(Protocol):
    """One way to change a state in place; ``adapt``, where a move has it, is called in the warm-up only.

    A move that changes the family too returns the problem that the chain goes on with.
    """

    name: str

    def step(self, rng: np.random.Generator, state: State, problem: Problem) -> Problem | None: ...


class Schedule:
    """Moves done one after the other; one round of all of them is a sweep of the chain."""

    def __init__(self, moves: Sequence[Move]) -> None:
        self.moves = list(moves)
        self._rounds = 0

    def step(self, rng: np.random.Generator, state: State, problem: Problem) -> Problem:
        """One round of all moves; returns the problem to go on with."""
        for move in self.moves:
            problem = move.step(rng, state, problem) or problem
        self._rounds += 1
        if self._rounds % REBUILD_EVERY == 0:
            state.rebuild(problem)
        return problem

    def adapt(self, state: State) -> None:
        """Let moves tune themselves to the state; for the warm-up."""
        for move in self.moves:
            tune = getattr(move, "adapt", None)
            if tune is not None:
                tune(state)
