"""A family of one's own in one file outside the package: negative binomial counts of known dispersion r.

p_j ~ Beta(a_j, b_j),  P(x_j | p_j) = C(x_j + r - 1, x_j) p_j^r (1 - p_j)^x_j,  posterior Beta(a + n r, b + sum x)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from countless import families
from countless.families import Family, FloatArray, Layout, implements, register, verbs


@families.linear_in_row
class BetaCounts(NamedTuple):
    dispersion: FloatArray
    a: FloatArray
    b: FloatArray


@register("negative-binomial")
@dataclass(frozen=True, eq=False)
class NegativeBinomial(Family):
    """Independent columns of overdispersed counts; beta priors on p. ``None`` is set from the data."""

    dispersion: Any = 1.0
    a: Any = None
    b: Any = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        r = families.per_column("dispersion", self.dispersion, d)
        p = r / (r + (X.sum(axis=0) + 1.0) / (len(X) + 1.0))  # the p whose mean r (1 - p) / p is that of the column
        a = families.per_column("a", 2.0 * p if self.a is None else self.a, d)
        b = families.per_column("b", 2.0 * (1.0 - p) if self.b is None else self.b, d)
        return self._with(dispersion=r, a=a, b=b)

    def check(self, X: FloatArray) -> None:
        families.require_counts(X, "negative-binomial data")

    def prepare(self) -> BetaCounts:
        return BetaCounts(self.dispersion, self.a, self.b)

    def layout(self) -> Layout:
        return Layout(statistics=2 + len(self.a), cache=0, parameters=len(self.a))

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.negative_binomial(self.dispersion, parameters, size=(n, len(parameters))).astype(np.float64)


@implements(verbs.row_statistics, BetaCounts)
def _row_statistics(family, row, out):
    """One row, its counts, and the log of the binomial coefficients, which depend on the row alone."""
    d = row.size
    out[0] = 1.0
    out[1 + d] = 0.0
    for j in range(d):
        out[1 + j] = row[j]
        out[1 + d] += families.log_rising(family.dispersion[j], row[j]) - families.log_rising(1.0, row[j])


@implements(verbs.log_marginal, BetaCounts)
def _log_marginal(family, statistics, cache, k):
    d = family.a.size
    value = statistics[k, 1 + d]
    for j in range(d):
        successes, failures = statistics[k, 0] * family.dispersion[j], statistics[k, 1 + j]
        value += families.log_beta_ratio(family.a[j], family.b[j], successes, failures)
    return value


@implements(verbs.draw_parameters, BetaCounts)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    for j in range(family.a.size):
        a = family.a[j] + statistics[k, 0] * family.dispersion[j]
        p = rng.beta(a, family.b[j] + statistics[k, 1 + j])
        parameters[k, j] = min(max(p, 1e-300), 1.0 - 1e-16)  # the logarithms below stay finite


@implements(verbs.natural, BetaCounts)
def _natural(family, parameters, k, out):
    d = family.a.size
    out[0], out[1 + d] = 0.0, 1.0
    for j in range(d):
        out[0] += family.dispersion[j] * math.log(parameters[k, j])
        out[1 + j] = math.log1p(-parameters[k, j])


@implements(verbs.estimate, BetaCounts)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """(w a + n r) / (w (a + b) + n r + sum x), the mode of the log odds; of the prior where there are no rows."""
    weight = prior_weight if statistics[k, 0] > 0.0 else 1.0
    for j in range(family.a.size):
        a = weight * family.a[j] + statistics[k, 0] * family.dispersion[j]
        p = a / (a + weight * family.b[j] + statistics[k, 1 + j])
        parameters[k, j] = min(max(p, 1e-300), 1.0 - 1e-16)
    return statistics[k, 0] <= 0.0


@implements(verbs.log_prior, BetaCounts)
def _log_prior(family, parameters, k):
    value = 0.0
    for j in range(family.a.size):
        a, b, p = family.a[j], family.b[j], parameters[k, j]
        value += a * math.log(p) + b * math.log1p(-p) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return value


@implements(verbs.expected_natural, BetaCounts)
def _expected_natural(family, statistics, cache, k, out):
    d = family.a.size
    out[0], out[1 + d] = 0.0, 1.0
    for j in range(d):
        a = family.a[j] + statistics[k, 0] * family.dispersion[j]
        b = family.b[j] + statistics[k, 1 + j]
        out[0] += family.dispersion[j] * (families.digamma(a) - families.digamma(a + b))
        out[1 + j] = families.digamma(b) - families.digamma(a + b)


@implements(verbs.divergence, BetaCounts)
def _divergence(family, row, centre):
    """x log(x / mean) - (x + r) log((x + r) / (mean + r))."""
    value = 0.0
    for j in range(row.size):
        r, mean = family.dispersion[j], max(centre[1 + j], 1e-300)
        value -= (row[j] + r) * math.log((row[j] + r) / (mean + r))
        if row[j] > 0.0:
            value += row[j] * math.log(row[j] / mean)
    return value
