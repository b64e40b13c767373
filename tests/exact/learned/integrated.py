"""Partition probabilities of priors with learned numbers, these integrated out by sums and quadrature written out here.

Where two numbers are learned, the library is not asked for anything.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import beta as beta_law
from scipy.stats import gamma as gamma_law

from countless.priors import DynamicMixtureOfFinite, PitmanYor, Prior

from ..enumeration import partitions

FloatArray = NDArray[np.float64]


def second_number(prior: Prior) -> str:
    """The second number that a prior learns; empty where there is none."""
    return next((name for name in prior.learned_names if name != "concentration"), "")


def _nodes(prior, name):
    """Values and weights of one number of a prior: the trapezoid rule on its line, or every whole number to 200."""
    law = getattr(prior, name)
    if name == "concentration":
        if isinstance(law, float):
            return np.array([law]), np.ones(1)
        values = np.exp(np.arange(-14.0, 4.5, 0.2))
        return values, 0.2 * values * gamma_law(law.shape, scale=1.0 / law.rate).pdf(values)
    if name == "discount":
        values = 1.0 / (1.0 + np.exp(-np.arange(-24.0, 24.0, 0.4)))
        return values, 0.4 * values * (1.0 - values) * beta_law(law.a, law.b).pdf(values)
    values = np.arange(1, 200)
    return values, law.success * (1.0 - law.success) ** (values - 1.0)


def _heights(prior, sizes, first, second):
    """p(sizes | numbers) for all pairs, from the formula in the literature for the priors with two numbers."""
    n, t = int(np.sum(sizes)), len(sizes)
    sizes = np.asarray(sizes, dtype=float)
    c, s = np.meshgrid(first, second, indexing="ij")
    if isinstance(prior, PitmanYor) and second_number(prior):
        opened = sum((np.log(c + s * k) for k in range(1, t)), np.zeros_like(c))
        placed = gammaln(c + n) - gammaln(c + 1.0)
        return np.exp(opened - placed + sum(gammaln(size - s) - gammaln(1.0 - s) for size in sizes))
    if isinstance(prior, DynamicMixtureOfFinite):
        share = c / s
        value = gammaln(s + 1) - gammaln(np.maximum(s - t, 0) + 1) + gammaln(c) - gammaln(c + n)
        return (s >= t) * np.exp(value + sum(gammaln(size + share) - gammaln(share) for size in sizes))
    return np.exp([[prior.with_concentration(float(value)).log_prob_sizes(sizes)] for value in first])


def moments(prior: Prior, sizes: tuple[int, ...]) -> FloatArray:
    """Integrals of p(sizes | numbers) times 1, each number and its square, over their laws."""
    first, weights = _nodes(prior, "concentration")
    name = second_number(prior)
    second, others = _nodes(prior, name) if name else (np.zeros(1), np.ones(1))
    heights = _heights(prior, sizes, first, second) * weights[:, None] * others
    rows, columns = heights.sum(axis=1), heights.sum(axis=0)
    return np.array([rows.sum(), rows @ first, rows @ first**2, columns @ second, columns @ second**2])


@cache
def moments_of_partitions(prior: Prior, n: int) -> FloatArray:
    """These integrals for each partition of n rows; the first column is the probability of the partition."""
    shapes = [tuple(sorted(np.bincount(labels).tolist())) for labels in partitions(n)]
    table = {shape: moments(prior, shape) for shape in set(shapes)}
    return np.array([table[shape] for shape in shapes])
