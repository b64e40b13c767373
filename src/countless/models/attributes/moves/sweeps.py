"""Every attribute in turn: all objects leave it, join it or change cluster, then its weights are drawn.

The weights of the attribute are integrated out while objects move, those of the others are fixed.
"""

from __future__ import annotations

import numpy as np

from ..kernels.sweep import redraw, sweep
from ..state import Attribute, State


class Sweeps:
    """One pass over all objects for each attribute."""

    name = "sweep"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        for number, attribute in enumerate(state.attributes):
            sweep_attribute(rng, state, number, attribute)


def sweep_attribute(rng: np.random.Generator, state: State, number: int, attribute: Attribute) -> None:
    """Visit all objects for one attribute in a random order, and draw its weights."""
    state.take_out(attribute)
    problem, pairs, seating = state.problem, state.pairs(), state.seating(number)
    known = number < state.n_known
    order = rng.permutation(problem.open_objects[number] if known else problem.n_objects)
    count, at = attribute.n_clusters, 0
    blocks = state.blocks(count, attribute.labels)
    while True:
        at, count = sweep(rng, pairs, blocks, seating, count, order, at)
        if at >= len(order):
            break
        blocks = state.blocks(2 * count, blocks.labels)
    attribute.labels = blocks.labels
    attribute.weights = np.empty((count, count))
    redraw(rng, pairs, blocks, count, attribute.weights)
    state.put_in(attribute)
