"""Which families the effects of a cluster may have, and the law of one more subject's effects in normal form.

Given the other subjects of a cluster, the effects of one more have a normal law (known covariance) or a Student-t. The
latter is a normal law of random precision: with nu degrees of freedom, location m and precision matrix Q,

    beta | w ~ N(m, (w Q)^-1),    w ~ Gamma(nu / 2, rate nu / 2)

(for independent columns, one w for each). Kernels ask for it as a row of numbers: m, then Q packed by columns, half of
log det Q, and for each w the number nu and the constant of its density (``moves.placing``). Last is the precision of
the noise: where each cluster has its own, that is a random precision too, times its mean.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....core.jit import inner_kernel
from ....families import Family, verbs
from ....families.gaussian.diagonal import NormalInverseGamma
from ....families.gaussian.full import _DOF, _MEAN, _STRENGTH, NormalInverseWishart
from ....families.gaussian.known_covariance import KnownCovariance
from ....families.gaussian.spherical import Spherical
from ....families.table.pair import Pair, left_of
from ....families.verbs import implements

FloatArray = NDArray[np.float64]

# By type of hyperparameters: how many random precisions its predictive has, as a multiple of columns or as a number.
_NONE, _ONE, _PER_COLUMN = 0, 1, 2
_SCALES = {KnownCovariance: _NONE, Spherical: _NONE, NormalInverseWishart: _ONE, NormalInverseGamma: _PER_COLUMN}


def serves(hyper: Any) -> bool:
    """Whether effects can have a family with hyperparameters of this type."""
    return type(hyper) in _SCALES


def is_known(hyper: Any) -> bool:
    """Whether the covariance of a cluster is given, and the noise of all is one: then effects can be integrated out."""
    return _SCALES.get(type(hyper)) == _NONE


def of_effects(hyper: Any) -> Any:
    """Hyperparameters of the effects alone, where each cluster also has a noise."""
    return hyper.left if isinstance(hyper, Pair) else hyper


def n_scales(hyper: Any, d: int) -> int:
    """Number of random precisions of the predictive of effects."""
    return {_NONE: 0, _ONE: 1, _PER_COLUMN: d}[_SCALES[type(of_effects(hyper))]]


def able() -> str:
    """Families that effects can have, by name, for messages."""
    return "'gaussian', 'diagonal-gaussian', 'spherical-gaussian' or 'gaussian-known-covariance'"


def law_width(d: int, n: int) -> int:
    """Numbers of a law in ``d`` columns with ``n`` random precisions, and of the noise."""
    return d + d * (d + 1) // 2 + 1 + 2 * n + 3


# --- one more subject of a cluster --------------------------------------------------------------------------------


@verbs.conditional
def write_law(family, statistics, cache, k, law):
    """Write the law of the effects of one more subject of cluster ``k`` into ``law``."""


@implements(write_law, Pair)
def _write_law_pair(family, statistics, cache, k, law):
    write_law(family.left, left_of(statistics, family.n_statistics), left_of(cache, family.n_cache), k, law)


@inner_kernel
def write_noise(statistics, k, noise, law):
    """Write the law of the precision of the noise: mean, degrees of freedom, constant; two zeros where it is given.

    ``noise`` is that precision, and shape and rate of the law of each cluster or zeros; squared residuals and their
    number are the last statistics.
    """
    tau, shape, rate = noise
    at, last = law.size - 3, statistics.shape[1] - 1
    law[at] = tau
    law[at + 1] = law[at + 2] = 0.0
    if shape > 0.0:
        shape += 0.5 * statistics[k, last - 1]
        law[at] = shape / (rate + 0.5 * max(statistics[k, last], 0.0))
        _write_scale(law, at + 1, 2.0 * shape)


@inner_kernel
def _write_scale(law, at, dof):
    """Degrees of freedom of a random precision, and the constant of its density on the line of Wilson and Hilferty."""
    half = 0.5 * dof
    law[at] = dof
    law[at + 1] = half * math.log(half) - math.lgamma(half) + math.log(3.0) + 0.5 * math.log(2.0 / (9.0 * dof))


@implements(write_law, NormalInverseWishart)
def _write_law_full(family, statistics, cache, k, law):
    """Q = P^-1 c nu / (c + 1) with nu = v - D + 1, from the factor L of P: P^-1 = L^-T L^-1."""
    d = family.mean.size
    c, dof = cache[k, _STRENGTH], cache[k, _DOF] - (d - 1.0)
    factor = c * dof / (c + 1.0)
    inverse = np.zeros((d, d))
    log_det = 0.0
    for column in range(d):
        inverse[column, column] = 1.0
        start = _MEAN + d + column * d - column * (column - 1) // 2
        for j in range(column, d):
            head = inverse[j, column] / cache[k, start]
            inverse[j, column] = head
            for i in range(1, d - j):
                inverse[j + i, column] -= head * cache[k, start + i]
            start += d - j
        law[column] = cache[k, _MEAN + column]
        log_det += math.log(inverse[column, column])
    at = d
    for j in range(d):
        for i in range(j, d):
            total = 0.0
            for r in range(i, d):
                total += inverse[r, i] * inverse[r, j]
            law[at] = total * factor
            at += 1
    law[at] = log_det + 0.5 * d * math.log(factor)
    _write_scale(law, at + 1, dof)


@implements(write_law, NormalInverseGamma)
def _write_law_diagonal(family, statistics, cache, k, law):
    """Column j: 2 exponents - 1 degrees of freedom nu; its width is 1 / (nu times the squared scale)."""
    d = family.mean.size
    at = d
    log_det = 0.0
    after = d + d * (d + 1) // 2
    for j in range(d):
        dof = 2.0 * cache[k, 1 + d + j] - 1.0
        law[j] = cache[k, 1 + j]
        law[at] = cache[k, 1 + 2 * d + j] * dof
        log_det += 0.5 * math.log(law[at])
        for i in range(1, d - j):
            law[at + i] = 0.0
        at += d - j
        _write_scale(law, after + 1 + 2 * j, dof)
    law[after] = log_det


@implements(write_law, KnownCovariance)
def _write_law_known(family, statistics, cache, k, law):
    """Precision U' diag(q) U and location U^-1 m for the whitener U."""
    d = family.mean.size
    inverse = np.linalg.inv(family.whitener)
    at = d
    log_det = family.log_det
    for j in range(d):
        law[j] = 0.0
        for r in range(d):
            law[j] += inverse[j, r] * cache[k, 1 + r]
        log_det += 0.5 * math.log(cache[k, 1 + d + j])
        for i in range(j, d):
            total = 0.0
            for r in range(d):
                total += family.whitener[r, i] * cache[k, 1 + d + r] * family.whitener[r, j]
            law[at] = total
            at += 1
    law[at] = log_det


@implements(write_law, Spherical)
def _write_law_spherical(family, statistics, cache, k, law):
    d = family.mean.size
    precision = 2.0 * cache[k, 1]
    at = d
    for j in range(d):
        law[j] = cache[k, 2 + j]
        law[at] = precision
        for i in range(1, d - j):
            law[at + i] = 0.0
        at += d - j
    law[at] = 0.5 * d * math.log(precision)


# --- clusters of given parameters ---------------------------------------------------------------------------------


def means_and_precisions(hyper: Any, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean (K, D) and precision matrix (K, D, D) of the effects of clusters with these parameters."""
    if isinstance(hyper, Pair):
        return means_and_precisions(hyper.left, parameters[:, : hyper.n_parameters])
    d = hyper.mean.size
    n = len(parameters)
    if isinstance(hyper, NormalInverseWishart):
        factors = np.zeros((n, d, d))
        columns, rows = np.triu_indices(d)
        factors[:, rows, columns] = parameters[:, d:]
        return parameters[:, :d].copy(), factors @ np.swapaxes(factors, 1, 2)
    if isinstance(hyper, NormalInverseGamma):
        return parameters[:, :d].copy(), parameters[:, d:, None] * np.eye(d)
    within = within_precision(hyper)
    means: FloatArray = parameters.copy()
    if isinstance(hyper, KnownCovariance):
        means = np.asarray(np.linalg.solve(hyper.whitener, parameters.T).T, dtype=np.float64)
    return np.ascontiguousarray(means), np.tile(within, (n, 1, 1))


def within_precision(hyper: Any) -> FloatArray:
    """Precision of the effects about the mean of their cluster, for families of known covariance."""
    if isinstance(hyper, KnownCovariance):
        return np.asarray(hyper.whitener.T @ hyper.whitener / hyper.within[0])
    return np.eye(hyper.mean.size) / hyper.variance[0]


def prior_of_means(hyper: Any) -> tuple[FloatArray, FloatArray]:
    """Prior mean and precision of the mean of a cluster, for families of known covariance."""
    if isinstance(hyper, KnownCovariance):
        mean: FloatArray = np.asarray(np.linalg.solve(hyper.whitener, hyper.mean), dtype=np.float64)
        return mean, np.asarray(hyper.whitener.T @ (hyper.whitener / hyper.variance[:, None]))
    return hyper.mean.copy(), np.eye(hyper.mean.size) / hyper.mean_variance[0]


def hyper_of(family: Family, d: int) -> Any:
    """Hyperparameters as kernels receive them; ValueError where effects cannot have this family."""
    try:
        hyper = family.prepare()
    except (TypeError, ValueError, AttributeError):
        hyper = None
    if not serves(hyper) or hyper.mean.size != d:
        raise ValueError(f"family: effects of {d} columns cannot be {type(family).__name__}; choose {able()}")
    return hyper
