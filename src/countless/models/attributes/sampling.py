"""Draws from the prior and from the model: attributes, then the matrix (von Looz 2013, algorithm 1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit

from ...datasets.latent_attributes import draw_buffet, draw_clusters
from .kernels.blocks import FloatArray, IntArray
from .problem import Problem
from .state import Attribute, State


def sample_attributes(problem: Problem, numbers: dict[str, float], rng: np.random.Generator) -> list[Attribute]:
    """Attributes of the buffet with clusters and weights, given the numbers of the prior."""
    n, laws = problem.n_objects, problem.laws
    members = draw_buffet(n, numbers["concentration"], laws.breadth, rng)
    return [
        _with_weights(problem, draw_clusters(held, n, numbers["cluster_concentration"], rng), numbers, rng)
        for held in members
    ]


def _with_weights(problem: Problem, labels: IntArray, numbers: dict[str, Any], rng: np.random.Generator) -> Attribute:
    size = int(labels.max()) + 1
    square = rng.normal(problem.laws.weight_mean, math.sqrt(numbers["weight_variance"]), (size, size))
    if not problem.directed:
        square = np.tril(square) + np.tril(square, -1).T
    return Attribute(labels, square)


def sample_matrix(state: State, rng: np.random.Generator) -> FloatArray:
    """A matrix given everything; NaN where the problem has no pair."""
    return drawn_matrix(state.problem, state.sums(), state.noise, rng)


def drawn_matrix(problem: Problem, sums: FloatArray, noise: float, rng: np.random.Generator) -> FloatArray:
    """A matrix given the sum of each pair; NaN on a diagonal that means nothing."""
    if problem.binary:
        drawn = (rng.random(sums.shape) < expit(sums)).astype(np.float64)
    else:
        drawn = rng.normal(sums, math.sqrt(noise))
    if not problem.directed:
        drawn = np.tril(drawn) + np.tril(drawn, -1).T
    if not problem.diagonal:
        np.fill_diagonal(drawn, np.nan)
    return drawn
