"""Columns of Poisson counts with gamma priors (Raykov et al. 2016, app. B).

rate_j ~ Gamma(shape_j, rate_j),  x_j | rate ~ Poisson(rate);  predictive: negative binomial
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import kernel
from ..core.special import digamma, less, log_rising, log_rising_share
from . import verbs
from .arrays import per_column, require_counts
from .base import JEFFREYS, Family, FloatArray, Layout, register
from .verbs import implements, learns_two_by_column, linear_in_row


@learns_two_by_column
@linear_in_row
class GammaCounts(NamedTuple):
    shape: FloatArray
    rate: FloatArray


@register("poisson")
@dataclass(frozen=True, eq=False)
class Poisson(Family):
    """Independent columns of counts; gamma priors on their rates.

    Parameters
    ----------
    shape, rate : float or one number per column, optional
        The prior mean of a column's rate is ``shape / rate``, its variance ``shape / rate**2``. Default:
        learned, from shape 1 and half a count more than the mean of the column.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.Poisson(shape=1.0, rate=1.0)
    >>> round(float(family.log_predictive([[2]])[0]), 6)  # log(1/8): geometric with success 1/2
    -2.079442
    """

    learnable: ClassVar = ("shape", "rate")
    spreads: ClassVar = {"shape": 0.7, "rate": 1.5}
    strengths: ClassVar = ("shape", "rate")
    statistics_stay: ClassVar = True
    missing: ClassVar = "integrated"
    cells: ClassVar = "counts"

    shape: ArrayLike | None = None
    rate: ArrayLike | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        shape = per_column("shape", 1.0 if self.shape is None else self.shape, d)
        # Half a count more than the mean: centred on the mean itself, rows of few counts on their own would be free.
        mean = X.sum(axis=0) / max(len(X), 1) + JEFFREYS
        return self._with(shape=shape, rate=per_column("rate", shape / mean if self.rate is None else self.rate, d))

    def check(self, X: FloatArray) -> None:
        require_counts(X, "poisson data")

    def prepare(self) -> GammaCounts:
        return GammaCounts(*(np.ascontiguousarray(field, dtype=np.float64) for field in (self.shape, self.rate)))

    def layout(self) -> Layout:
        d = np.size(np.asarray(self.shape))
        return Layout(2 + d, 2 * d, d)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        return {"rate": parameters}

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.poisson(parameters, size=(n, len(parameters))).astype(np.float64)


@implements(verbs.column, GammaCounts)
def _column(family, j):
    return GammaCounts(family.shape[j : j + 1], family.rate[j : j + 1])


@implements(verbs.row_statistics, GammaCounts)
def _row_statistics(family, row, out):
    """Count of rows, sums, and minus the log factorials."""
    d = row.size
    factorials = 0.0
    out[0] = 1.0
    for j in range(d):
        out[1 + j] = row[j]
        factorials -= log_rising(1.0, row[j])
    out[1 + d] = factorials


@implements(verbs.refresh, GammaCounts)
def _refresh(family, statistics, cache, k, work):
    """Per column: -shape * log(1 + 1 / rate), and -log(rate + 1), of the posterior."""
    d = family.shape.size
    for j in range(d):
        rate = family.rate[j] + statistics[k, 0]
        cache[k, j] = -(family.shape[j] + statistics[k, 1 + j]) * math.log1p(1.0 / rate)
        cache[k, d + j] = -math.log(rate + 1.0)


@implements(verbs.log_predictive, GammaCounts)
def _log_predictive(family, statistics, cache, k, row, work):
    d = row.size
    value = 0.0
    for j in range(d):
        shape = family.shape[j] + statistics[k, 1 + j]
        value += cache[k, j] + row[j] * cache[k, d + j] + log_rising_share(shape, row[j])
    return value


@implements(verbs.log_predictive_without, GammaCounts)
def _log_predictive_without(family, statistics, cache, k, row, work):
    value = 0.0
    for j in range(row.size):
        shape = family.shape[j] + less(statistics[k, 1 + j], row[j])
        rate = family.rate[j] + less(statistics[k, 0], 1.0)
        value -= shape * math.log1p(1.0 / rate) + row[j] * math.log(rate + 1.0)
        value += log_rising_share(shape, row[j])
    return value


@kernel
def _evidence_of_column(family, statistics, k, j):
    n, total = statistics[k, 0], statistics[k, 1 + j]
    value = log_rising(family.shape[j], total) - total * math.log(family.rate[j] + n)
    return value - family.shape[j] * math.log1p(n / family.rate[j])


@implements(verbs.log_marginal, GammaCounts)
def _log_marginal(family, statistics, cache, k):
    d = family.shape.size
    value = statistics[k, 1 + d]
    for j in range(d):
        value += _evidence_of_column(family, statistics, k, j)
    return value


@implements(verbs.learned_evidence, GammaCounts)
def _learned_evidence(family, statistics, cache, k, j, c, work):
    return _evidence_of_column(family, statistics, k, j)


@implements(verbs.draw_parameters, GammaCounts)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    for j in range(family.shape.size):
        draw = rng.standard_gamma(family.shape[j] + statistics[k, 1 + j])
        parameters[k, j] = max(draw / (family.rate[j] + statistics[k, 0]), 1e-300)


@implements(verbs.natural, GammaCounts)
def _natural(family, parameters, k, out):
    d = family.shape.size
    total = 0.0
    for j in range(d):
        out[1 + j] = math.log(parameters[k, j])
        total += parameters[k, j]
    out[0] = -total
    out[1 + d] = 1.0


@implements(verbs.estimate, GammaCounts)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """(w shape + sum x) / (w rate + n), the mode of the log rate."""
    empty = statistics[k, 0] <= 0.0
    weight = 1.0 if empty else prior_weight
    for j in range(family.shape.size):
        total = weight * family.shape[j] + statistics[k, 1 + j]
        parameters[k, j] = max(total / (weight * family.rate[j] + statistics[k, 0]), 1e-300)
    return empty


@implements(verbs.log_prior, GammaCounts)
def _log_prior(family, parameters, k):
    """Density of the log rates."""
    value = 0.0
    for j in range(family.shape.size):
        value += family.shape[j] * math.log(family.rate[j] * parameters[k, j]) - family.rate[j] * parameters[k, j]
        value -= math.lgamma(family.shape[j])
    return value


@implements(verbs.expected_natural, GammaCounts)
def _expected_natural(family, statistics, cache, k, out):
    d = family.shape.size
    total = 0.0
    for j in range(d):
        shape = family.shape[j] + statistics[k, 1 + j]
        rate = family.rate[j] + statistics[k, 0]
        out[1 + j] = digamma(shape) - math.log(rate)
        total += shape / rate
    out[0] = -total
    out[1 + d] = 1.0


@implements(verbs.divergence, GammaCounts)
def _divergence(family, row, centre):
    """x log(x / mean) - x + mean, the generalised relative entropy."""
    value = 0.0
    for j in range(row.size):
        if row[j] > 0.0:
            value += row[j] * math.log(row[j] / max(centre[1 + j], 1e-300))
        value += centre[1 + j] - row[j]
    return value
