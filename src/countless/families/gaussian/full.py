"""Gaussian clusters of unknown mean and covariance under a normal-inverse-Wishart prior.

    Sigma ~ IW(scale, dof),  mu | Sigma ~ N(mean, Sigma / mean_strength),  x | mu, Sigma ~ N(mu, Sigma)

With n rows, c = mean_strength + n, v = dof + n, m the posterior mean and P = scale + the scatter about it,
a new row is Student-t with v - D + 1 degrees of freedom (Raykov et al. 2016, app. B; Murphy 2007, section 9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ...core.jit import kernel
from ...core.special import (
    LOG_2PI,
    LOG_PI,
    digamma,
    factorise,
    log_determinant,
    pack,
    rank_one,
    solve_transposed,
    solved_square,
)
from .. import verbs
from ..arrays import column_moments, one_number, per_column
from ..base import EXPECTED_CLUSTERS, Family, FloatArray, Layout, register
from ..missing import fill_missing
from ..verbs import implements
from .covariances import covariance_matrix, covariance_with_missing, default_covariance

# Cache of a cluster: c, v, log det P, the constants of the two predictives, then m and the factor of P.
_STRENGTH, _DOF, _LOG_DET, _CONSTANT, _WITHOUT, _MEAN = 0, 1, 2, 3, 4, 5


class NormalInverseWishart(NamedTuple):
    """Hyperparameters as kernels receive them; ``scale`` is packed by columns."""

    mean: FloatArray
    mean_strength: float
    scale: FloatArray
    dof: float
    log_det_scale: float


@register("gaussian")
@dataclass(frozen=True, eq=False)
class Gaussian(Family):
    """Gaussian clusters, full covariance; normal-inverse-Wishart prior.

    Parameters
    ----------
    mean : array of length D, optional
        Prior mean of the cluster means. Default: the mean of the data.
    mean_strength : float, optional
        Number of rows that the prior mean is worth. Default 0.001: cluster means may lie anywhere in the
        range of the data, whatever the spread of their own clusters.
    scale : array (D, D), a number or D numbers (a diagonal), optional
        Scale of the inverse Wishart; the expected covariance is ``scale / (dof - D - 1)``. Default: the
        covariance of the data, shrunk slightly towards its diagonal, divided by ``5 ** (2 / D)``, so that
        five clusters of that size would fill the volume of the data.
    dof : float > D - 1, optional
        Degrees of freedom. Default ``D + 2``, the smallest whole number with a finite expected covariance.

    Notes
    -----
    The defaults are those of Fraley and Raftery (2007, section 2.1.3), which move along with any change of
    units and any rotation of the columns, but for a mean strength ten times smaller than theirs: on real tables
    it leaves the held-out density about where it is and keeps a few outlying rows from becoming clusters. A
    multiple of the identity, the choice of one of the sources (mean squared deviation, mean strength 1, dof
    D), would let the column with the largest unit decide, and a mean strength of 1 would stretch a tight
    cluster towards the centre of the data.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.Gaussian(mean=[0.0], mean_strength=1.0, scale=[[1.0]], dof=3.0)
    >>> round(float(family.log_predictive([[0.0]])[0]), 6)
    -0.798156
    """

    learnable: ClassVar = ("mean_strength", "scale", "dof")
    statistics_stay: ClassVar = True
    missing: ClassVar = "drawn"

    mean: ArrayLike | None = None
    mean_strength: float | None = None
    scale: ArrayLike | None = None
    dof: float | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        dof = float(d + 2) if self.dof is None else one_number("dof", self.dof, d - 1, " = D - 1")
        strength = 0.001 if self.mean_strength is None else float(per_column("mean_strength", self.mean_strength, 1)[0])
        mean = X.mean(axis=0) if len(X) and self.mean is None else (0.0 if self.mean is None else self.mean)
        return self._with(
            mean=per_column("mean", mean, d, positive=False),
            mean_strength=strength,
            scale=default_covariance(X) / EXPECTED_CLUSTERS ** (2 / d)
            if self.scale is None
            else covariance_matrix("scale", self.scale, d),
            dof=dof,
        )

    def resolve_with_missing(self, X: FloatArray) -> Self:
        """The scale left open takes its correlations from the rows that show both columns."""
        family = self.resolve(fill_missing(X))
        if self.scale is not None or not np.isnan(X).any():
            return family
        return family._with(scale=covariance_with_missing(X) / EXPECTED_CLUSTERS ** (2 / X.shape[1]))

    def part(self, n_columns: int) -> Any:
        """The block as part of a table, with missing cells drawn."""
        from .missing import GaussianPart

        return GaussianPart(self, n_columns)

    def lower_bound(self, name: str) -> float:
        return np.size(np.asarray(self.mean)) - 1.0 if name == "dof" else 0.0

    def units(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        mean, variance = column_moments(X)
        return mean, np.sqrt(variance)

    def in_units(self, shift: FloatArray, scale: FloatArray) -> Self:
        return self._with(
            mean=(np.asarray(self.mean) - shift) / scale,
            scale=np.asarray(self.scale) / np.outer(scale, scale),
        )

    def prepare(self) -> NormalInverseWishart:
        scale = np.asarray(self.scale, dtype=np.float64)
        return NormalInverseWishart(
            np.ascontiguousarray(self.mean, dtype=np.float64),
            float(self.mean_strength or 0.0),
            pack(scale),
            float(self.dof or 0.0),
            float(np.linalg.slogdet(scale)[1]),
        )

    def layout(self) -> Layout:
        d = np.size(np.asarray(self.mean))
        triangle = d * (d + 1) // 2
        first = leading(d)
        board = 4 + 2 * first + first * (first + 1) // 2
        return Layout(1 + d + triangle, _MEAN + d + triangle, d + triangle, 3 * d, board)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        d = len(shift)
        factors = np.zeros((len(parameters), d, d))
        columns, rows = np.triu_indices(d)
        factors[:, rows, columns] = parameters[:, d:]
        # Sigma = L^-T L^-1 for the precision L L'.
        inverses = np.linalg.inv(factors) * scale
        return {
            "mean": parameters[:, :d] * scale + shift,
            "covariance": np.swapaxes(inverses, 1, 2) @ inverses,
        }

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        d = np.size(np.asarray(self.mean))
        return parameters[:d] + rows_from_precision(parameters[d:], rng.standard_normal((n, d)))


def rows_from_precision(packed: FloatArray, noise: FloatArray) -> FloatArray:
    """Standard normal rows turned into rows with precision L L', L packed by columns."""
    from scipy.linalg import solve_triangular

    d = noise.shape[1]
    factor = np.zeros((d, d))
    factor[np.triu_indices(d)[::-1]] = packed
    return np.ascontiguousarray(solve_triangular(factor, noise.T, lower=True, trans="T").T)


@implements(verbs.row_statistics, NormalInverseWishart)
def _row_statistics(family, row, out):
    d = row.size
    out[0] = 1.0
    at = 1 + d
    for j in range(d):
        out[1 + j] = row[j]
        for i in range(j, d):
            out[at] = row[j] * row[i]
            at += 1


@implements(verbs.refresh, NormalInverseWishart)
def _refresh(family, statistics, cache, k, work):
    """P = scale + sum x x' + c0 m0 m0' - c m m', then its Cholesky factor."""
    d = family.mean.size
    n = statistics[k, 0]
    strength = family.mean_strength + n
    at = _MEAN + d
    for j in range(d):
        cache[k, _MEAN + j] = (family.mean_strength * family.mean[j] + statistics[k, 1 + j]) / strength
    entry = 0
    for j in range(d):
        for i in range(j, d):
            cache[k, at + entry] = (
                family.scale[entry]
                + statistics[k, 1 + d + entry]
                + family.mean_strength * family.mean[j] * family.mean[i]
                - strength * cache[k, _MEAN + j] * cache[k, _MEAN + i]
            )
            entry += 1
    if n == 0.0 or not factorise(cache, k, at, d):
        # No rows, or rounding ate the scatter of a cluster of equal rows: the scale alone is the bound.
        for entry in range(d * (d + 1) // 2):
            cache[k, at + entry] = family.scale[entry]
        factorise(cache, k, at, d)
    cache[k, _STRENGTH] = strength
    cache[k, _DOF] = family.dof + n
    _set_constants(cache, k, d)


@kernel
def _set_constants(cache, k, d):
    c, v = cache[k, _STRENGTH], cache[k, _DOF]
    log_det = log_determinant(cache, k, _MEAN + d, d)
    cache[k, _LOG_DET] = log_det
    half = 0.5 * d
    cache[k, _CONSTANT] = (
        math.lgamma(0.5 * (v + 1.0))
        - math.lgamma(0.5 * (v + 1.0 - d))
        - half * (LOG_PI + math.log((c + 1.0) / c))
        - 0.5 * log_det
    )
    if c > 1.0 and v > d:
        cache[k, _WITHOUT] = (
            math.lgamma(0.5 * v)
            - math.lgamma(0.5 * (v - d))
            - half * (LOG_PI + math.log(c / (c - 1.0)))
            - 0.5 * log_det
        )


@implements(verbs.add, NormalInverseWishart)
def _add(family, statistics, cache, k, row, work):
    _shift_row(family, statistics, cache, k, row, work, 1.0)


@implements(verbs.remove, NormalInverseWishart)
def _remove(family, statistics, cache, k, row, work):
    _shift_row(family, statistics, cache, k, row, work, -1.0)


@kernel
def _shift_row(family, statistics, cache, k, row, work, sign):
    """Add (sign 1) or remove (sign -1) a row: P' = P + sign c / (c + sign) (x - m)(x - m)'."""
    d = row.size
    at = 1 + d
    statistics[k, 0] += sign
    for j in range(d):
        head = sign * row[j]
        statistics[k, 1 + j] += head
        for i in range(j, d):
            statistics[k, at] += head * row[i]
            at += 1
    c = cache[k, _STRENGTH]
    after = c + sign
    if statistics[k, 0] < 0.5:
        verbs.refresh(family, statistics, cache, k, work)
        return
    root = math.sqrt(c / after)
    for j in range(d):
        difference = row[j] - cache[k, _MEAN + j]
        cache[k, _MEAN + j] += sign * difference / after
        work[j] = difference * root
    if rank_one(cache, k, _MEAN + d, d, work, sign):
        cache[k, _STRENGTH] = after
        cache[k, _DOF] += sign
        _set_constants(cache, k, d)
    else:
        verbs.refresh(family, statistics, cache, k, work)


@implements(verbs.log_predictive, NormalInverseWishart)
def _log_predictive(family, statistics, cache, k, row, work):
    d = row.size
    for j in range(d):
        work[j] = row[j] - cache[k, _MEAN + j]
    square = solved_square(cache, k, _MEAN + d, d, work)
    c = cache[k, _STRENGTH]
    return cache[k, _CONSTANT] - 0.5 * (cache[k, _DOF] + 1.0) * math.log1p(square * c / (c + 1.0))


@implements(verbs.log_predictive_without, NormalInverseWishart)
def _log_predictive_without(family, statistics, cache, k, row, work):
    """By the determinant lemma |P - s d d'| = |P| (1 - s d' P^-1 d) with s = c / (c - 1): no downdate."""
    d = row.size
    for j in range(d):
        work[j] = row[j] - cache[k, _MEAN + j]
    square = solved_square(cache, k, _MEAN + d, d, work)
    c = cache[k, _STRENGTH]
    share = square * c / (c - 1.0)
    if share < 1.0 - 1e-6:
        return cache[k, _WITHOUT] + 0.5 * (cache[k, _DOF] - 1.0) * math.log1p(-share)
    # The row makes up nearly all of P: the difference would be rounding only.
    verbs.remove(family, statistics, cache, k, row, work)
    value = verbs.log_predictive(family, statistics, cache, k, row, work)
    verbs.add(family, statistics, cache, k, row, work)
    return value


@kernel
def leading(d):
    """How many columns are scored for all clusters at once: all of a few, else enough to rule most out."""
    return d if d <= 12 else 8


@implements(verbs.log_marginal, NormalInverseWishart)
def _log_marginal(family, statistics, cache, k):
    d = family.mean.size
    n = statistics[k, 0]
    v = cache[k, _DOF]
    total = 0.5 * (
        -n * d * LOG_PI
        + family.dof * family.log_det_scale
        - v * cache[k, _LOG_DET]
        + d * math.log(family.mean_strength / cache[k, _STRENGTH])
    )
    for j in range(d):
        total += math.lgamma(0.5 * (v - j)) - math.lgamma(0.5 * (family.dof - j))
    return total


@implements(verbs.draw_parameters, NormalInverseWishart)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    """Mean, then the packed factor of the precision L^-T A A' L^-1 with A Bartlett's factor.

    The columns of B = L^-T A are solved for one by one; the factor of B B' is built by rank-one updates.
    """
    d = family.mean.size
    triangle = d * (d + 1) // 2
    v = cache[k, _DOF]
    column = np.zeros(d)
    for entry in range(triangle):
        parameters[k, d + entry] = 0.0
    # Precision, packed, as the sum of outer products of the columns of B.
    for j in range(d):
        for i in range(d):
            column[i] = 0.0
        column[j] = math.sqrt(rng.chisquare(v - j))
        for i in range(j + 1, d):
            column[i] = rng.standard_normal()
        solve_transposed(cache, k, _MEAN + d, d, column)
        at = d
        for a in range(d):
            for b in range(a, d):
                parameters[k, at] += column[a] * column[b]
                at += 1
    factorise(parameters, k, d, d)
    scale = 1.0 / math.sqrt(cache[k, _STRENGTH])
    for j in range(d):
        column[j] = rng.standard_normal() * scale
    solve_transposed(parameters, k, d, d, column)
    for j in range(d):
        parameters[k, j] = cache[k, _MEAN + j] + column[j]


@implements(verbs.natural, NormalInverseWishart)
def _natural(family, parameters, k, out):
    """Precision times mean, minus half the precision (off-diagonals count twice), and the constant."""
    d = family.mean.size
    _natural_from_factor(parameters, k, d, out)


@kernel
def _natural_from_factor(parameters, k, d, out):
    square = 0.0
    log_det = 0.0
    for i in range(d):
        out[1 + i] = 0.0
    # Row r of L': y_r = sum_i L[i, r] m_i; the precision entries are sums over r of L[i, r] L[j, r].
    for entry in range(d * (d + 1) // 2):
        out[1 + d + entry] = 0.0
    start = d
    for r in range(d):
        y = 0.0
        for i in range(r, d):
            y += parameters[k, start + i - r] * parameters[k, i]
        square += y * y
        log_det += 2.0 * math.log(parameters[k, start])
        for i in range(r, d):
            out[1 + i] += y * parameters[k, start + i - r]
        at = 1 + d + r * d - r * (r - 1) // 2
        for j in range(r, d):
            for i in range(j, d):
                out[at] -= parameters[k, start + i - r] * parameters[k, start + j - r] * (0.5 if i == j else 1.0)
                at += 1
        start += d - r
    out[0] = 0.5 * (log_det - d * LOG_2PI - square)


@implements(verbs.expected_natural, NormalInverseWishart)
def _expected_natural(family, statistics, cache, k, out):
    """E precision = v P^-1, E precision mu = v P^-1 m, E mu' precision mu = D / c + v m' P^-1 m."""
    d = family.mean.size
    v = cache[k, _DOF]
    inverse = np.zeros((d, d))
    for j in range(d):
        # Column j of L^-1 by substitution; P^-1 = L^-T L^-1.
        inverse[j, j] = 1.0
        solved_square(cache, k, _MEAN + d, d, inverse[j])
    log_det = -cache[k, _LOG_DET] + d * math.log(2.0)
    for j in range(d):
        log_det += digamma(0.5 * (v - j))
    square = 0.0
    for i in range(d):
        out[1 + i] = 0.0
    at = 1 + d
    for j in range(d):
        for i in range(j, d):
            entry = 0.0
            for r in range(d):
                entry += inverse[i, r] * inverse[j, r]
            entry *= v
            out[at] = -entry * (0.5 if i == j else 1.0)
            at += 1
            out[1 + j] += entry * cache[k, _MEAN + i]
            if i != j:
                out[1 + i] += entry * cache[k, _MEAN + j]
    for i in range(d):
        square += out[1 + i] * cache[k, _MEAN + i]
    out[0] = 0.5 * (log_det - d * LOG_2PI - d / cache[k, _STRENGTH] - square)


@implements(verbs.divergence, NormalInverseWishart)
def _divergence(family, row, centre):
    """Half the squared distance in the metric of the prior scale: with the covariance free, no finite
    divergence of a single row exists, so its shape is held at that of the prior."""
    d = row.size
    factor = np.empty((1, family.scale.size))
    difference = np.empty(d)
    for entry in range(family.scale.size):
        factor[0, entry] = family.scale[entry] / family.dof
    for j in range(d):
        difference[j] = row[j] - centre[1 + j]
    factorise(factor, 0, 0, d)
    return 0.5 * solved_square(factor, 0, 0, d, difference)
