"""Bias and all weights drawn together, where there are not too many."""

from __future__ import annotations

import numpy as np

from ..linear import Linear
from ..state import State

# Unknowns up to which their joint law is worth its cost.
MOST_UNKNOWNS = 160


class JointWeights:
    """Draw bias and weights from their joint normal law."""

    name = "weights"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        if 1 + len(state.all_weights()) > MOST_UNKNOWNS:
            return
        problem, pairs = state.problem, state.pairs()
        labels = np.array([each.labels for each in state.attributes]).reshape(-1, problem.n_objects)
        sizes = np.array([each.n_clusters for each in state.attributes], dtype=np.int64)
        law = Linear.of(problem, labels, sizes, state.pull, pairs.scale, state.weight_variance)
        bias, weights = law.split(law.draw(rng))
        state.bias = bias
        for attribute, square in zip(state.attributes, weights, strict=True):
            attribute.weights = square
        state.rebuild()
