"""Gaussian clusters of unknown mean and covariance under a normal-inverse-Wishart prior.

    Sigma ~ IW(scale, dof),  mu | Sigma ~ N(mean, Sigma / mean_strength),  x | mu, Sigma ~ N(mu, Sigma)

With n rows, c = mean_strength + n, v = dof + n, m the posterior mean and P = scale + the scatter about it,
a new row is Student-t with v - D + 1 degrees of freedom (Raykov et al. 2016, app. B; Murphy 2007, section 9).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.jit import inner_kernel
from ...core.special import (
    LOG_PI,
    factorise,
    less,
    log_determinant,
    log_rising,
    pack,
    rank_one,
    solved_square,
)
from .. import verbs
from ..arrays import column_moments, fill_missing, one_number, per_column
from ..base import EXPECTED_CLUSTERS, Family, FloatArray, Layout, register
from ..bends import as_bends, bent
from ..learnable import Law
from ..verbs import implements, linear_in_row
from .covariances import covariance_matrix, covariance_with_missing, default_covariance
from .heaps import as_heaped

# Cache of a cluster: c, v, log det P, the constants of the two predictives, then m and the factor of P.
_STRENGTH, _DOF, _LOG_DET, _CONSTANT, _WITHOUT, _MEAN = 0, 1, 2, 3, 4, 5


@linear_in_row
class NormalInverseWishart(NamedTuple):
    """Hyperparameters as kernels receive them; ``scale`` is packed by columns.

    ``column_logs`` are the logarithms of what the columns of the scale have been multiplied by.
    """

    mean: FloatArray
    mean_strength: FloatArray
    scale: FloatArray
    dof: FloatArray
    log_det_scale: FloatArray
    column_logs: FloatArray


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
    heaped : bool or array of bool, optional
        Columns whose cells heap on some values, as prices do: their scale is not learned, nor then the dof of all.
        Default: read from the data (``families.gaussian.heaps``).
    bend : float or array, optional
        Where columns turn from a straight line to a logarithm, in their own units (``families.bends``): on that line
        clusters are Gaussian, and the hyperparameters are of it. Default: infinite, columns are straight.

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
    spreads: ClassVar = {"mean": 1.0, "mean_strength": 0.5, "scale": 0.5, "dof": 0.4}
    locations: ClassVar = ("mean",)
    statistics_stay: ClassVar = True
    set_without_rows: ClassVar = ("heaped", "bend")
    missing: ClassVar = "drawn"
    measures: ClassVar = True

    mean: ArrayLike | None = None
    mean_strength: float | None = None
    scale: ArrayLike | None = None
    dof: float | None = None
    heaped: ArrayLike | None = None
    bend: ArrayLike | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        bend, straight = as_bends(self.bend, d), X
        X = bent(X, bend)
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
            heaped=as_heaped(self.heaped, straight),
            bend=bend,
        )

    def stays(self, name: str) -> NDArray[np.bool_]:
        heaped = np.asarray(self.heaped, dtype=np.bool_)
        if name == "scale":
            return heaped
        return np.array(name == "dof" and bool(heaped.any()))

    def resolve_with_missing(self, X: FloatArray) -> Self:
        """A scale left as None takes its correlations from the rows that observe both columns."""
        family = self.resolve(fill_missing(X))
        if self.scale is not None or not np.isnan(X).any():
            return family
        return family._with(
            scale=covariance_with_missing(bent(X, self.bends(X.shape[1]))) / EXPECTED_CLUSTERS ** (2 / X.shape[1])
        )

    def part(self, n_columns: int) -> Any:
        """The block as part of a table, with missing cells drawn."""
        from .missing import GaussianPart

        return GaussianPart(self, n_columns)

    def law(self, names: Collection[str]) -> Law:
        d = np.size(np.asarray(self.mean))
        numbers = np.arange(2 * d + 2)
        parts = (numbers[:d], numbers[d : d + 1], numbers[d + 1 : 2 * d + 1], numbers[2 * d + 1 :])
        return self._law(dict(zip(self.spreads, parts, strict=True)), names)

    def lower_bound(self, name: str) -> float:
        return np.size(np.asarray(self.mean)) - 1.0 if name == "dof" else 0.0

    def bends(self, n_columns: int) -> FloatArray:
        return as_bends(self.bend, n_columns)

    def units(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        mean, variance = column_moments(bent(X, self.bends(X.shape[1])))
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
            np.array([float(self.mean_strength or 0.0)]),
            pack(scale),
            np.array([float(self.dof or 0.0)]),
            np.array([float(np.linalg.slogdet(scale)[1])]),
            np.zeros(len(scale)),
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
    """P, the scale with the growth of these rows, then its Cholesky factor."""
    d = family.mean.size
    n = statistics[k, 0]
    strength = family.mean_strength[0] + n
    at = _MEAN + d
    for j in range(d):
        cache[k, _MEAN + j] = (family.mean_strength[0] * family.mean[j] + statistics[k, 1 + j]) / strength
    entry = 0
    if n > 0.0:
        for j in range(d):
            for i in range(j, d):
                cache[k, at + entry] = family.scale[entry] + growth(family, statistics, k, i, j, entry)
                entry += 1
    if n <= 0.0 or not factorise(cache, k, at, d):
        # No rows, or rounding ate the scatter of a cluster of equal rows: the scale alone is the bound.
        for entry in range(d * (d + 1) // 2):
            cache[k, at + entry] = family.scale[entry]
        factorise(cache, k, at, d)
    _set_constants(family, cache, k, n)


@inner_kernel
def growth(family, statistics, k, i, j, entry):
    """Entry (i, j) of what the rows add to the scale: S + c0 n / (c0 + n) (x - m0)(x - m0)', of their scatter and mean.

    Neither part is negative, so that nothing cancels between them, however strong or weak the prior.
    """
    d = family.mean.size
    n = statistics[k, 0]
    one, other = statistics[k, 1 + i] / n, statistics[k, 1 + j] / n
    weight = n * (family.mean_strength[0] / (family.mean_strength[0] + n))
    scatter = less(statistics[k, 1 + d + entry], one * statistics[k, 1 + j])
    return scatter + weight * (one - family.mean[i]) * (other - family.mean[j])


@inner_kernel
def _set_constants(family, cache, k, n):
    """All that a predictive needs besides the mean and the factor.

    The prior is added to whole numbers last: a dof next to its bound D - 1, or a tiny strength, would be lost in them.
    """
    d = family.mean.size
    c, excess = family.mean_strength[0] + n, family.dof[0] - (d - 1.0)
    log_det = log_determinant(cache, k, _MEAN + d, d)
    cache[k, _STRENGTH] = c
    cache[k, _DOF] = family.dof[0] + n
    cache[k, _LOG_DET] = log_det
    half = 0.5 * d
    cache[k, _CONSTANT] = (
        log_rising(0.5 * (excess + n), half) - half * (LOG_PI + math.log((c + 1.0) / c)) - 0.5 * log_det
    )
    before = family.mean_strength[0] + (n - 1.0)
    if before > 0.0 and excess + (n - 1.0) > 0.0:
        cache[k, _WITHOUT] = (
            log_rising(0.5 * (excess + (n - 1.0)), half) - half * (LOG_PI + math.log(c / before)) - 0.5 * log_det
        )


@implements(verbs.add, NormalInverseWishart)
def _add(family, statistics, cache, k, row, work):
    _shift_row(family, statistics, cache, k, row, work, 1.0)


@implements(verbs.remove, NormalInverseWishart)
def _remove(family, statistics, cache, k, row, work):
    _shift_row(family, statistics, cache, k, row, work, -1.0)


@inner_kernel
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
        _set_constants(family, cache, k, statistics[k, 0])
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
    others = statistics[k, 0] - 1.0
    share = square * cache[k, _STRENGTH] / (family.mean_strength[0] + others)
    if share < 1.0 - 1e-6 and others > 0.5:
        return cache[k, _WITHOUT] + 0.5 * (cache[k, _DOF] - 1.0) * math.log1p(-share)
    # The row makes up nearly all of P, or is alone: the difference would be rounding only.
    verbs.remove(family, statistics, cache, k, row, work)
    value = verbs.log_predictive(family, statistics, cache, k, row, work)
    verbs.add(family, statistics, cache, k, row, work)
    return value


@implements(verbs.n_learned, NormalInverseWishart)
def _n_learned(family, j):
    return 2 * family.mean.size + 2


@implements(verbs.set_learned, NormalInverseWishart)
def _set_learned(family, base, j, c, offset):
    """The means, the mean strength, the scale of each column, and the degrees of freedom above D - 1."""
    d = family.mean.size
    if c < d:
        family.mean[c] = base.mean[c] + offset
    elif c == d:
        family.mean_strength[0] = base.mean_strength[0] * math.exp(offset)
    elif c <= 2 * d:
        family.column_logs[c - d - 1] = offset
        entry = 0
        total = 0.0
        for column in range(d):
            total += family.column_logs[column]
            for row in range(column, d):
                both = 0.5 * (family.column_logs[column] + family.column_logs[row])
                family.scale[entry] = base.scale[entry] * math.exp(both)
                entry += 1
        family.log_det_scale[0] = base.log_det_scale[0] + total
    else:
        family.dof[0] = (d - 1.0) + (base.dof[0] - (d - 1.0)) * math.exp(offset)


@inner_kernel
def leading(d):
    """How many columns are scored for all clusters at once: all of a few, else enough to rule most out."""
    return d if d <= 12 else 8


@implements(verbs.divergence, NormalInverseWishart)
def _divergence(family, row, centre):
    """Half the squared distance in the metric of the prior scale: with the covariance free, no finite
    divergence of a single row exists, so its shape is that of the prior."""
    d = row.size
    factor = np.empty((1, family.scale.size))
    difference = np.empty(d)
    for entry in range(family.scale.size):
        factor[0, entry] = family.scale[entry] / family.dof[0]
    for j in range(d):
        difference[j] = row[j] - centre[1 + j]
    factorise(factor, 0, 0, d)
    return 0.5 * solved_square(factor, 0, 0, d, difference)
