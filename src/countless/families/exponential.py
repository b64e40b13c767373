"""Columns of exponential waiting times with gamma priors (Raykov et al. 2016, app. B).

rate_j ~ Gamma(shape_j, rate_j),  p(x_j | rate) = rate exp(-rate x_j), x_j >= 0;  predictive: Lomax
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import kernel
from ..core.special import digamma, less, log_rising
from . import verbs
from .arrays import per_column
from .base import SMALLEST, Family, FloatArray, Layout, register
from .verbs import implements, learns_two_by_column, linear_in_row


@learns_two_by_column
@linear_in_row
class GammaRates(NamedTuple):
    shape: FloatArray
    rate: FloatArray


@register("exponential")
@dataclass(frozen=True, eq=False)
class Exponential(Family):
    """Independent columns of positive durations; gamma priors on their rates.

    Parameters
    ----------
    shape, rate : float or one number per column, optional
        The prior mean of a duration is ``rate / (shape - 1)``. Default: shape 2, the smallest whole number
        for which it is finite, and the mean of the column.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.Exponential(shape=1.0, rate=1.0)
    >>> round(float(family.log_predictive([[1.0]])[0]), 6)  # log of 1 / (1 + x)^2
    -1.386294
    """

    learnable: ClassVar = ("shape", "rate")
    spreads: ClassVar = {"shape": 0.7, "rate": 1.5}
    strengths: ClassVar = ("shape", "rate")
    statistics_stay: ClassVar = True
    missing: ClassVar = "integrated"

    shape: ArrayLike | None = None
    rate: ArrayLike | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        shape = per_column("shape", 2.0 if self.shape is None else self.shape, d)
        mean = X.mean(axis=0) if len(X) else np.ones(d)
        mean = np.where(mean > 0, mean, 1.0)
        default = mean * np.maximum(shape - 1.0, 1.0)
        return self._with(shape=shape, rate=per_column("rate", default if self.rate is None else self.rate, d))

    def check(self, X: FloatArray) -> None:
        if len(X) and np.any(X < 0):
            raise ValueError(f"X: exponential data must not be negative, got {X.min():g}")

    def units(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        mean = X.mean(axis=0) if len(X) else np.ones(X.shape[1])
        return np.zeros(X.shape[1]), np.where(mean > 0, mean, 1.0)

    def in_units(self, shift: FloatArray, scale: FloatArray) -> Self:
        return self._with(rate=np.asarray(self.rate) / scale)

    def prepare(self) -> GammaRates:
        return GammaRates(*(np.ascontiguousarray(field, dtype=np.float64) for field in (self.shape, self.rate)))

    def layout(self) -> Layout:
        d = np.size(np.asarray(self.shape))
        return Layout(1 + d, 1, d)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        return {"rate": parameters / scale}

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.exponential(1.0 / parameters, size=(n, len(parameters)))


@implements(verbs.column, GammaRates)
def _column(family, j):
    return GammaRates(family.shape[j : j + 1], family.rate[j : j + 1])


@implements(verbs.row_statistics, GammaRates)
def _row_statistics(family, row, out):
    out[0] = 1.0
    for j in range(row.size):
        out[1 + j] = row[j]


@implements(verbs.refresh, GammaRates)
def _refresh(family, statistics, cache, k, work):
    """What of the Lomax density does not depend on the row: sum of log shape - log rate."""
    constant = 0.0
    for j in range(family.shape.size):
        constant += math.log((family.shape[j] + statistics[k, 0]) / (family.rate[j] + statistics[k, 1 + j]))
    cache[k, 0] = constant


@implements(verbs.log_predictive, GammaRates)
def _log_predictive(family, statistics, cache, k, row, work):
    value = cache[k, 0]
    for j in range(row.size):
        shape = family.shape[j] + statistics[k, 0]
        value -= (shape + 1.0) * math.log1p(row[j] / (family.rate[j] + statistics[k, 1 + j]))
    return value


@implements(verbs.log_predictive_without, GammaRates)
def _log_predictive_without(family, statistics, cache, k, row, work):
    value = 0.0
    for j in range(row.size):
        shape = family.shape[j] + less(statistics[k, 0], 1.0)
        # Rounding in a sum of unlike durations must not take the rate below its prior.
        rate = family.rate[j] + max(less(statistics[k, 1 + j], row[j]), 0.0)
        value += math.log(shape / rate) - (shape + 1.0) * math.log1p(row[j] / rate)
    return value


@kernel
def _evidence_of_column(family, statistics, k, j):
    n, total = statistics[k, 0], statistics[k, 1 + j]
    value = log_rising(family.shape[j], n) - n * math.log(family.rate[j] + total)
    return value - family.shape[j] * math.log1p(total / family.rate[j])


@implements(verbs.log_marginal, GammaRates)
def _log_marginal(family, statistics, cache, k):
    value = 0.0
    for j in range(family.shape.size):
        value += _evidence_of_column(family, statistics, k, j)
    return value


@implements(verbs.learned_evidence, GammaRates)
def _learned_evidence(family, statistics, cache, k, j, c, work):
    return _evidence_of_column(family, statistics, k, j)


@implements(verbs.draw_parameters, GammaRates)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    for j in range(family.shape.size):
        draw = rng.standard_gamma(family.shape[j] + statistics[k, 0])
        parameters[k, j] = max(draw / (family.rate[j] + statistics[k, 1 + j]), 1e-300)


@implements(verbs.natural, GammaRates)
def _natural(family, parameters, k, out):
    constant = 0.0
    for j in range(family.shape.size):
        out[1 + j] = -parameters[k, j]
        constant += math.log(parameters[k, j])
    out[0] = constant


@implements(verbs.estimate, GammaRates)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """(w shape + n) / (w rate + sum x), the mode of the log rate; a mean of 0 becomes ``SMALLEST``."""
    empty = statistics[k, 0] <= 0.0
    bounded = empty
    weight = 1.0 if empty else prior_weight
    for j in range(family.shape.size):
        mean = (weight * family.rate[j] + statistics[k, 1 + j]) / (weight * family.shape[j] + statistics[k, 0])
        if mean < SMALLEST:
            mean = SMALLEST
            bounded = True
        parameters[k, j] = 1.0 / mean
    return bounded


@implements(verbs.log_prior, GammaRates)
def _log_prior(family, parameters, k):
    """Density of the log rates."""
    value = 0.0
    for j in range(family.shape.size):
        value += family.shape[j] * math.log(family.rate[j] * parameters[k, j]) - family.rate[j] * parameters[k, j]
        value -= math.lgamma(family.shape[j])
    return value


@implements(verbs.expected_natural, GammaRates)
def _expected_natural(family, statistics, cache, k, out):
    constant = 0.0
    for j in range(family.shape.size):
        shape = family.shape[j] + statistics[k, 0]
        rate = family.rate[j] + statistics[k, 1 + j]
        out[1 + j] = -shape / rate
        constant += digamma(shape) - math.log(rate)
    out[0] = constant


@implements(verbs.divergence, GammaRates)
def _divergence(family, row, centre):
    """x / mean - log(x / mean) - 1 (Itakura-Saito)."""
    value = 0.0
    for j in range(row.size):
        ratio = max(row[j], 1e-300) / max(centre[1 + j], 1e-300)
        value += ratio - math.log(ratio) - 1.0
    return value
