"""Bias and weights of a solution: their posterior mean given attributes and clusters."""

from __future__ import annotations

import numpy as np

from ....chains.draws import flat
from ..kernels.blocks import IntArray
from ..linear import Linear
from ..posterior import AttributesPosterior, Solution
from ..problem import Problem

# Rounds for links, whose precisions depend on the sums.
ROUNDS = 30


def typical_weights(problem: Problem, posterior: AttributesPosterior, labels: IntArray) -> Solution:
    """A solution with these labels; for links, the weights at the mode."""
    noise, variance = (float(flat(posterior.draws, name).mean()) for name in ("noise", "weight_variance"))
    sizes = labels.max(axis=1, initial=-1).astype(np.int64) + 1
    if not problem.binary:
        law = Linear.of(problem, labels, sizes, problem.observed, 1.0 / noise, variance)
        bias, weights = law.split(law.mean)
        return Solution(labels, weights, bias, noise)
    pull, solution = 0.25 * problem.observed, None
    for _ in range(ROUNDS):
        law = Linear.of(problem, labels, sizes, pull, 1.0, variance)
        bias, weights = law.split(law.mean)
        solution = Solution(labels, weights, bias, noise)
        sums = np.abs(solution.sums())
        with np.errstate(invalid="ignore", divide="ignore"):
            pull = problem.observed * np.where(sums > 1e-6, np.tanh(0.5 * sums) / (2.0 * sums), 0.25)
    return solution  # type: ignore[return-value]
