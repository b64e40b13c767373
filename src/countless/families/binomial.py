"""Columns of successes out of a known number of trials, with beta priors (Raykov et al. 2016, app. B).

p_j ~ Beta(a_j, b_j),  x_j | p_j ~ Binomial(trials_j, p_j);  predictive: beta-binomial
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import kernel
from ..core.special import digamma, less, log_beta_ratio, log_choose, log_gamma_draw
from . import verbs
from .arrays import per_column, require_counts
from .base import JEFFREYS, Family, FloatArray, Layout, register
from .verbs import implements, learns_two_by_column, linear_in_row


@learns_two_by_column
@linear_in_row
class BetaColumns(NamedTuple):
    a: FloatArray
    b: FloatArray
    trials: FloatArray


@register("binomial")
@dataclass(frozen=True, eq=False)
class Binomial(Family):
    """Independent columns of successes in ``trials`` attempts; beta priors.

    Parameters
    ----------
    trials : int or one per column, optional
        Number of attempts. Default: the largest count of the column. Give it where you know it: with too few attempts
        rows vary more than a cluster may, and noise falls into clusters.
    a, b : float or one number per column, optional
        Pseudo-counts of successes and failures. Default: learned, from 1/2 each (Jeffreys).

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.Binomial(trials=4, a=1.0, b=1.0)
    >>> round(float(family.log_predictive([[2]])[0]), 6)  # uniform on 0..4
    -1.609438
    """

    learnable: ClassVar = ("a", "b")
    spreads: ClassVar = {"a": 0.7, "b": 0.7}
    strengths: ClassVar = ("a", "b")
    statistics_stay: ClassVar = True
    missing: ClassVar = "integrated"
    cells: ClassVar = "counts"

    trials: ArrayLike | None = None
    a: ArrayLike | None = None
    b: ArrayLike | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        trials = per_column(
            "trials", np.maximum(X.max(axis=0, initial=0), 1.0) if self.trials is None else self.trials, d
        )
        if np.any(trials != np.floor(trials)):
            raise ValueError(f"trials must be whole numbers, got {self.trials!r}")
        return self._with(
            trials=trials,
            a=per_column("a", JEFFREYS if self.a is None else self.a, d),
            b=per_column("b", JEFFREYS if self.b is None else self.b, d),
        )

    def check(self, X: FloatArray) -> None:
        require_counts(X, "binomial data")
        if self.trials is not None:
            over = np.argwhere(per_column("trials", self.trials, X.shape[1]) < X)
            if len(over):
                i, j = over[0]
                limit = np.broadcast_to(self.trials, (X.shape[1],))[j]
                raise ValueError(f"X: column {j} counts successes in {limit:g} trials, got {X[i, j]:g}")

    def prepare(self) -> BetaColumns:
        return BetaColumns(*(np.ascontiguousarray(field, dtype=np.float64) for field in (self.a, self.b, self.trials)))

    def layout(self) -> Layout:
        d = np.size(np.asarray(self.trials))
        return Layout(2 + d, 0, d)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        return {"probability": parameters}

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        trials = np.asarray(self.trials).astype(np.int64)
        return rng.binomial(trials, parameters, size=(n, len(parameters))).astype(np.float64)


@implements(verbs.column, BetaColumns)
def _column(family, j):
    return BetaColumns(family.a[j : j + 1], family.b[j : j + 1], family.trials[j : j + 1])


@implements(verbs.row_statistics, BetaColumns)
def _row_statistics(family, row, out):
    """Count of rows, successes, and the log binomial coefficients."""
    d = row.size
    coefficient = 0.0
    out[0] = 1.0
    for j in range(d):
        out[1 + j] = row[j]
        coefficient += log_choose(family.trials[j], row[j])
    out[1 + d] = coefficient


@implements(verbs.log_predictive, BetaColumns)
def _log_predictive(family, statistics, cache, k, row, work):
    value = 0.0
    n = statistics[k, 0]
    for j in range(row.size):
        a = family.a[j] + statistics[k, 1 + j]
        b = family.b[j] + less(n * family.trials[j], statistics[k, 1 + j])
        value += log_choose(family.trials[j], row[j]) + log_beta_ratio(a, b, row[j], family.trials[j] - row[j])
    return value


@implements(verbs.log_predictive_without, BetaColumns)
def _log_predictive_without(family, statistics, cache, k, row, work):
    value = 0.0
    n = statistics[k, 0] - 1.0
    for j in range(row.size):
        successes = less(statistics[k, 1 + j], row[j])
        a = family.a[j] + successes
        b = family.b[j] + less(n * family.trials[j], successes)
        value += log_choose(family.trials[j], row[j]) + log_beta_ratio(a, b, row[j], family.trials[j] - row[j])
    return value


@kernel
def _evidence_of_column(family, statistics, k, j):
    successes = statistics[k, 1 + j]
    return log_beta_ratio(family.a[j], family.b[j], successes, statistics[k, 0] * family.trials[j] - successes)


@implements(verbs.log_marginal, BetaColumns)
def _log_marginal(family, statistics, cache, k):
    d = family.a.size
    value = statistics[k, 1 + d]
    for j in range(d):
        value += _evidence_of_column(family, statistics, k, j)
    return value


@implements(verbs.learned_evidence, BetaColumns)
def _learned_evidence(family, statistics, cache, k, j, c, work):
    return _evidence_of_column(family, statistics, k, j)


@implements(verbs.draw_parameters, BetaColumns)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    for j in range(family.a.size):
        success = log_gamma_draw(rng, family.a[j] + statistics[k, 1 + j])
        failure = log_gamma_draw(rng, family.b[j] + less(statistics[k, 0] * family.trials[j], statistics[k, 1 + j]))
        # Kept off 0 and 1, where a logarithm would be infinite.
        parameters[k, j] = min(max(1.0 / (1.0 + math.exp(min(failure - success, 700.0))), 1e-300), 1.0 - 1e-16)


@implements(verbs.natural, BetaColumns)
def _natural(family, parameters, k, out):
    d = family.a.size
    constant = 0.0
    for j in range(d):
        failure = math.log1p(-parameters[k, j])
        out[1 + j] = math.log(parameters[k, j]) - failure
        constant += family.trials[j] * failure
    out[0] = constant
    out[1 + d] = 1.0


@implements(verbs.estimate, BetaColumns)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """(w a + successes) / (w (a + b) + trials), the mode of the log odds."""
    empty = statistics[k, 0] <= 0.0
    weight = 1.0 if empty else prior_weight
    for j in range(family.a.size):
        trials = weight * (family.a[j] + family.b[j]) + statistics[k, 0] * family.trials[j]
        chance = (weight * family.a[j] + statistics[k, 1 + j]) / trials
        parameters[k, j] = min(max(chance, 1e-300), 1.0 - 1e-16)
    return empty


@implements(verbs.log_prior, BetaColumns)
def _log_prior(family, parameters, k):
    """Density of the log odds."""
    value = 0.0
    for j in range(family.a.size):
        a, b = family.a[j], family.b[j]
        value += a * math.log(parameters[k, j]) + b * math.log1p(-parameters[k, j])
        value += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return value


@implements(verbs.expected_natural, BetaColumns)
def _expected_natural(family, statistics, cache, k, out):
    d = family.a.size
    constant = 0.0
    for j in range(d):
        a = family.a[j] + statistics[k, 1 + j]
        b = family.b[j] + less(statistics[k, 0] * family.trials[j], statistics[k, 1 + j])
        out[1 + j] = digamma(a) - digamma(b)
        constant += family.trials[j] * (digamma(b) - digamma(a + b))
    out[0] = constant
    out[1 + d] = 1.0


@implements(verbs.divergence, BetaColumns)
def _divergence(family, row, centre):
    """Binary relative entropy between the shares of successes, times the trials."""
    value = 0.0
    for j in range(row.size):
        other = family.trials[j] - row[j]
        if row[j] > 0.0:
            value += row[j] * math.log(row[j] / max(centre[1 + j], 1e-300))
        if other > 0.0:
            value += other * math.log(other / max(family.trials[j] - centre[1 + j], 1e-300))
    return value
