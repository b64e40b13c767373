"""Seven rows for every family: two groups that overlap, so that many partitions share the posterior.

A family that is registered without an entry here fails ``test_every_family_has_an_example``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.families import FAMILIES, Family
from countless.priors import CRP, FiniteDirichlet, MixtureOfFinite, PitmanYor, Prior

FloatArray = NDArray[np.float64]

PRIORS: dict[str, Prior] = {
    "crp": CRP(1.0),
    "pitman-yor": PitmanYor(0.8, 0.3),
    "finite-dirichlet": FiniteDirichlet(3, 1.5),
    "mixture-of-finite": MixtureOfFinite(1.0),
}


def _wide_rows() -> FloatArray:
    """Fourteen columns: beyond twelve the Gaussian family scores rows by their leading columns first."""
    rows = np.random.default_rng(14).standard_normal((7, 14))
    rows[4:, ::2] += 2.0
    return rows


_PLANE = [[0.0, 0.1], [0.5, -0.4], [-0.4, 0.5], [1.6, 1.5], [3.4, 2.6], [2.9, 3.3], [3.8, 3.1]]

# name -> (family, hyperparameters, rows); several examples of one family have a name of their own each.
_TABLE: dict[str, tuple[str, dict[str, Any], Any]] = {
    "gaussian": (
        "gaussian",
        {"mean": [1.5, 1.5], "mean_strength": 0.2, "scale": [[1.2, 0.2], [0.2, 1.0]], "dof": 5.0},
        _PLANE,
    ),
    "gaussian-14-columns": (
        "gaussian",
        {"mean": np.zeros(14), "mean_strength": 0.5, "scale": 5.0 * np.eye(14), "dof": 20.0},
        _wide_rows(),
    ),
    "diagonal-gaussian": (
        "diagonal-gaussian",
        {"mean": [1.5, 1.5], "mean_strength": 0.2, "scale": [1.5, 1.2], "dof": [3.0, 4.0]},
        _PLANE,
    ),
    "gaussian-known-covariance": (
        "gaussian-known-covariance",
        {
            "covariance": [[0.5, 0.1], [0.1, 0.6]],
            "mean": [1.5, 1.5],
            "mean_covariance": [[5.0, -0.5], [-0.5, 4.0]],
        },
        _PLANE,
    ),
    "spherical-gaussian": (
        "spherical-gaussian",
        {"variance": 0.6, "mean": [1.5, 1.5], "mean_variance": 6.0},
        _PLANE,
    ),
    "multinomial": (
        "multinomial",
        {"concentration": [0.8, 1.1, 0.6], "trials": 15},
        [[10, 4, 1], [11, 2, 2], [9, 5, 1], [5, 6, 4], [1, 6, 8], [2, 4, 9], [0, 8, 7]],
    ),
    "categorical": (
        "categorical",
        {"concentration": [[0.8, 0.6], [0.9, 0.7, 0.5], [0.5, 0.6, 0.7, 0.8]], "n_levels": [2, 3, 4]},
        [[0, 0, 1], [0, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 3], [1, 2, 3], [1, 1, 3]],
    ),
    "bernoulli": (
        "bernoulli",
        {"a": [0.8, 0.7, 0.9, 0.8, 0.6], "b": [0.7, 0.8, 0.9, 0.6, 0.8]},
        [
            [0, 0, 1, 0, 0],
            [0, 0, 1, 0, 0],
            [0, 0, 1, 1, 0],
            [0, 1, 0, 0, 0],
            [1, 1, 0, 1, 1],
            [1, 1, 0, 1, 0],
            [1, 1, 0, 1, 1],
        ],
    ),
    "binomial": (
        "binomial",
        {"trials": [12, 7], "a": [0.7, 1.1], "b": [1.0, 0.6]},
        [[2, 6], [1, 7], [2, 5], [5, 4], [9, 2], [8, 3], [10, 1]],
    ),
    "poisson": (
        "poisson",
        {"shape": [1.0, 1.5], "rate": [0.3, 0.2]},
        [[1, 13], [0, 10], [2, 12], [3, 7], [7, 4], [6, 5], [9, 3]],
    ),
    "geometric": (
        "geometric",
        {"a": [2.5, 2.0, 1.5], "b": [2.5, 1.0, 2.0]},
        [[0, 9, 1], [1, 6, 0], [0, 12, 1], [2, 4, 3], [8, 1, 5], [13, 0, 7], [10, 1, 9]],
    ),
    "exponential": (
        "exponential",
        {"shape": [2.0, 1.5, 2.0], "rate": [1.0, 0.8, 1.0]},
        [
            [0.2, 3.0, 0.3],
            [0.1, 4.0, 0.1],
            [0.3, 2.2, 0.2],
            [0.9, 1.0, 0.8],
            [5.0, 0.2, 3.0],
            [7.1, 0.1, 2.2],
            [4.2, 0.3, 5.0],
        ],
    ),
}

EXAMPLES = tuple(_TABLE)


def example(name: str) -> tuple[Family, FloatArray]:
    """A resolved family and its seven rows."""
    family, hyperparameters, rows = _TABLE[name]
    table = np.ascontiguousarray(rows, dtype=np.float64)
    return FAMILIES[family](**hyperparameters).resolve(table), table


def families_without_example() -> set[str]:
    """Families that are registered and have no row in the table."""
    return set(FAMILIES) - {family for family, _, _ in _TABLE.values()}
