"""Bias and all weights together, given the labels of all attributes: one normal law.

The links are a linear function of bias and weights, so that these have a joint normal law, and can be drawn, averaged
or integrated out at once. They depend on each other strongly: an attribute that everybody has is a second bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from .kernels.blocks import FloatArray, IntArray
from .kernels.joint import normal_equations
from .problem import Problem


@dataclass(frozen=True)
class Linear:
    """The joint normal law of bias and weights.

    Attributes
    ----------
    mean : array (unknown,)
    factor : array (unknown, unknown)
        Lower Cholesky factor of the precision.
    log_evidence : float
        Log of the integral of exp(rest x - pull x^2 / 2) over the law, for the sums x of all pairs.
    sizes : array (attribute,)
        Numbers of clusters.
    directed : bool
    """

    mean: FloatArray
    factor: FloatArray
    log_evidence: float
    sizes: IntArray
    directed: bool

    @classmethod
    def of(
        cls, problem: Problem, labels: IntArray, sizes: IntArray, pull: FloatArray, scale: float, variance: float
    ) -> Linear:
        """The law given labels (attribute, object), precisions and the variance of a weight."""
        laws = problem.laws
        counts = sizes * sizes if problem.directed else sizes * (sizes + 1) // 2
        firsts = 1 + np.cumsum(counts) - counts
        n_unknown = 1 + int(counts.sum())
        matrix, vector = np.zeros((n_unknown, n_unknown)), np.zeros(n_unknown)
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        normal_equations(problem.target, pull, scale, problem.directed, labels, sizes, firsts, matrix, vector)
        before = np.full(n_unknown, laws.weight_mean)
        precisions = np.full(n_unknown, 1.0 / variance)
        before[0], precisions[0] = laws.bias_mean, 1.0 / laws.bias_variance
        matrix[np.diag_indices(n_unknown)] += precisions
        vector += precisions * before
        factor = cholesky(matrix, lower=True)
        mean = cho_solve((factor, True), vector)
        log_evidence = 0.5 * float(vector @ mean - (precisions * before**2).sum())
        log_evidence += 0.5 * float(np.log(precisions).sum()) - float(np.log(np.diag(factor)).sum())
        return cls(mean, factor, log_evidence, sizes, problem.directed)

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """One draw of all unknowns."""
        noise = rng.standard_normal(len(self.mean))
        return np.asarray(self.mean + solve_triangular(self.factor, noise, lower=True, trans="T"))

    def split(self, unknowns: FloatArray) -> tuple[float, list[FloatArray]]:
        """The bias, and the weights of each attribute (cluster, cluster)."""
        weights, at = [], 1
        for size in self.sizes.tolist():
            if self.directed:
                square = unknowns[at : at + size * size].reshape(size, size).copy()
                at += size * size
            else:
                square = np.empty((size, size))
                lower = np.tril_indices(size)
                count = len(lower[0])
                square[lower] = unknowns[at : at + count]
                square.T[lower] = unknowns[at : at + count]
                at += count
            weights.append(square)
        return float(unknowns[0]), weights


def log_evidence(problem: Problem, labels: IntArray, sizes: IntArray, noise: float, variance: float) -> float:
    """Log probability of a real matrix given labels, with bias and weights integrated out."""
    law = Linear.of(problem, labels, sizes, problem.observed, 1.0 / noise, variance)
    squares = problem.over_pairs(problem.filled * problem.filled)
    return law.log_evidence - 0.5 * (squares / noise + problem.n_pairs * math.log(2.0 * math.pi * noise))
