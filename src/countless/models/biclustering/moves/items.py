"""Sweeps and split-merge proposals over one side, as moves of a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....core.validate import whole_number
from ....partitions.seats import IntArray
from .split_merge import propose, saved_room
from .sweep import sweep

FEWEST_PROPOSALS = 3


def sweep_side(
    rng: np.random.Generator, state: Any, side: int, order: IntArray, greedy: bool = False, closed: bool = False
) -> int:
    """Put the items of one side, in the given order, where their conditional sends them; returns how many moved.

    A ``closed`` pass opens no cluster beyond those that there are.
    """
    at, moved, room = 0, 0, 8
    while at < len(order):
        view, seats = state.view(side, room), state.seats[side]
        arrays = seats.arrays
        if closed:
            log_v = arrays.log_v.copy()
            log_v[seats.n_clusters + 1 :] = -np.inf
            arrays = arrays._replace(log_v=log_v)
        at, n_clusters, count = sweep(state.hyper, rng, view, arrays, seats.n_clusters, order, at, greedy)
        state.absorb(view, n_clusters)
        moved += count
        room *= 2
    return moved


def propose_side(rng: np.random.Generator, state: Any, side: int, count: int) -> None:
    """So many split-merge proposals on one side."""
    view, seats = state.view(side, count), state.seats[side]
    members = np.empty(seats.n_items, dtype=np.int64)
    saved = saved_room(view, seats.arrays.active)
    n_clusters = propose(state.hyper, rng, view, seats.arrays, seats.n_clusters, count, saved, members)
    state.absorb(view, n_clusters)


class ForgetConcentrations:
    """Integrate the concentrations out of the moves of items that follow, where the prior allows it."""

    name = "forget the concentrations"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        for side in state.sides:
            if state.seats[side].prior.is_learned:
                state.seats[side].forget_numbers()


class Concentrations:
    """Draw the learned numbers of both priors given the sizes of the clusters."""

    name = "concentrations"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        for side in state.sides:
            if state.seats[side].prior.is_learned:
                state.seats[side].draw_numbers(rng)


class Sweeps:
    """One pass over all rows, then one over all columns."""

    name = "sweep"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        for side in state.sides:
            sweep_side(rng, state, side, np.arange(state.seats[side].n_items))


class SplitMerge:
    """Proposals to split clusters and to merge them, on both sides.

    Parameters
    ----------
    proposals : int, optional
        How many for each side in one step. Default: a quarter of the number of clusters when the warm-up ended, and at
        least three.
    """

    name = "split-merge"

    def __init__(self, proposals: int | None = None) -> None:
        self.proposals = proposals
        self._adapted = [FEWEST_PROPOSALS, FEWEST_PROPOSALS]

    def adapt(self, state: Any) -> None:
        """Called during the warm-up only: afterwards the number of proposals must not depend on the state."""
        self._adapted = [max(FEWEST_PROPOSALS, count // 4) for count in state.shape]

    def snapshot(self) -> dict[str, Any]:
        """The numbers of proposals that the warm-up has led to."""
        return {"adapted": [int(count) for count in self._adapted]}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue with these."""
        self._adapted = [whole_number("adapted", count, 1) for count in saved["adapted"]]
        if len(self._adapted) != 2:
            raise ValueError("the state of a chain belongs to a different schedule")

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        for side in state.sides:
            propose_side(rng, state, side, self.proposals or self._adapted[side])
