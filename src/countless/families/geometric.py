"""Columns of geometric counts: failures before the first success, with beta priors.

    p_j ~ Beta(a_j, b_j),  P(x_j | p_j) = p_j (1 - p_j)^x_j, x_j = 0, 1, 2, ...   (Raykov et al. 2016, app. B)

The predictive is a ratio of beta functions, B(a + 1, b + x) / B(a, b).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import inner_kernel, kernel
from ..core.special import FEW_FACTORS, digamma, less, log_beta_ratio, log_gamma_draw, log_rising
from . import verbs
from .arrays import per_column, require_counts
from .base import JEFFREYS, Family, FloatArray, Layout, register
from .verbs import implements, learns_two_by_column, linear_in_row


@learns_two_by_column
@linear_in_row
class BetaFailures(NamedTuple):
    a: FloatArray
    b: FloatArray


@register("geometric")
@dataclass(frozen=True, eq=False)
class Geometric(Family):
    """Independent columns of geometric counts 0, 1, 2, ...; beta priors on the chance of success.

    Parameters
    ----------
    a, b : float or one number per column, optional
        The prior mean of a count is ``b / (a - 1)``. Default: learned, from a = 2, the smallest whole
        number for which it is finite, and b half a failure more than the mean of the column.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.Geometric(a=1.0, b=1.0)
    >>> round(float(family.log_predictive([[1]])[0]), 6)  # log(1/6)
    -1.791759
    """

    learnable: ClassVar = ("a", "b")
    spreads: ClassVar = {"a": 0.7, "b": 1.5}
    strengths: ClassVar = ("a", "b")
    statistics_stay: ClassVar = True
    missing: ClassVar = "integrated"
    cells: ClassVar = "counts"

    a: ArrayLike | None = None
    b: ArrayLike | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        a = per_column("a", 2.0 if self.a is None else self.a, d)
        # Half a failure more than the mean: centred on the mean itself, rows of few failures alone would be free.
        mean = X.sum(axis=0) / max(len(X), 1) + JEFFREYS
        default = mean * np.maximum(a - 1.0, 1.0)
        return self._with(a=a, b=per_column("b", default if self.b is None else self.b, d))

    def check(self, X: FloatArray) -> None:
        require_counts(X, "geometric data")

    def prepare(self) -> BetaFailures:
        return BetaFailures(*(np.ascontiguousarray(field, dtype=np.float64) for field in (self.a, self.b)))

    def layout(self) -> Layout:
        d = np.size(np.asarray(self.a))
        return Layout(1 + d, 0, d)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        return {"probability": parameters}

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.geometric(parameters, size=(n, len(parameters))).astype(np.float64) - 1.0


@implements(verbs.column, BetaFailures)
def _column(family, j):
    return BetaFailures(family.a[j : j + 1], family.b[j : j + 1])


@implements(verbs.row_statistics, BetaFailures)
def _row_statistics(family, row, out):
    out[0] = 1.0
    for j in range(row.size):
        out[1 + j] = row[j]


@inner_kernel
def _log_column(a, b, count):
    """log of B(a + 1, b + count) / B(a, b); most counts are small, and a single success is one logarithm."""
    if count < FEW_FACTORS:
        return math.log(a) + log_rising(b, count) - log_rising(a + b, count + 1.0)
    return log_beta_ratio(a, b, 1.0, count)


@implements(verbs.log_predictive, BetaFailures)
def _log_predictive(family, statistics, cache, k, row, work):
    value = 0.0
    for j in range(row.size):
        value += _log_column(family.a[j] + statistics[k, 0], family.b[j] + statistics[k, 1 + j], row[j])
    return value


@implements(verbs.log_predictive_without, BetaFailures)
def _log_predictive_without(family, statistics, cache, k, row, work):
    value = 0.0
    for j in range(row.size):
        successes, failures = less(statistics[k, 0], 1.0), less(statistics[k, 1 + j], row[j])
        value += _log_column(family.a[j] + successes, family.b[j] + failures, row[j])
    return value


@kernel
def _evidence_of_column(family, statistics, k, j):
    return log_beta_ratio(family.a[j], family.b[j], statistics[k, 0], statistics[k, 1 + j])


@implements(verbs.log_marginal, BetaFailures)
def _log_marginal(family, statistics, cache, k):
    value = 0.0
    for j in range(family.a.size):
        value += _evidence_of_column(family, statistics, k, j)
    return value


@implements(verbs.learned_evidence, BetaFailures)
def _learned_evidence(family, statistics, cache, k, j, c, work):
    return _evidence_of_column(family, statistics, k, j)


@implements(verbs.draw_parameters, BetaFailures)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    for j in range(family.a.size):
        success = log_gamma_draw(rng, family.a[j] + statistics[k, 0])
        failure = log_gamma_draw(rng, family.b[j] + statistics[k, 1 + j])
        # Kept off 0 and 1, where a logarithm would be infinite.
        parameters[k, j] = min(max(1.0 / (1.0 + math.exp(min(failure - success, 700.0))), 1e-12), 1.0 - 1e-16)


@implements(verbs.natural, BetaFailures)
def _natural(family, parameters, k, out):
    constant = 0.0
    for j in range(family.a.size):
        out[1 + j] = math.log1p(-parameters[k, j])
        constant += math.log(parameters[k, j])
    out[0] = constant


@implements(verbs.estimate, BetaFailures)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """(w a + n) / (w (a + b) + n + sum x), the mode of the log odds."""
    empty = statistics[k, 0] <= 0.0
    weight = 1.0 if empty else prior_weight
    for j in range(family.a.size):
        success = weight * family.a[j] + statistics[k, 0]
        chance = success / (success + weight * family.b[j] + statistics[k, 1 + j])
        parameters[k, j] = min(max(chance, 1e-12), 1.0 - 1e-16)
    return empty


@implements(verbs.log_prior, BetaFailures)
def _log_prior(family, parameters, k):
    """Density of the log odds."""
    value = 0.0
    for j in range(family.a.size):
        a, b = family.a[j], family.b[j]
        value += a * math.log(parameters[k, j]) + b * math.log1p(-parameters[k, j])
        value += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return value


@implements(verbs.expected_natural, BetaFailures)
def _expected_natural(family, statistics, cache, k, out):
    constant = 0.0
    for j in range(family.a.size):
        a = family.a[j] + statistics[k, 0]
        b = family.b[j] + statistics[k, 1 + j]
        total = digamma(a + b)
        out[1 + j] = digamma(b) - total
        constant += digamma(a) - total
    out[0] = constant


@implements(verbs.divergence, BetaFailures)
def _divergence(family, row, centre):
    """x log(x / m) - (1 + x) log((1 + x) / (1 + m)), m the mean count."""
    value = 0.0
    for j in range(row.size):
        mean = centre[1 + j]
        if row[j] > 0.0:
            value += row[j] * math.log(row[j] / max(mean, 1e-300))
        value -= (1.0 + row[j]) * math.log((1.0 + row[j]) / (1.0 + mean))
    return value
