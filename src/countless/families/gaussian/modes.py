"""Modes of the Gaussian family with free mean and covariance: maximum likelihood, posterior mode, prior density.

With w the weight of the prior, S the scatter about the mean, D columns:

    Sigma = (w scale + S + ...) / (n + w (dof + 1))

This is the mode under the measure |Sigma|^-(D + 1)/2 dSigma, which is the same for covariances and precisions and for
D = 1 that of the log variance. With respect to dSigma the divisor is n + dof + D + 2 (Fraley and Raftery 2007).
"""

from __future__ import annotations

import math

import numpy as np

from ...core.jit import inner_kernel
from ...core.special import LOG_2PI, factorise, log_determinant
from .. import verbs
from ..base import SMALLEST
from ..verbs import implements
from .full import NormalInverseWishart


@implements(verbs.estimate, NormalInverseWishart)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """Mean, then the packed factor of the precision."""
    d = family.mean.size
    n = statistics[k, 0]
    empty = n <= 0.0
    weight = 1.0 if empty else prior_weight
    prior = weight * family.mean_strength[0]
    for j in range(d):
        parameters[k, j] = (prior * family.mean[j] + statistics[k, 1 + j]) / (prior + n)
    covariance = np.empty((d, d))
    entry = 0
    for j in range(d):
        for i in range(j, d):
            scatter = weight * family.scale[entry] + statistics[k, 1 + d + entry]
            scatter += prior * family.mean[j] * family.mean[i] - (prior + n) * parameters[k, j] * parameters[k, i]
            covariance[i, j] = covariance[j, i] = scatter / (n + weight * (family.dof[0] + 1.0))
            entry += 1
    bounded = _lift(covariance)
    _precision_factor(covariance, parameters, k, d)
    return bounded or empty


@inner_kernel
def _lift(covariance):
    """Lift eigenvalues below ``SMALLEST`` to it: the best covariance that is nowhere narrower. True if one was."""
    d = covariance.shape[0]
    packed = np.empty((1, d * (d + 1) // 2))
    at = 0
    for j in range(d):
        for i in range(j, d):
            packed[0, at] = covariance[i, j] - (SMALLEST if i == j else 0.0)
            at += 1
    if factorise(packed, 0, 0, d):
        return False
    values, vectors = np.linalg.eigh(covariance)
    for i in range(d):
        for j in range(d):
            total = 0.0
            for r in range(d):
                total += vectors[i, r] * max(values[r], SMALLEST) * vectors[j, r]
            covariance[i, j] = total
    return True


@inner_kernel
def _precision_factor(covariance, parameters, k, d):
    """Packed lower L with L L' = Sigma^-1: from the factor C of Sigma with rows and columns in reverse order,
    L[i, j] = C^-1[d - 1 - j, d - 1 - i], so that the precision itself is never formed."""
    packed = np.empty((1, d * (d + 1) // 2))
    at = 0
    for j in range(d):
        for i in range(j, d):
            packed[0, at] = covariance[d - 1 - i, d - 1 - j]
            at += 1
    factorise(packed, 0, 0, d)
    inverse = np.zeros((d, d))
    for column in range(d):
        inverse[column, column] = 1.0
        start = column * d - column * (column - 1) // 2
        for j in range(column, d):
            head = inverse[j, column] / packed[0, start]
            inverse[j, column] = head
            for i in range(1, d - j):
                inverse[j + i, column] -= head * packed[0, start + i]
            start += d - j
    at = d
    for j in range(d):
        for i in range(j, d):
            parameters[k, at] = inverse[d - 1 - j, d - 1 - i]
            at += 1


@implements(verbs.log_prior, NormalInverseWishart)
def _log_prior(family, parameters, k):
    """Density of the mean and, under the measure above, of the covariance."""
    d = family.mean.size
    triangle = d * (d + 1) // 2
    precision = np.zeros(triangle)
    square = 0.0
    start = d
    for r in range(d):
        y = 0.0
        for i in range(r, d):
            y += parameters[k, start + i - r] * (parameters[k, i] - family.mean[i])
        square += y * y
        at = r * d - r * (r - 1) // 2
        for j in range(r, d):
            for i in range(j, d):
                precision[at] += parameters[k, start + i - r] * parameters[k, start + j - r]
                at += 1
        start += d - r
    trace = 0.0
    at = 0
    for j in range(d):
        for i in range(j, d):
            trace += family.scale[at] * precision[at] * (1.0 if i == j else 2.0)
            at += 1
    log_det = log_determinant(parameters, k, d, d)
    value = 0.5 * ((family.dof[0] + 1.0) * log_det + family.dof[0] * family.log_det_scale[0] - trace)
    value += 0.5 * (d * (math.log(family.mean_strength[0]) - LOG_2PI) - family.mean_strength[0] * square)
    value -= 0.5 * family.dof[0] * d * math.log(2.0) + 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        value -= math.lgamma(0.5 * (family.dof[0] - j))
    return value
