"""Gaussian clusters of one known variance in every direction, spherical Gaussian prior on the mean.

    mu ~ N(mean, mean_variance I),  x | mu ~ N(mu, variance I)        (Raykov et al. 2016, app. B)

It is the known-covariance family with multiples of the identity, in time linear in the number of columns.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ...core.special import LOG_2PI, less, scatter
from .. import verbs
from ..arrays import column_moments, per_column
from ..base import EXPECTED_CLUSTERS, Family, FloatArray, Layout, register
from ..learnable import Law
from ..verbs import implements, linear_in_row


@linear_in_row
class Spherical(NamedTuple):
    mean: FloatArray
    variance: FloatArray
    mean_variance: FloatArray


@register("spherical-gaussian")
@dataclass(frozen=True, eq=False)
class SphericalGaussian(Family):
    """Round Gaussian clusters that share one known variance.

    Parameters
    ----------
    variance : float, optional
        Variance of a cluster in every direction. Default: the mean variance of the columns divided by
        ``5 ** (2 / D)``, so that five such clusters would fill the volume of the data. Give it if you know
        it: it decides how many clusters are found. Columns of different units should be scaled first.
    mean : array of length D, optional
        Prior mean of the cluster means. Default: the mean of the data.
    mean_variance : float, optional
        Prior variance of the cluster means. Default: the mean variance of the columns.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.SphericalGaussian(variance=1.0, mean=[0.0, 0.0], mean_variance=3.0)
    >>> round(float(family.log_predictive([[0.0, 0.0]])[0]), 6)  # log N(0; 0, 4 I)
    -3.224171
    """

    learnable: ClassVar = ("variance", "mean_variance")
    spreads: ClassVar = {"mean": 1.0, "variance": 2.0, "mean_variance": 1.0}
    locations: ClassVar = ("mean",)
    learns_by_column: ClassVar = False
    statistics_stay: ClassVar = True
    missing: ClassVar = "integrated"

    variance: float | None = None
    mean: ArrayLike | None = None
    mean_variance: float | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        mean, columns = column_moments(X)
        spread = _spread(X, columns)
        chosen = {"variance": self.variance, "mean_variance": self.mean_variance}
        for name, value in chosen.items():
            if value is not None and not (isinstance(value, numbers.Real) and 0 < float(value) < math.inf):
                raise ValueError(f"{name} must be one positive number, got {value!r}")
        return self._with(
            variance=spread / EXPECTED_CLUSTERS ** (2 / d) if self.variance is None else float(self.variance),
            mean=per_column("mean", mean if self.mean is None else self.mean, d, positive=False),
            mean_variance=spread if self.mean_variance is None else float(self.mean_variance),
        )

    def law(self, names: Collection[str]) -> Law:
        numbers = np.arange(np.size(np.asarray(self.mean)) + 2)
        return self._law({"mean": numbers[:-2], "variance": numbers[-2:-1], "mean_variance": numbers[-1:]}, names)

    def units(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        mean, variance = column_moments(X)
        return mean, np.full(len(mean), math.sqrt(_spread(X, variance)))

    def in_units(self, shift: FloatArray, scale: FloatArray) -> Self:
        square = float(scale[0]) ** 2
        return self._with(
            variance=float(self.variance or 0.0) / square,
            mean=(np.asarray(self.mean) - shift) / scale,
            mean_variance=float(self.mean_variance or 0.0) / square,
        )

    def prepare(self) -> Spherical:
        return Spherical(
            np.ascontiguousarray(self.mean, dtype=np.float64),
            np.array([float(self.variance or 0.0)]),
            np.array([float(self.mean_variance or 0.0)]),
        )

    def layout(self) -> Layout:
        d = np.size(np.asarray(self.mean))
        return Layout(2 + d, 2 + d, d)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        return {"mean": parameters * scale + shift}

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.normal(parameters, math.sqrt(float(self.variance or 0.0)), size=(n, len(parameters)))


def _spread(X: FloatArray, variance: FloatArray) -> float:
    """Mean variance of the columns, where those that vary set the unit."""
    vary = np.ptp(X, axis=0) > 0 if len(X) else np.zeros(len(variance), dtype=bool)
    return float(variance[vary].sum() / len(variance)) if vary.any() else 1.0


@implements(verbs.column, Spherical)
def _column(family, j):
    return Spherical(family.mean[j : j + 1], family.variance, family.mean_variance)


@implements(verbs.row_statistics, Spherical)
def _row_statistics(family, row, out):
    """Count, row, and the squared length."""
    d = row.size
    square = 0.0
    out[0] = 1.0
    for j in range(d):
        out[1 + j] = row[j]
        square += row[j] * row[j]
    out[1 + d] = square


@implements(verbs.refresh, Spherical)
def _refresh(family, statistics, cache, k, work):
    """Constant of the predictive, half its precision, and the posterior mean."""
    d = family.mean.size
    precision = 1.0 / family.mean_variance[0] + statistics[k, 0] / family.variance[0]
    spread = family.variance[0] + 1.0 / precision
    cache[k, 0] = -0.5 * d * (LOG_2PI + math.log(spread))
    cache[k, 1] = 0.5 / spread
    for j in range(d):
        weighted = family.mean[j] / family.mean_variance[0] + statistics[k, 1 + j] / family.variance[0]
        cache[k, 2 + j] = weighted / precision


@implements(verbs.log_predictive, Spherical)
def _log_predictive(family, statistics, cache, k, row, work):
    square = 0.0
    for j in range(row.size):
        difference = row[j] - cache[k, 2 + j]
        square += difference * difference
    return cache[k, 0] - square * cache[k, 1]


@implements(verbs.log_predictive_without, Spherical)
def _log_predictive_without(family, statistics, cache, k, row, work):
    d = row.size
    precision = 1.0 / family.mean_variance[0] + less(statistics[k, 0], 1.0) / family.variance[0]
    spread = family.variance[0] + 1.0 / precision
    prior, others = 1.0 / (family.mean_variance[0] * precision), 1.0 / (family.variance[0] * precision)
    square = 0.0
    for j in range(d):
        difference = row[j] - (prior * family.mean[j] + others * less(statistics[k, 1 + j], row[j]))
        square += difference * difference
    return -0.5 * (d * (LOG_2PI + math.log(spread)) + square / spread)


@implements(verbs.log_marginal, Spherical)
def _log_marginal(family, statistics, cache, k):
    d = family.mean.size
    n = statistics[k, 0]
    if n <= 0.0:
        return 0.0
    spread = 1.0 + n * (family.mean_variance[0] / family.variance[0])
    about, distance = 0.0, 0.0
    for j in range(d):
        average = statistics[k, 1 + j] / n
        about += average * statistics[k, 1 + j]
        distance += n * (average - family.mean[j]) ** 2
    # Neither of the two is negative, so that nothing cancels between them.
    squares = scatter(statistics[k, 1 + d], about) + distance / spread
    log_unit = d * (LOG_2PI + math.log(family.variance[0]))
    return -0.5 * (n * log_unit + squares / family.variance[0] + d * math.log(spread))


@implements(verbs.n_learned, Spherical)
def _n_learned(family, j):
    return family.mean.size + 2


@implements(verbs.set_learned, Spherical)
def _set_learned(family, base, j, c, offset):
    """The means, the variance of a cluster and that of the means."""
    d = family.mean.size
    if c < d:
        family.mean[c] = base.mean[c] + offset
    elif c == d:
        family.variance[0] = base.variance[0] * math.exp(offset)
    else:
        family.mean_variance[0] = base.mean_variance[0] * math.exp(offset)


@implements(verbs.draw_parameters, Spherical)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    precision = 1.0 / family.mean_variance[0] + statistics[k, 0] / family.variance[0]
    for j in range(family.mean.size):
        parameters[k, j] = cache[k, 2 + j] + rng.standard_normal() / math.sqrt(precision)


@implements(verbs.natural, Spherical)
def _natural(family, parameters, k, out):
    d = family.mean.size
    square = 0.0
    for j in range(d):
        out[1 + j] = parameters[k, j] / family.variance[0]
        square += parameters[k, j] ** 2
    out[0] = -0.5 * (d * (LOG_2PI + math.log(family.variance[0])) + square / family.variance[0])
    out[1 + d] = -0.5 / family.variance[0]


@implements(verbs.estimate, Spherical)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """Mean of the rows, or of the posterior; the variance is given."""
    empty = statistics[k, 0] <= 0.0
    prior = (1.0 if empty else prior_weight) * family.variance[0] / family.mean_variance[0]
    for j in range(family.mean.size):
        parameters[k, j] = (prior * family.mean[j] + statistics[k, 1 + j]) / (prior + statistics[k, 0])
    return empty


@implements(verbs.log_prior, Spherical)
def _log_prior(family, parameters, k):
    square = 0.0
    for j in range(family.mean.size):
        square += (parameters[k, j] - family.mean[j]) ** 2
    return -0.5 * (family.mean.size * (LOG_2PI + math.log(family.mean_variance[0])) + square / family.mean_variance[0])


@implements(verbs.expected_natural, Spherical)
def _expected_natural(family, statistics, cache, k, out):
    d = family.mean.size
    precision = 1.0 / family.mean_variance[0] + statistics[k, 0] / family.variance[0]
    square = d / precision
    for j in range(d):
        out[1 + j] = cache[k, 2 + j] / family.variance[0]
        square += cache[k, 2 + j] ** 2
    out[0] = -0.5 * (d * (LOG_2PI + math.log(family.variance[0])) + square / family.variance[0])
    out[1 + d] = -0.5 / family.variance[0]


@implements(verbs.divergence, Spherical)
def _divergence(family, row, centre):
    """Half the squared distance in units of the variance."""
    total = 0.0
    for j in range(row.size):
        total += (row[j] - centre[1 + j]) ** 2
    return 0.5 * total / family.variance[0]
