"""One pass over the subjects given the parameters of their clusters: effects, their laws, sums for the fixed effects.

With mu, P the mean and precision of the subject's cluster, tau the precision of the noise, S = X'X, q = X'(y - F
gamma):

    M = P + tau S,    beta | y ~ N(mu + M^-1 e, M^-1),    e = tau (q - S mu),
    log p(y) = (log |P| - log |M|) / 2 + mu' (tau q + e) / 2 + e' M^-1 e / 2 + terms without the cluster

A visit never appears: a subject is S and q, whatever the number of its visits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...core.jit import inner_kernel, kernel
from ...core.special import factorise, log_determinant, solve_transposed, solved_square
from ...families import verbs

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@inner_kernel
def absorb(mean, precision, gram, moment, tau, factor, solved):
    """Log density of one subject's outcomes, its effects integrated out, but for log |P| / 2.

    ``factor`` is left with the factor L of M, ``solved`` with L^-1 e.
    """
    d = moment.size
    value = 0.0
    for j in range(d):
        solved[j] = moment[j]
    entry = 0
    for j in range(d):
        for i in range(j, d):
            part = gram[entry]
            factor[0, entry] = precision[i, j] + tau * part
            solved[i] -= part * mean[j]
            if i != j:
                solved[j] -= part * mean[i]
            entry += 1
    for j in range(d):
        value += 0.5 * tau * mean[j] * (moment[j] + solved[j])
        solved[j] *= tau
    if not factorise(factor, 0, 0, d):
        return -math.inf
    return value - 0.5 * log_determinant(factor, 0, 0, d) + 0.5 * solved_square(factor, 0, 0, d, solved)


@inner_kernel
def add_moments(weight, mean, factor, solved, column, inverse, out):
    """Add ``weight`` times 1, E beta and E beta beta' (packed by columns) of a subject that ``absorb`` has left.

    ``solved`` is left with E beta, ``inverse`` with the covariance.
    """
    d = solved.size
    solve_transposed(factor, 0, 0, d, solved)
    for j in range(d):
        solved[j] += mean[j]
    _invert(factor, d, column, inverse)
    out[0] += weight
    entry = 0
    for j in range(d):
        out[1 + j] += weight * solved[j]
        for i in range(j, d):
            out[1 + d + entry] += weight * (solved[i] * solved[j] + inverse[entry])
            entry += 1


@inner_kernel
def expected_statistics(family, moments, room, column, point, work, statistics, k):
    """Statistics of cluster ``k`` whose effects have these moments.

    Statistics are quadratic in the effects: a sum of n has the expectation of n at the 2 D points at sqrt(D) times the
    columns of a root of the covariance on either side of the mean.
    """
    d = column.size
    n = moments[0]
    statistics[k, :] = 0.0
    if not n > 0.0:
        return
    entry = 0
    for j in range(d):
        for i in range(j, d):
            room[0, entry] = moments[1 + d + entry] / n - (moments[1 + i] / n) * (moments[1 + j] / n)
            entry += 1
    spreads = factorise(room, 0, 0, d)
    start = 0
    for a in range(d):
        for sign in (1.0, -1.0):
            for j in range(d):
                point[j] = moments[1 + j] / n
                if j >= a and spreads:
                    point[j] += sign * math.sqrt(d) * room[0, start + j - a]
            verbs.row_statistics(family, point, work)
            for s in range(statistics.shape[1]):
                statistics[k, s] += n / (2.0 * d) * work[s]
        start += d - a


@kernel
def log_densities(means, precisions, half_log_dets, grams, moments, tau, out):
    """Log density of each subject's outcomes (row) in each cluster (column), but for terms without the cluster."""
    d = moments.shape[1]
    factor, solved = np.empty((1, d * (d + 1) // 2)), np.empty(d)
    for i in range(moments.shape[0]):
        for k in range(means.shape[0]):
            value = absorb(means[k], precisions[k], grams[i], moments[i], tau, factor, solved)
            out[i, k] = half_log_dets[k] + value


@kernel
def effects_given(means, precisions, labels, grams, moments, tau, noise, effects, covariances):
    """Effects of each subject given its cluster: their means, plus the root of their covariance times ``noise``.

    ``noise`` has no rows where means are wanted; ``covariances`` (packed by columns) none where they are not. Returns
    the sum of the log densities but for log |P| / 2.
    """
    d = moments.shape[1]
    factor, solved, column = np.empty((1, d * (d + 1) // 2)), np.empty(d), np.empty(d)
    total = 0.0
    for i in range(moments.shape[0]):
        k = labels[i]
        total += absorb(means[k], precisions[k], grams[i], moments[i], tau, factor, solved)
        if effects.shape[0]:
            if noise.shape[0]:
                for j in range(d):
                    solved[j] += noise[i, j]
            solve_transposed(factor, 0, 0, d, solved)
            for j in range(d):
                effects[i, j] = means[k, j] + solved[j]
        if covariances.shape[0]:
            _invert(factor, d, column, covariances[i])
    return total


@inner_kernel
def _invert(factor, d, column, out):
    """(L L')^-1 packed by columns."""
    entry = 0
    for j in range(d):
        for i in range(d):
            column[i] = 1.0 if i == j else 0.0
        solved_square(factor, 0, 0, d, column)
        solve_transposed(factor, 0, 0, d, column)
        for i in range(j, d):
            out[entry] = column[i]
            entry += 1


@kernel
def fixed_sums(means, precisions, labels, grams, moments, crosses, tau, information, score):
    """What integrating the effects out takes from the information and score of the fixed effects.

    Over subjects, with C = X'F and q = X'y less nothing: sum of tau^2 C' M^-1 C, and of tau C' mu + tau C' M^-1 e.
    """
    n, d, f = crosses.shape
    factor, solved = np.empty((1, d * (d + 1) // 2)), np.empty(d)
    columns = np.empty((f, d))
    for i in range(n):
        k = labels[i]
        absorb(means[k], precisions[k], grams[i], moments[i], tau, factor, solved)
        for a in range(f):
            for j in range(d):
                columns[a, j] = crosses[i, j, a]
                score[a] += tau * crosses[i, j, a] * means[k, j]
            solved_square(factor, 0, 0, d, columns[a])
            for j in range(d):
                score[a] += tau * columns[a, j] * solved[j]
            for b in range(a + 1):
                total = 0.0
                for j in range(d):
                    total += columns[a, j] * columns[b, j]
                information[a, b] += tau * tau * total
                if a != b:
                    information[b, a] += tau * tau * total


@kernel
def squared_residuals(effects, grams, moments):
    """Sum over subjects of beta'S beta - 2 beta'q: the squared residuals less those of no effects."""
    d = effects.shape[1]
    total = 0.0
    for i in range(effects.shape[0]):
        entry = 0
        for j in range(d):
            inner = -2.0 * moments[i, j] + grams[i, entry] * effects[i, j]
            for r in range(1, d - j):
                inner += 2.0 * grams[i, entry + r] * effects[i, j + r]
            total += inner * effects[i, j]
            entry += d - j
    return total


@kernel
def best_clusters(log_weights, densities, labels):
    """The label of largest weight times density for each subject; returns how many change."""
    moved = 0
    for i in range(densities.shape[0]):
        own = labels[i]
        best = own
        for k in range(densities.shape[1]):
            if log_weights[k] + densities[i, k] > log_weights[best] + densities[i, best] + 1e-9:
                best = k
        if best != own:
            labels[i] = best
            moved += 1
    return moved


@kernel
def log_densities_of_each(means, precisions, half_log_dets, grams, moments, tau, out):
    """The same where each subject has a law of its own."""
    d = moments.shape[1]
    factor, solved = np.empty((1, d * (d + 1) // 2)), np.empty(d)
    for i in range(moments.shape[0]):
        out[i] = half_log_dets[i] + absorb(means[i], precisions[i], grams[i], moments[i], tau, factor, solved)
