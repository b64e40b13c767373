"""Gaussian clusters whose columns are independent, each of unknown mean and variance.

    sigma_j^2 ~ IG(dof / 2, scale_j / 2),  mu_j | sigma_j ~ N(mean_j, sigma_j^2 / mean_strength)

One column of it is the one-dimensional normal-inverse-Wishart (Murphy 2007, section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.jit import inner_kernel
from ...core.special import LOG_2PI, LOG_PI, digamma, less, log_rising
from .. import verbs
from ..arrays import column_moments, per_column
from ..base import EXPECTED_CLUSTERS, SMALLEST, Family, FloatArray, Layout, register
from ..bends import as_bends, bent
from ..verbs import implements, linear_in_row
from .heaps import as_heaped


@linear_in_row
class NormalInverseGamma(NamedTuple):
    mean: FloatArray
    mean_strength: FloatArray
    scale: FloatArray
    dof: FloatArray


@register("diagonal-gaussian")
@dataclass(frozen=True, eq=False)
class DiagonalGaussian(Family):
    """Gaussian clusters with a variance per column and no correlations; normal-inverse-gamma prior.

    Parameters
    ----------
    mean : array of length D, optional
        Prior mean of the cluster means. Default: the mean of the data.
    mean_strength : float or array, optional
        Number of rows that the prior mean is worth. Default 0.001, as for ``Gaussian``.
    scale : float or array, optional
        The expected variance of a column is ``scale / (dof - 2)``. Default: the variance of the column
        divided by ``5 ** (2 / D)``, so that five such clusters would fill the volume of the data.
    dof : float or array, optional
        Degrees of freedom, above 0. Default 3, the smallest whole number with a finite expected variance.
    heaped : bool or array of bool, optional
        Columns whose cells heap on some values, as prices do: their scale and dof are not learned. Default: read from
        the data (``families.gaussian.heaps``).
    bend : float or array, optional
        Where columns turn from a straight line to a logarithm, in their own units (``families.bends``): on that line
        clusters are Gaussian, and the hyperparameters are of it. Default: infinite, columns are straight.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.DiagonalGaussian(mean=[0.0], mean_strength=1.0, scale=1.0, dof=3.0)
    >>> round(float(family.log_predictive([[0.0]])[0]), 6)
    -0.798156
    """

    learnable: ClassVar = ("mean_strength", "scale", "dof")
    spreads: ClassVar = {"mean": 1.0, "mean_strength": 0.5, "scale": 0.5, "dof": 0.4}
    locations: ClassVar = ("mean",)
    statistics_stay: ClassVar = True
    set_without_rows: ClassVar = ("heaped", "bend")
    missing: ClassVar = "integrated"
    measures: ClassVar = True

    mean: ArrayLike | None = None
    mean_strength: ArrayLike | None = None
    scale: ArrayLike | None = None
    dof: ArrayLike | None = None
    heaped: ArrayLike | None = None
    bend: ArrayLike | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        bend, straight = as_bends(self.bend, d), X
        X = bent(X, bend)
        mean, variance = column_moments(X)
        return self._with(
            mean=per_column("mean", mean if self.mean is None else self.mean, d, positive=False),
            mean_strength=per_column("mean_strength", 0.001 if self.mean_strength is None else self.mean_strength, d),
            scale=per_column("scale", variance / EXPECTED_CLUSTERS ** (2 / d) if self.scale is None else self.scale, d),
            dof=per_column("dof", 3.0 if self.dof is None else self.dof, d),
            heaped=as_heaped(self.heaped, straight),
            bend=bend,
        )

    def stays(self, name: str) -> NDArray[np.bool_]:
        return np.asarray(self.heaped, dtype=np.bool_) & (name in ("scale", "dof"))

    def bends(self, n_columns: int) -> FloatArray:
        return as_bends(self.bend, n_columns)

    def units(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        mean, variance = column_moments(bent(X, self.bends(X.shape[1])))
        return mean, np.sqrt(variance)

    def in_units(self, shift: FloatArray, scale: FloatArray) -> Self:
        return self._with(mean=(np.asarray(self.mean) - shift) / scale, scale=np.asarray(self.scale) / scale**2)

    def prepare(self) -> NormalInverseGamma:
        fields = (self.mean, self.mean_strength, self.scale, self.dof)
        return NormalInverseGamma(*(np.ascontiguousarray(field, dtype=np.float64) for field in fields))

    def layout(self) -> Layout:
        d = np.size(np.asarray(self.mean))
        return Layout(1 + 2 * d, 1 + 3 * d, 2 * d)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        d = len(shift)
        return {"mean": parameters[:, :d] * scale + shift, "variance": scale**2 / parameters[:, d:]}

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        d = len(parameters) // 2
        return rng.normal(parameters[:d], 1.0 / np.sqrt(parameters[d:]), size=(n, d))


@implements(verbs.column, NormalInverseGamma)
def _column(family, j):
    return NormalInverseGamma(
        family.mean[j : j + 1], family.mean_strength[j : j + 1], family.scale[j : j + 1], family.dof[j : j + 1]
    )


@implements(verbs.row_statistics, NormalInverseGamma)
def _row_statistics(family, row, out):
    d = row.size
    out[0] = 1.0
    for j in range(d):
        out[1 + j] = row[j]
        out[1 + d + j] = row[j] * row[j]


@inner_kernel
def _posterior(family, n, total, squares, j):
    """Strength, mean, scale and dof of column ``j`` after ``n`` rows."""
    strength = family.mean_strength[j] + n
    mean = (family.mean_strength[j] * family.mean[j] + total) / strength
    return strength, mean, family.scale[j] + _growth(family, n, total, squares, j), family.dof[j] + n


@inner_kernel
def _growth(family, n, total, squares, j):
    """What ``n`` rows add to the scale: their scatter, and the distance of their mean from that of the prior.

    The two are not negative, so that nothing cancels between them, however strong or weak the prior.
    """
    if n <= 0.0:
        return 0.0
    average = total / n
    weight = n * (family.mean_strength[j] / (family.mean_strength[j] + n))
    # The scatter of equal rows is zero up to rounding.
    return max(less(squares, average * total), 0.0) + weight * (average - family.mean[j]) ** 2


@implements(verbs.refresh, NormalInverseGamma)
def _refresh(family, statistics, cache, k, work):
    """Constant, then per column the mean, the exponent and the inverse squared width of the Student-t."""
    d = family.mean.size
    constant = 0.0
    for j in range(d):
        strength, mean, scale, dof = _posterior(
            family, statistics[k, 0], statistics[k, 1 + j], statistics[k, 1 + d + j], j
        )
        cache[k, 1 + j] = mean
        cache[k, 1 + d + j] = 0.5 * (dof + 1.0)
        cache[k, 1 + 2 * d + j] = strength / ((strength + 1.0) * scale)
        constant += log_rising(0.5 * dof, 0.5) + 0.5 * (math.log(cache[k, 1 + 2 * d + j]) - LOG_PI)
    cache[k, 0] = constant


@implements(verbs.log_predictive, NormalInverseGamma)
def _log_predictive(family, statistics, cache, k, row, work):
    d = row.size
    value = cache[k, 0]
    for j in range(d):
        difference = row[j] - cache[k, 1 + j]
        value -= cache[k, 1 + d + j] * math.log1p(difference * difference * cache[k, 1 + 2 * d + j])
    return value


@implements(verbs.log_predictive_without, NormalInverseGamma)
def _log_predictive_without(family, statistics, cache, k, row, work):
    d = row.size
    value = 0.0
    for j in range(d):
        strength, mean, scale, dof = _posterior(
            family,
            less(statistics[k, 0], 1.0),
            less(statistics[k, 1 + j], row[j]),
            less(statistics[k, 1 + d + j], row[j] * row[j]),
            j,
        )
        width = strength / ((strength + 1.0) * scale)
        value += log_rising(0.5 * dof, 0.5) + 0.5 * (math.log(width) - LOG_PI)
        value -= 0.5 * (dof + 1.0) * math.log1p((row[j] - mean) ** 2 * width)
    return value


@inner_kernel
def _evidence_of_column(family, statistics, k, j):
    d = family.mean.size
    n = statistics[k, 0]
    growth = _growth(family, n, statistics[k, 1 + j], statistics[k, 1 + d + j], j)
    value = log_rising(0.5 * family.dof[j], 0.5 * n)
    value -= 0.5 * (n * math.log(family.scale[j] + growth) + family.dof[j] * math.log1p(growth / family.scale[j]))
    return value + 0.5 * math.log(family.mean_strength[j] / (family.mean_strength[j] + n))


@implements(verbs.log_marginal, NormalInverseGamma)
def _log_marginal(family, statistics, cache, k):
    d = family.mean.size
    value = -0.5 * statistics[k, 0] * d * LOG_PI
    for j in range(d):
        value += _evidence_of_column(family, statistics, k, j)
    return value


@implements(verbs.n_parts, NormalInverseGamma)
def _n_parts(family):
    return family.mean.size


@implements(verbs.n_learned, NormalInverseGamma)
def _n_learned(family, j):
    return 4


@implements(verbs.set_learned, NormalInverseGamma)
def _set_learned(family, base, j, c, offset):
    """Mean, mean strength, scale and dof of a column."""
    if c == 0:
        family.mean[j] = base.mean[j] + offset
    elif c == 1:
        family.mean_strength[j] = base.mean_strength[j] * math.exp(offset)
    elif c == 2:
        family.scale[j] = base.scale[j] * math.exp(offset)
    else:
        family.dof[j] = base.dof[j] * math.exp(offset)


@implements(verbs.learned_evidence, NormalInverseGamma)
def _learned_evidence(family, statistics, cache, k, j, c, work):
    return _evidence_of_column(family, statistics, k, j)


@implements(verbs.draw_parameters, NormalInverseGamma)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    """Means, then precisions."""
    d = family.mean.size
    for j in range(d):
        strength, mean, scale, dof = _posterior(
            family, statistics[k, 0], statistics[k, 1 + j], statistics[k, 1 + d + j], j
        )
        precision = rng.standard_gamma(0.5 * dof) * 2.0 / scale
        parameters[k, d + j] = precision
        parameters[k, j] = mean + rng.standard_normal() / math.sqrt(strength * precision)


@implements(verbs.natural, NormalInverseGamma)
def _natural(family, parameters, k, out):
    d = family.mean.size
    constant = -0.5 * d * LOG_2PI
    for j in range(d):
        mean, precision = parameters[k, j], parameters[k, d + j]
        out[1 + j] = precision * mean
        out[1 + d + j] = -0.5 * precision
        constant += 0.5 * (math.log(precision) - precision * mean * mean)
    out[0] = constant


@implements(verbs.estimate, NormalInverseGamma)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """Variance (w scale + scatter) / (n + w (dof + 1)), the mode of mean and log variance; at least ``SMALLEST``."""
    d = family.mean.size
    n = statistics[k, 0]
    empty = n <= 0.0
    bounded = empty
    weight = 1.0 if empty else prior_weight
    for j in range(d):
        prior = weight * family.mean_strength[j]
        mean = (prior * family.mean[j] + statistics[k, 1 + j]) / (prior + n)
        scatter = weight * family.scale[j] + statistics[k, 1 + d + j]
        scatter += prior * family.mean[j] ** 2 - (prior + n) * mean * mean
        variance = scatter / (n + weight * (family.dof[j] + 1.0))
        if variance < SMALLEST:
            variance = SMALLEST
            bounded = True
        parameters[k, j] = mean
        parameters[k, d + j] = 1.0 / variance
    return bounded


@implements(verbs.log_prior, NormalInverseGamma)
def _log_prior(family, parameters, k):
    """Density of the means and of the log variances."""
    d = family.mean.size
    value = 0.0
    for j in range(d):
        precision = parameters[k, d + j]
        half, scale, strength = 0.5 * family.dof[j], 0.5 * family.scale[j], family.mean_strength[j]
        value += half * math.log(scale * precision) - math.lgamma(half) - scale * precision
        value += 0.5 * (math.log(strength * precision) - LOG_2PI)
        value -= 0.5 * strength * precision * (parameters[k, j] - family.mean[j]) ** 2
    return value


@implements(verbs.expected_natural, NormalInverseGamma)
def _expected_natural(family, statistics, cache, k, out):
    """E precision = dof / scale, E log precision = digamma(dof / 2) - log(scale / 2)."""
    d = family.mean.size
    constant = -0.5 * d * LOG_2PI
    for j in range(d):
        strength, mean, scale, dof = _posterior(
            family, statistics[k, 0], statistics[k, 1 + j], statistics[k, 1 + d + j], j
        )
        precision = dof / scale
        out[1 + j] = precision * mean
        out[1 + d + j] = -0.5 * precision
        constant += 0.5 * (digamma(0.5 * dof) - math.log(0.5 * scale) - precision * mean * mean - 1.0 / strength)
    out[0] = constant


@implements(verbs.divergence, NormalInverseGamma)
def _divergence(family, row, centre):
    """Half the squared distance in units of the prior variance (see the divergence of ``Gaussian``)."""
    total = 0.0
    for j in range(row.size):
        total += (row[j] - centre[1 + j]) ** 2 * family.dof[j] / family.scale[j]
    return 0.5 * total
