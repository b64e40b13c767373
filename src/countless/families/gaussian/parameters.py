"""Parameters of a Gaussian cluster with free mean and covariance: draws, natural parameters and their expectation.

The mean comes first, then the factor L of the precision L L', packed by columns.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.special import LOG_2PI, digamma, factorise, solve_transposed, solved_square
from .. import verbs
from ..verbs import implements
from .full import _DOF, _LOG_DET, _MEAN, _STRENGTH, NormalInverseWishart


@implements(verbs.draw_parameters, NormalInverseWishart)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    """Mean, then the packed factor of the precision L^-T A A' L^-1 with A Bartlett's factor.

    The columns of B = L^-T A are solved for one by one; B B' is summed over them, then factorised.
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
