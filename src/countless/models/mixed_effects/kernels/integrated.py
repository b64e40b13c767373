"""Subjects whose effects are integrated out: a family for kernels, where the covariance within a cluster is known.

With P the precision of the effects about the mean mu of their cluster, tau that of the noise, S = X'X and q = X'r of
one subject (r what fixed effects leave of its outcomes), the effects have the precision M = P + tau S given
everything, and

    log p(y | mu) = h' mu - mu' W mu / 2 + c + terms that no cluster can change,
    W = P M^-1 tau S,    h = P M^-1 tau q,    c = (log |P| - log |M| + tau^2 q' M^-1 q) / 2

So a subject is a row (h, W, c) of additive statistics, whatever the number of its visits, and a cluster with prior
mu ~ N(m, L^-1) has the evidence of a Gaussian integral (Raykov et al. 2016, section 7, with their effects and means
integrated out).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.jit import inner_kernel, kernel
from ....core.special import factorise, log_determinant, solve_transposed, solved_square
from ....families import Family, verbs
from ....families.base import Layout
from ....families.verbs import implements

FloatArray = NDArray[np.float64]


class Integrated(NamedTuple):
    """Prior of the mean of a cluster: location, precision packed by columns, and log of its determinant."""

    mean: FloatArray
    precision: FloatArray
    log_det: FloatArray


class IntegratedFamily:
    """What the clusters of a partition ask of a family."""

    allocate: Any = Family.allocate
    scratch: Any = Family.scratch

    def __init__(self, hyper: Integrated) -> None:
        self.hyper = hyper

    def prepare(self) -> Integrated:
        """Hyperparameters as kernels receive them; copies, since they are changed in place."""
        return Integrated(*(part.copy() for part in self.hyper))

    def layout(self) -> Layout:
        """Statistics: count, h, W, c. Cache: mean of mu, factor of its precision, log determinant of that, a spare."""
        d = self.hyper.mean.size
        triangle = d * (d + 1) // 2
        return Layout(2 + d + triangle, 1 + d + 2 * triangle, d)


@implements(verbs.row_statistics, Integrated)
def _row_statistics(family, row, out):
    out[0] = 1.0
    for j in range(row.size):
        out[1 + j] = row[j]


@inner_kernel
def _write_factor(family, statistics, cache, k, at):
    """Factor of the precision of mu given cluster ``k``, into ``cache[k, at:]``."""
    d = family.mean.size
    for entry in range(d * (d + 1) // 2):
        cache[k, at + entry] = family.precision[entry] + statistics[k, 1 + d + entry]
    factorise(cache, k, at, d)


@inner_kernel
def _times(matrix, at, d, vector, out):
    """``out`` = a symmetric matrix, packed in ``matrix[at:]``, times ``vector``."""
    for j in range(d):
        out[j] = 0.0
    for j in range(d):
        for i in range(j, d):
            out[i] += matrix[at] * vector[j]
            if i != j:
                out[j] += matrix[at] * vector[i]
            at += 1


@implements(verbs.refresh, Integrated)
def _refresh(family, statistics, cache, k, work):
    """The mean is m + precision^-1 (h - W m)."""
    d = family.mean.size
    triangle = d * (d + 1) // 2
    _write_factor(family, statistics, cache, k, d)
    _times(statistics[k], 1 + d, d, family.mean, work)
    for j in range(d):
        cache[k, j] = statistics[k, 1 + j] - work[j]
    solved_square(cache, k, d, d, cache[k])
    solve_transposed(cache, k, d, d, cache[k])
    for j in range(d):
        cache[k, j] += family.mean[j]
    cache[k, d + triangle] = log_determinant(cache, k, d, d)


@implements(verbs.log_marginal, Integrated)
def _log_marginal(family, statistics, cache, k):
    """c + h'm - m'Wm / 2 + e'(L + W)^-1 e / 2 - log |I + L^-1 W| / 2 with e = h - W m."""
    d = family.mean.size
    triangle = d * (d + 1) // 2
    value = statistics[k, 1 + d + triangle] - 0.5 * (cache[k, d + triangle] - family.log_det[0])
    residual = np.empty(d)
    _times(statistics[k], 1 + d, d, family.mean, residual)
    for j in range(d):
        h = statistics[k, 1 + j]
        value += family.mean[j] * (h - 0.5 * residual[j])
        residual[j] = h - residual[j]
    return value + 0.5 * solved_square(cache, k, d, d, residual)


@implements(verbs.log_predictive, Integrated)
def _log_predictive(family, statistics, cache, k, row, work):
    """The same integral for one row, with the law of mu given the cluster as its prior."""
    d = family.mean.size
    triangle = d * (d + 1) // 2
    spare = d + triangle + 1
    for entry in range(triangle):
        cache[k, spare + entry] = family.precision[entry] + (statistics[k, 1 + d + entry] + row[d + entry])
    if not factorise(cache, k, spare, d):
        return -math.inf
    value = row[d + triangle] - 0.5 * (log_determinant(cache, k, spare, d) - cache[k, d + triangle])
    _times(row, d, d, cache[k], work)
    for j in range(d):
        value += cache[k, j] * (row[j] - 0.5 * work[j])
        work[j] = row[j] - work[j]
    return value + 0.5 * solved_square(cache, k, spare, d, work)


@implements(verbs.draw_parameters, Integrated)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    """Mean of the cluster."""
    d = family.mean.size
    for j in range(d):
        parameters[k, j] = rng.standard_normal()
    solve_transposed(cache, k, d, d, parameters[k])
    for j in range(d):
        parameters[k, j] += cache[k, j]


@kernel
def integrate_effects(grams, moments, precision, tau, rows):
    """Write the row (h, W, c) of each subject; ``grams`` are packed by columns, as W is."""
    n, d = moments.shape
    triangle = d * (d + 1) // 2
    factor = np.empty((1, triangle))
    column = np.empty(d)
    gram = np.empty((d, d))
    solved = np.empty((d, d))
    log_det_p = 0.0
    entry = 0
    for j in range(d):
        for i in range(j, d):
            factor[0, entry] = precision[i, j]
            entry += 1
    factorise(factor, 0, 0, d)
    log_det_p = log_determinant(factor, 0, 0, d)
    for s in range(n):
        entry = 0
        for j in range(d):
            for i in range(j, d):
                gram[i, j] = gram[j, i] = tau * grams[s, entry]
                factor[0, entry] = precision[i, j] + gram[i, j]
                entry += 1
        factorise(factor, 0, 0, d)
        for j in range(d):
            for i in range(d):
                solved[j, i] = gram[i, j]
            solved_square(factor, 0, 0, d, solved[j])
            solve_transposed(factor, 0, 0, d, solved[j])
            column[j] = tau * moments[s, j]
        square = solved_square(factor, 0, 0, d, column)
        solve_transposed(factor, 0, 0, d, column)
        entry = d
        for j in range(d):
            rows[s, j] = 0.0
            for r in range(d):
                rows[s, j] += precision[j, r] * column[r]
            for i in range(j, d):
                one, other = 0.0, 0.0
                for r in range(d):
                    one += precision[i, r] * solved[j, r]
                    other += precision[j, r] * solved[i, r]
                rows[s, entry] = 0.5 * (one + other)
                entry += 1
        rows[s, entry] = 0.5 * (log_det_p - log_determinant(factor, 0, 0, d) + square)
