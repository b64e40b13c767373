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
    rows[4:, ::2] += 1.2
    return rows


_PLANE = [[0.0, 0.1], [0.9, -0.4], [-0.4, 0.9], [1.6, 1.3], [2.7, 2.0], [1.9, 2.8], [3.0, 2.9]]

# name -> (family, hyperparameters, rows); several examples of one family have a name of their own each.
_TABLE: dict[str, tuple[str, dict[str, Any], Any]] = {
    "gaussian": (
        "gaussian",
        {"mean": [1.5, 1.5], "mean_strength": 0.2, "scale": [[1.2, 0.2], [0.2, 1.0]], "dof": 5.0},
        _PLANE,
    ),
    "gaussian-14-columns": (
        "gaussian",
        {"mean": np.zeros(14), "mean_strength": 0.6, "scale": 6.0 * np.eye(14), "dof": 20.0},
        _wide_rows(),
    ),
    "diagonal-gaussian": (
        "diagonal-gaussian",
        {"mean": [1.5, 1.5], "mean_strength": 0.4, "scale": [2.8, 3.4], "dof": [3.0, 4.0]},
        _PLANE,
    ),
    "gaussian-known-covariance": (
        "gaussian-known-covariance",
        {
            "covariance": [[0.7, 0.1], [0.1, 0.8]],
            "mean": [1.5, 1.5],
            "mean_covariance": [[5.0, -0.5], [-0.5, 4.0]],
        },
        _PLANE,
    ),
    "spherical-gaussian": (
        "spherical-gaussian",
        {"variance": 0.95, "mean": [1.5, 1.5], "mean_variance": 5.0},
        _PLANE,
    ),
    "multinomial": (
        "multinomial",
        {"concentration": [0.8, 1.1, 0.6], "trials": 12},
        [[7, 3, 2], [8, 3, 1], [6, 5, 1], [5, 4, 3], [2, 5, 5], [3, 3, 6], [1, 6, 5]],
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
            [0, 0, 1, 0, 1],
            [0, 0, 1, 1, 0],
            [0, 1, 0, 0, 0],
            [1, 1, 0, 1, 1],
            [1, 1, 0, 1, 0],
            [1, 1, 1, 1, 1],
        ],
    ),
    "binomial": (
        "binomial",
        {"trials": [12, 7], "a": [0.7, 1.1], "b": [1.0, 0.6]},
        [[2, 5], [1, 6], [3, 4], [5, 5], [7, 2], [6, 4], [8, 3]],
    ),
    "poisson": (
        "poisson",
        {"shape": [1.0, 1.5], "rate": [0.3, 0.2]},
        [[1, 10], [2, 8], [0, 9], [3, 7], [5, 4], [4, 6], [7, 3]],
    ),
    "geometric": (
        "geometric",
        {"a": [2.5, 2.0, 1.5], "b": [2.5, 1.0, 2.0]},
        [[0, 8, 1], [1, 5, 1], [0, 11, 1], [2, 4, 3], [7, 1, 4], [11, 1, 6], [8, 1, 7]],
    ),
    "exponential": (
        "exponential",
        {"shape": [2.0, 1.5, 2.0], "rate": [1.0, 0.8, 1.0]},
        [
            [0.4, 2.0, 0.5],
            [0.2, 2.8, 0.3],
            [0.6, 1.4, 0.4],
            [0.9, 0.9, 0.8],
            [2.6, 0.5, 1.7],
            [3.5, 0.3, 1.3],
            [2.1, 0.6, 2.4],
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
