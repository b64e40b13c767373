"""A block of correlated Gaussian columns with missing cells, which are drawn along with the clusters.

A row is its D cells, then D indicators: 1 where the cell was missing and holds a value drawn for it. The predictive of
the observed cells is the Student-t of ``Gaussian`` for those columns alone, and given the observed cells (O), the
missing ones (M) have a Student-t too. With y = L_OO^-1 (x_O - m_O), L the factor of P with the columns of O first,
c' = c / (c + 1) and v - D + 1 + |O| degrees of freedom,

    x_M = m_M + L_MO y + L_MM g sqrt((1 + c' y'y) / (c' w)),    g ~ N(0, I),  w ~ chi^2(v - D + 1 + |O|)

(Murphy 2007, section 9; the conditional of a Student-t: Ding 2016, *On the conditional distribution of the multivariate
t distribution*, The American Statistician 70, 293-295). Drawing a row's missing cells together with its cluster leaves
the posterior of the clusters given the observed cells unchanged; drawing them without regard to the row's other cells
would not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...core.jit import inner_kernel
from ...core.special import LOG_PI, factorise, log_rising, rank_one
from .. import verbs
from ..base import FloatArray, Layout
from ..verbs import implements, never_inlined
from .full import _DOF, _MEAN, _STRENGTH, Gaussian, NormalInverseWishart


@never_inlined
class GaussianMissing(NamedTuple):
    """The block's hyperparameters, and where the cache of a cluster has room for a second factor."""

    inner: NormalInverseWishart
    spare: int


class GaussianPart:
    """A block of Gaussian columns as part of a table; ``family`` is resolved."""

    def __init__(self, family: Gaussian, n_columns: int) -> None:
        self.family = family
        self.n_columns = n_columns

    def layout(self) -> Layout:
        """As for complete rows, with room for a second factor."""
        whole = self.family.layout()
        d = self.n_columns
        return whole._replace(cache=whole.cache + d * (d + 1) // 2, work=max(whole.work, 3 * d))

    def prepare(self) -> GaussianMissing:
        """Hyperparameters as kernels receive them."""
        return GaussianMissing(self.family.prepare(), self.family.layout().cache)

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` rows with these parameters."""
        return self.family.draw_rows(parameters, n, rng)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> list[dict[str, FloatArray]]:
        """Parameters of clusters by name, for the block."""
        return [self.family.describe(parameters, shift, scale)]

    def n_parameters(self) -> int:
        """Number of free parameters of one cluster."""
        return self.family.n_parameters()

    def widen(self, rows: FloatArray) -> FloatArray:
        """Rows with their indicators; missing cells start at zero, the mean of the column in the units of the rows."""
        missing = np.isnan(rows)
        return np.hstack([np.where(missing, 0.0, rows), missing.astype(np.float64)])


@implements(verbs.has_missing, GaussianMissing)
def _has_missing(family, row):
    n_missing = 0.0
    for j in range(family.inner.mean.size, row.size):
        n_missing += row[j]
    return n_missing > 0.0


@inner_kernel
def _cells(family, row):
    return row[: family.inner.mean.size]


@implements(verbs.row_statistics, GaussianMissing)
def _row_statistics(family, row, out):
    verbs.row_statistics(family.inner, _cells(family, row), out)


@implements(verbs.refresh, GaussianMissing)
def _refresh(family, statistics, cache, k, work):
    verbs.refresh(family.inner, statistics, cache, k, work)


@implements(verbs.add, GaussianMissing)
def _add(family, statistics, cache, k, row, work):
    verbs.add(family.inner, statistics, cache, k, _cells(family, row), work)


@implements(verbs.remove, GaussianMissing)
def _remove(family, statistics, cache, k, row, work):
    verbs.remove(family.inner, statistics, cache, k, _cells(family, row), work)


@inner_kernel
def _copy_factor(cache, k, d, spare):
    start = _MEAN + d
    for entry in range(d * (d + 1) // 2):
        cache[k, spare + entry] = cache[k, start + entry]


@inner_kernel
def _log_predictive_observed(family, cache, k, row, work):
    """Student-t of the observed cells.

    The factor of P without column j is that of the columns after it, updated by what column j had below its
    diagonal; so missing columns are struck out one after the other.
    """
    d = family.inner.mean.size
    spare = family.spare
    _copy_factor(cache, k, d, spare)
    c, dof = cache[k, _STRENGTH], cache[k, _DOF] - (d - 1.0)
    for j in range(d):
        work[j] = row[j] - cache[k, _MEAN + j]
    square, log_root, product, n_observed = 0.0, 0.0, 1.0, 0
    start = spare
    for j in range(d):
        length = d - j
        if row[d + j] > 0.0:
            for i in range(1, length):
                work[d + i - 1] = cache[k, start + i]
            rank_one(cache, k, start + length, length - 1, work[d : 2 * d], 1.0)
        else:
            head = work[j] / cache[k, start]
            square += head * head
            product *= cache[k, start]
            if product > 1e100 or product < 1e-100:
                log_root += math.log(product)
                product = 1.0
            n_observed += 1
            for i in range(1, length):
                work[j + i] -= head * cache[k, start + i]
        start += length
    share = c / (c + 1.0)
    return (
        log_rising(0.5 * dof, 0.5 * n_observed)
        - 0.5 * n_observed * (LOG_PI - math.log(share))
        - log_root
        - math.log(product)
        - 0.5 * (dof + n_observed) * math.log1p(share * square)
    )


@implements(verbs.log_predictive, GaussianMissing)
def _log_predictive(family, statistics, cache, k, row, work):
    if verbs.has_missing(family, row):
        return _log_predictive_observed(family, cache, k, row, work)
    return verbs.log_predictive(family.inner, statistics, cache, k, _cells(family, row), work)


@implements(verbs.log_predictive_without, GaussianMissing)
def _log_predictive_without(family, statistics, cache, k, row, work):
    cells = _cells(family, row)
    if not verbs.has_missing(family, row):
        return verbs.log_predictive_without(family.inner, statistics, cache, k, cells, work)
    verbs.remove(family.inner, statistics, cache, k, cells, work)
    value = _log_predictive_observed(family, cache, k, row, work)
    verbs.add(family.inner, statistics, cache, k, cells, work)
    return value


@implements(verbs.n_learned, GaussianMissing)
def _n_learned(family, j):
    return verbs.n_learned(family.inner, j)


@implements(verbs.set_learned, GaussianMissing)
def _set_learned(family, base, j, c, offset):
    verbs.set_learned(family.inner, base.inner, j, c, offset)


@implements(verbs.publish, GaussianMissing)
def _publish(family, statistics, cache, board, k):
    verbs.publish(family.inner, statistics, cache, board, k)


@implements(verbs.add_log_predictives, GaussianMissing)
def _add_log_predictives(family, statistics, cache, board, n_slots, row, work, reference, scores):
    if verbs.has_missing(family, row):
        for k in range(n_slots):
            if scores[k] > -math.inf:
                scores[k] += _log_predictive_observed(family, cache, k, row, work)
    else:
        verbs.add_log_predictives(
            family.inner, statistics, cache, board, n_slots, _cells(family, row), work, reference, scores
        )


@implements(verbs.draw_missing, GaussianMissing)
def _draw_missing(family, statistics, cache, k, row, rng, work):
    """Observed columns first, then the missing ones: the factor of P in that order, and the formula above."""
    d = family.inner.mean.size
    spare, start = family.spare, _MEAN + d
    n_observed = 0
    for j in range(d):
        if row[d + j] == 0.0:
            work[n_observed] = j
            n_observed += 1
    if n_observed == d:
        return
    last = n_observed
    for j in range(d):
        if row[d + j] > 0.0:
            work[last] = j
            last += 1
    # Entry (a, b) of P = L L' in the new order; column r of the packed factor begins where r columns end.
    entry = spare
    for b in range(d):
        for a in range(b, d):
            i, j = int(work[a]), int(work[b])
            total = 0.0
            for r in range(min(i, j) + 1):
                column = start + r * d - r * (r + 1) // 2
                total += cache[k, column + i] * cache[k, column + j]
            cache[k, entry] = total
            entry += 1
    factorise(cache, k, spare, d)
    for a in range(n_observed):
        j = int(work[a])
        work[d + a] = row[j] - cache[k, _MEAN + j]
    c, square = cache[k, _STRENGTH], 0.0
    at = spare
    for a in range(n_observed):
        head = work[d + a] / cache[k, at]
        work[d + a] = head
        square += head * head
        for b in range(1, n_observed - a):
            work[d + a + b] -= head * cache[k, at + b]
        at += d - a
    share = c / (c + 1.0)
    spread = math.sqrt((1.0 + share * square) / (share * rng.chisquare(cache[k, _DOF] - d + 1.0 + n_observed)))
    for a in range(n_observed, d):
        work[d + a] = rng.standard_normal() * spread
    for a in range(n_observed, d):
        j = int(work[a])
        value = cache[k, _MEAN + j]
        for b in range(a + 1):
            value += cache[k, spare + b * d - b * (b + 1) // 2 + a] * work[d + b]
        row[j] = value


@implements(verbs.log_marginal, GaussianMissing)
def _log_marginal(family, statistics, cache, k):
    return verbs.log_marginal(family.inner, statistics, cache, k)


@implements(verbs.draw_parameters, GaussianMissing)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    verbs.draw_parameters(family.inner, statistics, cache, k, rng, parameters)


@implements(verbs.natural, GaussianMissing)
def _natural(family, parameters, k, out):
    verbs.natural(family.inner, parameters, k, out)


@implements(verbs.expected_natural, GaussianMissing)
def _expected_natural(family, statistics, cache, k, out):
    verbs.expected_natural(family.inner, statistics, cache, k, out)


@implements(verbs.estimate, GaussianMissing)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    return verbs.estimate(family.inner, statistics, cache, k, prior_weight, parameters)


@implements(verbs.log_prior, GaussianMissing)
def _log_prior(family, parameters, k):
    return verbs.log_prior(family.inner, parameters, k)


@implements(verbs.divergence, GaussianMissing)
def _divergence(family, row, centre):
    return verbs.divergence(family.inner, _cells(family, row), centre)


@implements(verbs.mean_divergence, GaussianMissing)
def _mean_divergence(family, mean_row, mean, centre):
    return verbs.mean_divergence(family.inner, _cells(family, mean_row), mean, centre)
