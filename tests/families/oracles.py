"""The same mathematics by scipy's own distributions: densities given parameters, predictives, evidences.

Nothing here reads a number that the library computed, except ``whitener``, the basis in which the
parameters of the known-covariance family are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

FloatArray = Any


class Oracle(NamedTuple):
    """Answers of one family class.

    predictive(family, rows, row): log density of a row given rows.
    density(family, parameters, row): log density of a row given one draw of the parameters.
    column(family, rows, j): scipy distribution of column j of a new row given rows.
    """

    predictive: Callable[[Any, FloatArray, FloatArray], float]
    density: Callable[[Any, FloatArray, FloatArray], float]
    column: Callable[[Any, FloatArray, int], Any]


def log_evidence(family: Any, rows: FloatArray) -> float:
    """Chain of predictives, or the joint Gaussian density of all rows at once where there is one."""
    if type(family).__name__ in ("GaussianKnownCovariance", "SphericalGaussian"):
        return _joint(family, rows)
    predictive = ORACLES[type(family).__name__].predictive
    return sum(predictive(family, rows[:i], rows[i]) for i in range(len(rows)))


# --- Gaussians --------------------------------------------------------------------------------


def _niw(family: Any, rows: FloatArray) -> tuple[float, FloatArray, FloatArray, float]:
    """Murphy (2007), equations 250-256, with the scatter about the sample mean."""
    mean, strength = np.asarray(family.mean), family.mean_strength
    n = len(rows)
    if n == 0:
        return strength, mean, np.asarray(family.scale), family.dof
    average = rows.mean(axis=0)
    centred = rows - average
    gap = average - mean
    scale = family.scale + centred.T @ centred + strength * n / (strength + n) * np.outer(gap, gap)
    return strength + n, (strength * mean + n * average) / (strength + n), scale, family.dof + n


def _student(family: Any, rows: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    strength, mean, scale, dof = _niw(family, rows)
    df = dof - len(mean) + 1
    return mean, scale * (strength + 1) / (strength * df), df


def _gaussian_predictive(family: Any, rows: FloatArray, row: FloatArray) -> float:
    mean, shape, df = _student(family, rows)
    return stats.multivariate_t(loc=mean, shape=shape, df=df).logpdf(row)


def _gaussian_column(family: Any, rows: FloatArray, j: int) -> Any:
    mean, shape, df = _student(family, rows)
    return stats.t(df, mean[j], np.sqrt(shape[j, j]))


def precision_of(parameters: FloatArray, d: int) -> FloatArray:
    """Precision from its Cholesky factor, packed by columns."""
    factor = np.zeros((d, d))
    at = d
    for j in range(d):
        factor[j:, j] = parameters[at : at + d - j]
        at += d - j
    return factor @ factor.T


def _gaussian_density(family: Any, parameters: FloatArray, row: FloatArray) -> float:
    d = len(row)
    return stats.multivariate_normal(parameters[:d], np.linalg.inv(precision_of(parameters, d))).logpdf(row)


def _diagonal_column(family: Any, rows: FloatArray, j: int) -> Any:
    class One(NamedTuple):
        mean: FloatArray
        mean_strength: float
        scale: FloatArray
        dof: float

    part = One(
        np.array([family.mean[j]]),
        np.broadcast_to(family.mean_strength, len(family.mean))[j],
        np.array([[family.scale[j]]]),
        np.broadcast_to(family.dof, len(family.mean))[j],
    )
    return _gaussian_column(part, rows[:, [j]], 0)


def _diagonal_density(family: Any, parameters: FloatArray, row: FloatArray) -> float:
    d = len(row)
    return stats.norm(parameters[:d], 1 / np.sqrt(parameters[d:])).logpdf(row).sum()


def covariances(family: Any) -> tuple[FloatArray, FloatArray]:
    """Covariance of the rows and of the cluster means."""
    d = len(family.mean)
    if type(family).__name__ == "SphericalGaussian":
        return family.variance * np.eye(d), family.mean_variance * np.eye(d)
    return np.asarray(family.covariance), np.asarray(family.mean_covariance)


def _joint(family: Any, rows: FloatArray) -> float:
    """All rows stacked are one Gaussian with covariance I (x) Sigma + 11' (x) Sigma_mu."""
    inner, outer = covariances(family)
    n = len(rows)
    if n == 0:
        return 0.0
    whole = np.kron(np.eye(n), inner) + np.kron(np.ones((n, n)), outer)
    return stats.multivariate_normal(np.tile(family.mean, n), whole).logpdf(rows.ravel())


def _joint_predictive(family: Any, rows: FloatArray, row: FloatArray) -> float:
    return _joint(family, np.vstack([rows, row])) - _joint(family, rows)


def _known_column(family: Any, rows: FloatArray, j: int) -> Any:
    inner, outer = covariances(family)
    posterior = np.linalg.inv(np.linalg.inv(outer) + len(rows) * np.linalg.inv(inner))
    mean = posterior @ (np.linalg.solve(outer, family.mean) + np.linalg.solve(inner, rows.sum(axis=0)))
    return stats.norm(mean[j], np.sqrt((posterior + inner)[j, j]))


def _known_density(family: Any, parameters: FloatArray, row: FloatArray) -> float:
    mean = np.linalg.solve(family.prepare().whitener, parameters)
    return stats.multivariate_normal(mean, family.covariance).logpdf(row)


def _spherical_density(family: Any, parameters: FloatArray, row: FloatArray) -> float:
    return stats.norm(parameters, np.sqrt(family.variance)).logpdf(row).sum()


# --- counts and durations: independent columns --------------------------------------------------


class BetaGeometric:
    """Geometric count (from 0) with p ~ Beta(a, b); only newer releases of scipy have it (betanbinom)."""

    def __init__(self, a: float, b: float) -> None:
        self.a, self.b = a, b

    def logpmf(self, x: Any) -> Any:
        return special.betaln(self.a + 1, self.b + np.asarray(x)) - special.betaln(self.a, self.b)

    def pmf(self, x: Any) -> Any:
        return np.exp(self.logpmf(x))


def _per_column(value: Any, rows: FloatArray) -> FloatArray:
    return np.broadcast_to(np.asarray(value, dtype=float), (rows.shape[1],))


def _columns(column: Callable[[Any, FloatArray, int], Any], log: str = "logpmf") -> Callable[..., float]:
    """Sum over independent columns."""

    def predictive(family: Any, rows: FloatArray, row: FloatArray) -> float:
        return float(sum(getattr(column(family, rows, j), log)(value) for j, value in enumerate(row)))

    return predictive


def _beta(family: Any, rows: FloatArray, j: int, trials: float) -> tuple[float, float]:
    successes = rows[:, j].sum()
    return (
        _per_column(family.a, rows)[j] + successes,
        _per_column(family.b, rows)[j] + len(rows) * trials - successes,
    )


def _bernoulli_column(family: Any, rows: FloatArray, j: int) -> Any:
    return stats.betabinom(1, *_beta(family, rows, j, 1))


def _binomial_column(family: Any, rows: FloatArray, j: int) -> Any:
    trials = _per_column(family.trials, rows)[j]
    return stats.betabinom(int(trials), *_beta(family, rows, j, trials))


def _poisson_column(family: Any, rows: FloatArray, j: int) -> Any:
    rate = _per_column(family.rate, rows)[j] + len(rows)
    return stats.nbinom(_per_column(family.shape, rows)[j] + rows[:, j].sum(), rate / (rate + 1))


def _geometric_column(family: Any, rows: FloatArray, j: int) -> Any:
    return BetaGeometric(_per_column(family.a, rows)[j] + len(rows), _per_column(family.b, rows)[j] + rows[:, j].sum())


def _exponential_column(family: Any, rows: FloatArray, j: int) -> Any:
    rate = _per_column(family.rate, rows)[j] + rows[:, j].sum()
    return stats.lomax(_per_column(family.shape, rows)[j] + len(rows), scale=rate)


def _categorical_column(family: Any, rows: FloatArray, j: int) -> Any:
    alpha = np.asarray(family.concentration[j]) + [np.sum(rows[:, j] == level) for level in range(family.n_levels[j])]
    return stats.rv_discrete(values=(np.arange(len(alpha)), alpha / alpha.sum()))


def _categorical_density(family: Any, parameters: FloatArray, row: FloatArray) -> float:
    first = np.concatenate([[0], np.cumsum(family.n_levels)])
    return float(sum(np.log(parameters[first[j] + int(code)]) for j, code in enumerate(row)))


def _bernoulli_density(family: Any, parameters: FloatArray, row: FloatArray) -> float:
    return stats.bernoulli(parameters[1::2]).logpmf(row).sum()


def _multinomial_predictive(family: Any, rows: FloatArray, row: FloatArray) -> float:
    alpha = np.asarray(family.concentration) + rows.sum(axis=0)
    total = int(row.sum())
    return float(stats.dirichlet_multinomial(alpha, total).logpmf(row.astype(int))) if total else 0.0


def _multinomial_column(family: Any, rows: FloatArray, j: int) -> Any:
    alpha = np.asarray(family.concentration) + rows.sum(axis=0)
    return stats.betabinom(family.trials, alpha[j], alpha.sum() - alpha[j])


ORACLES = {
    "Gaussian": Oracle(_gaussian_predictive, _gaussian_density, _gaussian_column),
    "DiagonalGaussian": Oracle(_columns(_diagonal_column, "logpdf"), _diagonal_density, _diagonal_column),
    "GaussianKnownCovariance": Oracle(_joint_predictive, _known_density, _known_column),
    "SphericalGaussian": Oracle(_joint_predictive, _spherical_density, _known_column),
    "Multinomial": Oracle(
        _multinomial_predictive,
        lambda family, p, row: stats.multinomial(int(row.sum()), p / p.sum()).logpmf(row),
        _multinomial_column,
    ),
    "Categorical": Oracle(_columns(_categorical_column), _categorical_density, _categorical_column),
    "Bernoulli": Oracle(_columns(_bernoulli_column), _bernoulli_density, _bernoulli_column),
    "Binomial": Oracle(
        _columns(_binomial_column),
        lambda family, p, row: stats.binom(np.asarray(family.trials), p).logpmf(row).sum(),
        _binomial_column,
    ),
    "Poisson": Oracle(
        _columns(_poisson_column),
        lambda family, rate, row: stats.poisson(rate).logpmf(row).sum(),
        _poisson_column,
    ),
    "Geometric": Oracle(
        _columns(_geometric_column),
        lambda family, p, row: stats.geom(p, loc=-1).logpmf(row).sum(),
        _geometric_column,
    ),
    "Exponential": Oracle(
        _columns(_exponential_column, "logpdf"),
        lambda family, rate, row: stats.expon(scale=1 / rate).logpdf(row).sum(),
        _exponential_column,
    ),
}
