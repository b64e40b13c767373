"""Small parts of oracles that several families share: mpmath for evidences, scipy for densities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

FloatArray = NDArray[np.float64]

# The largest terms are about 1e20 times the evidence; what remains is more than double precision by far.
mpmath.mp.dps = 80
mpf, log, log_gamma = mpmath.mpf, mpmath.log, mpmath.loggamma
LOG_PI = log(mpmath.pi)


def per_column(value: Any, rows: FloatArray) -> FloatArray:
    """A hyperparameter as one number for each column of the rows."""
    return np.broadcast_to(np.asarray(value, dtype=float), (rows.shape[1],))


def exact(values: Any) -> list[Any]:
    """Doubles as the numbers of mpmath that they are."""
    return [mpf(float(value)) for value in np.ravel(np.asarray(values, dtype=float))]


def matrix(values: Any) -> Any:
    return mpmath.matrix(np.asarray(values, dtype=float).tolist())


def log_beta(a: Any, b: Any) -> Any:
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b)


def log_choose(n: Any, k: Any) -> Any:
    return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1)


def log_dirichlet(concentration: Any, counts: Any) -> Any:
    """log of the Dirichlet integral of p^counts."""
    alpha, n = exact(concentration), exact(counts)
    rising = [log_gamma(a + x) - log_gamma(a) for a, x in zip(alpha, n, strict=True)]
    return sum(rising) - log_gamma(sum(alpha) + sum(n)) + log_gamma(sum(alpha))


def log_normal_inverse_wishart(mean: Any, strength: Any, scale: Any, dof: Any, rows: FloatArray) -> Any:
    """Evidence of rows with free mean and covariance (Murphy 2007, equation 266)."""
    n, d = rows.shape
    if n == 0:
        return mpf(0)
    m0, c0, v0, scale = matrix(mean), mpf(float(strength)), mpf(float(dof)), matrix(scale)
    X = matrix(rows)
    average = mpmath.matrix([sum(X[i, j] for i in range(n)) / n for j in range(d)])
    grown = scale.copy()
    for a in range(d):
        for b in range(d):
            scatter = sum((X[i, a] - average[a]) * (X[i, b] - average[b]) for i in range(n))
            grown[a, b] += scatter + c0 * n / (c0 + n) * (average[a] - m0[a]) * (average[b] - m0[b])
    value = -n * d * LOG_PI + v0 * log(mpmath.det(scale)) - (v0 + n) * log(mpmath.det(grown)) + d * log(c0 / (c0 + n))
    return value / 2 + sum(log_gamma((v0 + n - j) / 2) - log_gamma((v0 - j) / 2) for j in range(d))


def log_gaussian_mean(covariance: Any, mean: Any, mean_covariance: Any, rows: FloatArray) -> Any:
    """Evidence of rows with a known covariance and a Gaussian mean: n (log density at the average) and so on."""
    n, d = rows.shape
    if n == 0:
        return mpf(0)
    inner, outer, m0, X = matrix(covariance), matrix(mean_covariance), matrix(mean), matrix(rows)
    average = mpmath.matrix([sum(X[i, j] for i in range(n)) / n for j in range(d)])
    inverse = mpmath.inverse(inner)
    value = -n * (d * log(2 * mpmath.pi) + log(mpmath.det(inner)))
    for i in range(n):
        gap = mpmath.matrix([X[i, j] - average[j] for j in range(d)])
        value -= (gap.T * inverse * gap)[0]
    # The average is N(mean, inner / n + outer); its density given the mean at its peak is taken out again.
    spread = inner / n + outer
    gap = average - m0
    value += log(mpmath.det(inner / n)) - log(mpmath.det(spread)) - (gap.T * mpmath.inverse(spread) * gap)[0]
    return value / 2


# --- densities by scipy, with the logarithm of the Jacobian of the basis --------------------------------------------


def beta_log_prior(a: Any, b: Any, p: FloatArray) -> float:
    """Density of log odds."""
    return float(np.sum(stats.beta.logpdf(p, a, b) + np.log(p) + np.log1p(-p)))


def gamma_log_prior(shape: Any, rate: Any, value: FloatArray) -> float:
    """Density of a logarithm."""
    return float(np.sum(stats.gamma.logpdf(value, shape, scale=1 / np.asarray(rate)) + np.log(value)))


def dirichlet_log_prior(concentrations: Any, parameters: FloatArray) -> float:
    """Density in the soft-max basis of each column."""
    total, at = 0.0, 0
    for concentration in concentrations:
        p = parameters[at : at + len(concentration)]
        total += stats.dirichlet.logpdf(p / p.sum(), concentration) + np.log(p).sum()
        at += len(concentration)
    return total


def soft_max_columns(sizes: Any, free: FloatArray) -> FloatArray:
    """Probabilities of columns of several sizes, one coordinate less than levels in each."""
    parts = np.split(free, np.cumsum([size - 1 for size in sizes])[:-1])
    return np.concatenate([special.softmax(np.append(part, 0.0)) for part in parts])


def precision_of(parameters: FloatArray, d: int) -> FloatArray:
    """Precision of ``Gaussian`` from its Cholesky factor, packed by columns."""
    factor = np.zeros((d, d))
    at = d
    for j in range(d):
        factor[j:, j] = parameters[at : at + d - j]
        at += d - j
    return factor @ factor.T


def mean_deviance(log_density: Callable[[Any, FloatArray, FloatArray], float]) -> Callable[..., float]:
    """Log density of a row at the parameter whose mean is the row itself, less that at the mean of the rows."""

    def deviance(family: Any, row: FloatArray, rows: FloatArray) -> float:
        return log_density(family, row, row) - log_density(family, row, rows.mean(axis=0))

    return deviance


def positive(fields: list[str]) -> list[tuple[dict[str, Any], str]]:
    """Mistakes in hyperparameters that must be positive and finite."""
    return [({field: bad}, rf"^{field} must be .*positive") for field in fields for bad in (0.0, -1.0, np.inf, np.nan)]


def one_per_column(fields: list[str]) -> list[tuple[dict[str, Any], str]]:
    """Mistakes in hyperparameters that have one number for each of two columns."""
    return [({field: [1.0, 2.0, 3.0]}, rf"^{field} must be .*got shape \(3,\)$") for field in fields]


def covariance(fields: list[str]) -> list[tuple[dict[str, Any], str]]:
    """Mistakes in 2 x 2 covariance matrices."""
    wrong = (
        (np.eye(3), r"2 x 2 matrix, got shape \(3, 3\)"),
        (np.ones((2, 3)), r"2 x 2 matrix, got shape \(2, 3\)"),
        ([[1.0, 0.5], [0.2, 1.0]], "symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "finite"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite"),
        ([[1.0, 1.0], [1.0, 1.0]], "positive definite"),
        ([[-1.0, 0.0], [0.0, -1.0]], "positive definite"),
        ([[0.0, 0.0], [0.0, 1.0]], "positive definite"),
    )
    return [({field: bad}, rf"^{field} must .*{words}") for field in fields for bad, words in wrong]


def mean_is_finite() -> list[tuple[dict[str, Any], str]]:
    return [({"mean": bad}, r"^mean must be finite") for bad in (np.nan, np.inf)]


def whole_counts(name: str) -> list[tuple[dict[str, Any], Any, str]]:
    """Mistakes in rows of counts."""
    return [
        ({}, [[1.0, -2.0]], rf"X: {name} data needs counts of at least 0, got -2$"),
        ({}, [[1.0, 0.5]], rf"X: {name} data needs whole numbers, got 0\.5$"),
    ]
