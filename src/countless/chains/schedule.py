"""A sampler is a list of moves: each leaves the posterior as it is, so does their sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..models.mixture.state import Problem, State

# Sweeps between two rebuilds of all statistics from the rows, which undo the drift of rank-one updates.
REBUILD_EVERY = 100


class Move(Protocol):
    """One way to change a state in place; ``adapt``, where a move has it, is called in the warm-up only.

    A move that changes the family too returns the problem that the chain goes on with. One that remembers anything
    from step to step has ``snapshot() -> dict`` of what JSON can hold, and ``restore(dict)``: without them a chain
    that was stopped would go on differently.
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

    def snapshot(self) -> dict[str, Any]:
        """What the schedule and its moves remember, as JSON can hold it."""
        hooks = [getattr(move, "snapshot", dict) for move in self.moves]
        return {"rounds": self._rounds, "moves": [hook() for hook in hooks]}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Remember what ``snapshot`` told."""
        if type(saved["rounds"]) is not int or len(saved["moves"]) != len(self.moves):
            raise ValueError("the state of a chain is one of another schedule")
        self._rounds = saved["rounds"]
        for move, memory in zip(self.moves, saved["moves"], strict=True):
            hook = getattr(move, "restore", None)
            if hook is not None:
                hook(memory)
            elif memory != {}:
                raise ValueError(f"the move {move.name!r} remembers nothing")
