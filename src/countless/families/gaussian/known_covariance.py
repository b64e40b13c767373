"""Gaussian clusters of known covariance, Gaussian prior on the mean (Pletscher 2007, 2.3.1).

    mu ~ N(mean, mean_covariance),  x | mu ~ N(mu, covariance)

In the basis of the generalised eigenvectors of the two covariances, where the first is the identity and the
second diagonal, the columns are independent: the posterior precision of the mean is 1 / prior_variance + n.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ...core.special import LOG_2PI, less, scatter
from .. import verbs
from ..arrays import column_moments, per_column
from ..base import EXPECTED_CLUSTERS, Family, FloatArray, Layout, register
from ..learnable import Law, Offsets
from ..verbs import implements, linear_in_row
from .covariances import covariance_matrix, default_covariance


@linear_in_row
class KnownCovariance(NamedTuple):
    """Prior in the basis ``y = whitener @ x``, where rows have covariance ``within`` I about their cluster mean.

    The whitener does not depend on the size of the covariance, so that statistics stay while that is learned.
    """

    whitener: FloatArray
    mean: FloatArray
    variance: FloatArray
    within: FloatArray
    log_det: float


@register("gaussian-known-covariance")
@dataclass(frozen=True, eq=False)
class GaussianKnownCovariance(Family):
    """Gaussian clusters that share one known covariance; Gaussian prior on their means.

    Parameters
    ----------
    covariance : array (D, D), a number or D numbers (a diagonal), optional
        Covariance of the rows of a cluster. Default: that of the data divided by ``5 ** (2 / D)``, so that
        five clusters would fill the volume of the data. Give it if you know it: it decides how many
        clusters are found.
    mean : array of length D, optional
        Prior mean of the cluster means. Default: the mean of the data.
    mean_covariance : array (D, D), a number or D numbers, optional
        Prior covariance of the cluster means. Default: the covariance of the data.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.GaussianKnownCovariance(covariance=1.0, mean=[0.0], mean_covariance=3.0)
    >>> round(float(family.log_predictive([[0.0]])[0]), 6)  # log N(0; 0, 4)
    -1.612086
    """

    learnable: ClassVar = ("covariance", "mean_covariance")
    spreads: ClassVar = {"mean": 1.0, "covariance": 0.3, "mean_covariance": 0.5}
    locations: ClassVar = ("mean",)
    learns_by_column: ClassVar = False

    covariance: ArrayLike | None = None
    mean: ArrayLike | None = None
    mean_covariance: ArrayLike | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        mean = column_moments(X)[0] if self.mean is None else self.mean
        whole = default_covariance(X)
        return self._with(
            covariance=whole / EXPECTED_CLUSTERS ** (2 / d)
            if self.covariance is None
            else covariance_matrix("covariance", self.covariance, d),
            mean=per_column("mean", mean, d, positive=False),
            mean_covariance=whole
            if self.mean_covariance is None
            else covariance_matrix("mean_covariance", self.mean_covariance, d),
        )

    def law(self, names: Collection[str]) -> Law:
        numbers = np.arange(np.size(np.asarray(self.mean)) + 2)
        return self._law({"mean": numbers[:-2], "covariance": numbers[-2:-1], "mean_covariance": numbers[-1:]}, names)

    def units(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        mean, variance = column_moments(X)
        return mean, np.sqrt(variance)

    def in_units(self, shift: FloatArray, scale: FloatArray) -> Self:
        square = np.outer(scale, scale)
        return self._with(
            covariance=np.asarray(self.covariance) / square,
            mean=(np.asarray(self.mean) - shift) / scale,
            mean_covariance=np.asarray(self.mean_covariance) / square,
        )

    def prepare(self) -> KnownCovariance:
        covariance = np.asarray(self.covariance, dtype=np.float64)
        within = math.exp(float(np.linalg.slogdet(covariance)[1]) / len(covariance))
        whitener, variance = _whitening(covariance / within, np.asarray(self.mean_covariance) / within)
        return KnownCovariance(
            whitener,
            whitener @ np.asarray(self.mean, dtype=np.float64),
            variance * within,
            np.array([within]),
            float(np.linalg.slogdet(whitener)[1]),
        )

    def layout(self) -> Layout:
        d = np.size(np.asarray(self.mean))
        return Layout(2 + d, 1 + 2 * d, d, 4 + 2 * d)

    def column_offsets(self, offsets: Offsets, j: int) -> dict[str, Any]:
        """The offset of a mean is in the whitened basis, also in that of one column."""
        moved = dict(offsets)
        if np.size(offsets.get("mean", 0.0)) > 1:
            shift = np.linalg.solve(self.prepare().whitener, offsets["mean"])
            alone = self._with(
                covariance=np.asarray(self.covariance)[j : j + 1, j : j + 1],
                mean=np.asarray(self.mean)[j : j + 1],
                mean_covariance=np.asarray(self.mean_covariance)[j : j + 1, j : j + 1],
            )
            moved["mean"] = alone.prepare().whitener[0] * shift[j]
        return moved

    def _moved(self, name: str, offset: Any) -> Any:
        """The mean is moved in the whitened basis."""
        if name == "mean" and np.ndim(offset):
            return np.asarray(self.mean) + np.linalg.solve(self.prepare().whitener, offset)
        return super()._moved(name, offset)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        return {"mean": parameters @ np.linalg.inv(self.prepare().whitener).T * scale + shift}

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        noise = rng.standard_normal((n, len(parameters)))
        hyper = self.prepare()
        return (parameters + math.sqrt(hyper.within[0]) * noise) @ np.linalg.inv(hyper.whitener).T


def _whitening(covariance: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A basis in which the first matrix is the identity and the second diagonal, and that diagonal.

    Where one is a multiple of the other every rotation would do; none is made, so that rounding cannot choose one.
    """
    from scipy.linalg import cholesky, eigh, solve_triangular

    whitener = solve_triangular(cholesky(covariance, lower=True), np.eye(len(covariance)), lower=True)
    image = whitener @ other @ whitener.T
    size = float(np.trace(image)) / len(image)
    if np.allclose(image, size * np.eye(len(image)), rtol=0.0, atol=1e-9 * size):
        return np.ascontiguousarray(whitener), np.full(len(image), size)
    variance, vectors = eigh(other, covariance)
    return np.ascontiguousarray(vectors.T), np.ascontiguousarray(variance)


@implements(verbs.row_statistics, KnownCovariance)
def _row_statistics(family, row, out):
    """Count, whitened row, and its squared length."""
    d = row.size
    square = 0.0
    out[0] = 1.0
    for j in range(d):
        y = 0.0
        for i in range(d):
            y += family.whitener[j, i] * row[i]
        out[1 + j] = y
        square += y * y
    out[1 + d] = square


@implements(verbs.refresh, KnownCovariance)
def _refresh(family, statistics, cache, k, work):
    """Constant of the predictive, then mean and 1 / (within + posterior variance) of each whitened column."""
    constant = 0.0
    d = family.mean.size
    within = family.within[0]
    for j in range(d):
        precision = 1.0 / family.variance[j] + statistics[k, 0] / within
        cache[k, 1 + j] = (family.mean[j] / family.variance[j] + statistics[k, 1 + j] / within) / precision
        cache[k, 1 + d + j] = precision / (1.0 + within * precision)
        constant += math.log(cache[k, 1 + d + j])
    cache[k, 0] = family.log_det + 0.5 * (constant - d * LOG_2PI)


@implements(verbs.log_predictive, KnownCovariance)
def _log_predictive(family, statistics, cache, k, row, work):
    d = row.size
    verbs.row_statistics(family, row, work)
    square = 0.0
    for j in range(d):
        difference = work[1 + j] - cache[k, 1 + j]
        square += difference * difference * cache[k, 1 + d + j]
    return cache[k, 0] - 0.5 * square


@implements(verbs.log_predictive_without, KnownCovariance)
def _log_predictive_without(family, statistics, cache, k, row, work):
    d = row.size
    verbs.row_statistics(family, row, work)
    within = family.within[0]
    others = less(statistics[k, 0], 1.0)
    value = family.log_det - 0.5 * d * LOG_2PI
    for j in range(d):
        precision = 1.0 / family.variance[j] + others / within
        total = less(statistics[k, 1 + j], work[1 + j]) if others > 0.0 else 0.0
        mean = (family.mean[j] / family.variance[j] + total / within) / precision
        spread = within + 1.0 / precision
        value -= 0.5 * (math.log(spread) + (work[1 + j] - mean) ** 2 / spread)
    return value


@implements(verbs.log_marginal, KnownCovariance)
def _log_marginal(family, statistics, cache, k):
    """Scatter of the rows about their mean, and distance of that mean from the prior's, in the whitened basis.

    Neither square is negative, so that nothing cancels between them, however strong or weak the prior.
    """
    d = family.mean.size
    n = statistics[k, 0]
    if n <= 0.0:
        return 0.0
    about, distance, log_spread = 0.0, 0.0, 0.0
    for j in range(d):
        average = statistics[k, 1 + j] / n
        spread = 1.0 + n * (family.variance[j] / family.within[0])
        about += average * statistics[k, 1 + j]
        distance += n * (average - family.mean[j]) ** 2 / spread
        log_spread += math.log(spread)
    squares = (scatter(statistics[k, 1 + d], about) + distance) / family.within[0]
    log_unit = family.log_det - 0.5 * d * (LOG_2PI + math.log(family.within[0]))
    return n * log_unit - 0.5 * (squares + log_spread)


@implements(verbs.n_learned, KnownCovariance)
def _n_learned(family, j):
    return family.mean.size + 2


@implements(verbs.set_learned, KnownCovariance)
def _set_learned(family, base, j, c, offset):
    """The means in the whitened basis, the size of the covariance and that of the covariance of the means."""
    d = family.mean.size
    if c < d:
        family.mean[c] = base.mean[c] + offset
    elif c == d:
        family.within[0] = base.within[0] * math.exp(offset)
    else:
        for column in range(d):
            family.variance[column] = base.variance[column] * math.exp(offset)


@implements(verbs.draw_parameters, KnownCovariance)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    """Mean of the cluster in the whitened basis."""
    for j in range(family.mean.size):
        precision = 1.0 / family.variance[j] + statistics[k, 0] / family.within[0]
        parameters[k, j] = cache[k, 1 + j] + rng.standard_normal() / math.sqrt(precision)


@implements(verbs.natural, KnownCovariance)
def _natural(family, parameters, k, out):
    d = family.mean.size
    square = 0.0
    for j in range(d):
        out[1 + j] = parameters[k, j] / family.within[0]
        square += parameters[k, j] ** 2
    out[0] = family.log_det - 0.5 * (d * (LOG_2PI + math.log(family.within[0])) + square / family.within[0])
    out[1 + d] = -0.5 / family.within[0]


@implements(verbs.estimate, KnownCovariance)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """Mean of the rows, or of the posterior, in the whitened basis (with n_k, not N: Pletscher 2007, 2.4.2)."""
    empty = statistics[k, 0] <= 0.0
    weight = 1.0 if empty else prior_weight
    for j in range(family.mean.size):
        prior = weight * family.within[0] / family.variance[j]
        parameters[k, j] = (prior * family.mean[j] + statistics[k, 1 + j]) / (prior + statistics[k, 0])
    return empty


@implements(verbs.log_prior, KnownCovariance)
def _log_prior(family, parameters, k):
    """Density in the whitened basis."""
    value = 0.0
    for j in range(family.mean.size):
        square = (parameters[k, j] - family.mean[j]) ** 2 / family.variance[j]
        value -= 0.5 * (LOG_2PI + math.log(family.variance[j]) + square)
    return value


@implements(verbs.expected_natural, KnownCovariance)
def _expected_natural(family, statistics, cache, k, out):
    d = family.mean.size
    square = 0.0
    for j in range(d):
        out[1 + j] = cache[k, 1 + j] / family.within[0]
        square += cache[k, 1 + j] ** 2 + 1.0 / (1.0 / family.variance[j] + statistics[k, 0] / family.within[0])
    out[0] = family.log_det - 0.5 * (d * (LOG_2PI + math.log(family.within[0])) + square / family.within[0])
    out[1 + d] = -0.5 / family.within[0]


@implements(verbs.divergence, KnownCovariance)
def _divergence(family, row, centre):
    """Half the squared Mahalanobis distance."""
    total = 0.0
    for j in range(row.size):
        y = -centre[1 + j]
        for i in range(row.size):
            y += family.whitener[j, i] * row[i]
        total += y * y
    return 0.5 * total / family.within[0]
