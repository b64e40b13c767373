"""Rows and covariances that the cases of the Gaussian families share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]

SCALE = np.array([[1.4, 0.5, -0.2], [0.5, 0.9, 0.1], [-0.2, 0.1, 2.0]])
WIDE = np.array([[3.0, -0.8, 0.3], [-0.8, 2.0, 0.4], [0.3, 0.4, 5.0]])
NORMAL = np.random.default_rng([20240, 0]).standard_normal((14, 3)) @ np.linalg.cholesky(SCALE).T + [1.5, -1.0, 2.0]
PLANE = [[0.0, 0.1], [0.9, -0.4], [-0.4, 0.9], [1.6, 1.3], [2.7, 2.0], [1.9, 2.8], [3.0, 2.9]]


def any_rows(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.standard_normal(shape)


def far_apart(seed: int, n: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng([4711, seed])
    return rng.normal(0.0, 1.0, (n, 2)), rng.normal(12.0, 1.0, (n, 2))


def known_column(family: Any, covariance: Any, mean_covariance: Any, rows: FloatArray, j: int) -> Any:
    """A new row given rows, where only the mean is unknown."""
    inner, outer = np.asarray(covariance), np.asarray(mean_covariance)
    posterior = np.linalg.inv(np.linalg.inv(outer) + len(rows) * np.linalg.inv(inner))
    mean = posterior @ (np.linalg.solve(outer, family.mean) + np.linalg.solve(inner, rows.sum(axis=0)))
    return stats.norm(mean[j], np.sqrt((posterior + inner)[j, j]))


def joint_log_density(family: Any, covariance: Any, mean_covariance: Any, rows: FloatArray) -> float:
    """All rows stacked are one Gaussian with covariance I (x) Sigma + 11' (x) Sigma_mu."""
    n = len(rows)
    if n == 0:
        return 0.0
    whole = np.kron(np.eye(n), covariance) + np.kron(np.ones((n, n)), mean_covariance)
    return stats.multivariate_normal(np.tile(family.mean, n), whole).logpdf(rows.ravel())


def student_column(mean: Any, strength: float, scale: Any, dof: float, rows: FloatArray, j: int) -> Any:
    location, shape, df = student(mean, strength, scale, dof, rows)
    return stats.t(df, location[j], np.sqrt(shape[j, j]))


def student(
    mean: Any, strength: float, scale: Any, dof: float, rows: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Location, shape and degrees of freedom of a new row given rows (Murphy 2007, equations 250-258)."""
    n, mean, scale = len(rows), np.asarray(mean, dtype=float), np.asarray(scale, dtype=float)
    if n:
        average = rows.mean(axis=0)
        centred, off = rows - average, average - mean
        scale = scale + centred.T @ centred + strength * n / (strength + n) * np.outer(off, off)
        mean = (strength * mean + n * average) / (strength + n)
    strength, df = strength + n, dof + n - len(mean) + 1
    return mean, scale * (strength + 1) / (strength * df), df
