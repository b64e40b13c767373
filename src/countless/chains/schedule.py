"""A sampler is a list of moves: each leaves the posterior as it is, so does their sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .contract import Move, State

# Sweeps between two rebuilds of what a state derives, which undo the drift of small updates.
REBUILD_EVERY = 100


class Schedule:
    """Moves done one after the other; one round of all of them is a sweep of the chain."""

    def __init__(self, moves: Sequence[Move]) -> None:
        self.moves = list(moves)
        self._rounds = 0

    def step(self, rng: np.random.Generator, state: State) -> None:
        """One round of all moves."""
        for move in self.moves:
            move.step(rng, state)
        self._rounds += 1
        if self._rounds % REBUILD_EVERY == 0:
            state.rebuild()

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
        """Remember what ``snapshot`` returned."""
        if type(saved["rounds"]) is not int or len(saved["moves"]) != len(self.moves):
            raise ValueError("the state of a chain belongs to a different schedule")
        self._rounds = saved["rounds"]
        for move, memory in zip(self.moves, saved["moves"], strict=True):
            hook = getattr(move, "restore", None)
            if hook is not None:
                hook(memory)
            elif memory != {}:
                raise ValueError(f"the move {move.name!r} keeps nothing between steps, but something was saved for it")
