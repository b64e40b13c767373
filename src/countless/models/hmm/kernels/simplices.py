"""Rows of probabilities from their Dirichlet distributions."""

from __future__ import annotations

import math

from ....core.jit import kernel
from ....core.special import log_gamma_draw


@kernel
def draw_simplices(rng, shapes):
    """Each row becomes a draw from the Dirichlet distribution that it is the parameter of."""
    for p in range(shapes.shape[0]):
        largest = -math.inf
        for k in range(shapes.shape[1]):
            shapes[p, k] = log_gamma_draw(rng, shapes[p, k]) if shapes[p, k] > 0.0 else -math.inf
            largest = max(largest, shapes[p, k])
        total = 0.0
        for k in range(shapes.shape[1]):
            shapes[p, k] = math.exp(shapes[p, k] - largest)
            total += shapes[p, k]
        for k in range(shapes.shape[1]):
            shapes[p, k] /= total
