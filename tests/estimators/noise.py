"""Rows of one cluster, drawn from the law of each family, with parameters of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
# Attempts in each cell of binomial noise: a part of the law that its owner knows.
TRIALS = 8
Draw = Callable[[np.random.Generator, int, int], FloatArray]

SIZES = (100, 1000)
WIDTHS = (2, 10, 60)


def _correlated(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5.0 * rng.normal(size=d)


def _columns(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.normal(size=(n, d)) * np.exp(rng.normal(size=d)) + rng.normal(size=d)


def _round(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.normal(size=(n, d)) + rng.normal(size=d)


def _skewed(levels: int) -> FloatArray:
    weights = 0.5 ** np.arange(levels)
    return weights / weights.sum()


def _categories(p: FloatArray) -> Draw:
    return lambda rng, n, d: rng.choice(len(p), size=(n, d), p=p).astype(np.float64)


def _bits(p: float) -> Draw:
    return lambda rng, n, d: (rng.random((n, d)) < p).astype(np.float64)


def _successes(p: float) -> Draw:
    return lambda rng, n, d: rng.binomial(TRIALS, p, size=(n, d)).astype(np.float64)


def _poisson(rate: float) -> Draw:
    return lambda rng, n, d: rng.poisson(rate, size=(n, d)).astype(np.float64)


def _geometric(p: float) -> Draw:
    return lambda rng, n, d: rng.geometric(p, size=(n, d)).astype(np.float64) - 1.0


def _histograms(skewed: bool) -> Draw:
    def draw(rng: np.random.Generator, n: int, d: int) -> FloatArray:
        p = np.exp(-0.1 * np.arange(d)) if skewed else np.ones(d)
        return rng.multinomial(20, p / p.sum(), size=n).astype(np.float64)

    return draw


NOISE: dict[str, dict[str, Draw]] = {
    "gaussian": {"correlated": _correlated},
    "diagonal-gaussian": {"columns": _columns},
    "spherical-gaussian": {"round": _round},
    "gaussian-known-covariance": {"correlated": _correlated},
    "multinomial": {"uniform": _histograms(False), "skewed": _histograms(True)},
    "categorical": {"uniform": _categories(np.full(5, 0.2)), "skewed": _categories(_skewed(5))},
    "bernoulli": {"sparse": _bits(0.02), "uniform": _bits(0.5)},
    "binomial": {"sparse": _successes(0.02), "uniform": _successes(0.5)},
    "poisson": {"sparse": _poisson(0.05), "few": _poisson(3.0)},
    "geometric": {"few": _geometric(0.8), "many": _geometric(0.1)},
    "exponential": {"one rate": lambda rng, n, d: rng.exponential(2.0, size=(n, d))},
}


def cells() -> Iterator[tuple[str, str, int, int]]:
    """Family, kind of parameters, rows and columns; correlations need more rows than columns."""
    for family, kinds in NOISE.items():
        for kind in kinds:
            for n in SIZES:
                for d in WIDTHS:
                    if kind != "correlated" or n >= 5 * d:
                        yield family, kind, n, d
