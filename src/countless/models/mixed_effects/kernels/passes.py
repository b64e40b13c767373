"""One pass over the subjects given the parameters of their clusters: effects, their laws, sums for the fixed effects.

With mu, P the mean and precision of the effects of the subject's cluster, tau the precision of the noise, N the number
of visits, r = y - F gamma, S = X'X, q = X'r:

    M = P + tau S,    beta | y ~ N(mu + M^-1 e, M^-1),    e = tau (q - S mu),
    log p(y) = (log |P| - log |M| + N log tau - tau r'r + mu' (tau q + e) + e' M^-1 e - N log 2 pi) / 2

A visit never appears: a subject is S, q, N and r'r, whatever the number of its visits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.jit import inner_kernel, kernel
from ....core.special import factorise, log_determinant, solve_transposed, solved_square
from ....families import verbs
from ....families.table.pair import Pair, left_of
from ....families.verbs import implements

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Visits(NamedTuple):
    """Sums over the visits of each subject: S packed by columns, q, N and r'r."""

    grams: FloatArray
    moments: FloatArray
    counts: FloatArray
    squares: FloatArray


class Laws(NamedTuple):
    """Clusters: mean and precision of effects, half the log determinant of that, precision of the noise."""

    means: FloatArray
    precisions: FloatArray
    half_log_dets: FloatArray
    taus: FloatArray


def laws_of(means: FloatArray, precisions: FloatArray, taus: FloatArray) -> Laws:
    """Laws with these means (K, D), precisions (K, D, D) and precisions of the noise (K,)."""
    half = np.asarray(0.5 * np.linalg.slogdet(precisions)[1], dtype=np.float64)
    parts = (means, 0.5 * (precisions + np.swapaxes(precisions, 1, 2)), half, taus)
    return Laws(*map(np.ascontiguousarray, parts))


@inner_kernel
def absorb(laws, k, visits, i, factor, solved):
    """Log density of the outcomes of subject ``i`` in cluster ``k``, its effects integrated out, but for 2 pi.

    ``factor`` is left with the factor L of M, ``solved`` with L^-1 e.
    """
    means, precisions, half_log_dets, taus = laws
    d = visits.moments.shape[1]
    tau = taus[k]
    value = half_log_dets[k] + 0.5 * (visits.counts[i] * math.log(tau) - tau * visits.squares[i])
    for j in range(d):
        solved[j] = visits.moments[i, j]
    entry = 0
    for j in range(d):
        for r in range(j, d):
            part = visits.grams[i, entry]
            factor[0, entry] = precisions[k, r, j] + tau * part
            solved[r] -= part * means[k, j]
            if r != j:
                solved[j] -= part * means[k, r]
            entry += 1
    for j in range(d):
        value += 0.5 * tau * means[k, j] * (visits.moments[i, j] + solved[j])
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


@verbs.optional
def expected_statistics(family, moments, noise, room, column, point, work, statistics, k):
    """Statistics of cluster ``k`` whose effects have these moments; ``noise`` holds visits and squared residuals.

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


@implements(expected_statistics, Pair)
def _expected_statistics_of_both(family, moments, noise, room, column, point, work, statistics, k):
    n = family.n_statistics
    expected_statistics(family.left, moments, noise, room, column, point, work, left_of(statistics, n), k)
    statistics[k, n] = moments[0]
    statistics[k, n + 1] = noise[0]
    statistics[k, n + 2] = noise[1]


@kernel
def log_densities(laws, visits, out):
    """Log density of each subject's outcomes (row) in each cluster (column), but for 2 pi."""
    n, d = visits.moments.shape
    factor, solved = np.empty((1, d * (d + 1) // 2)), np.empty(d)
    for i in range(n):
        for k in range(laws.means.shape[0]):
            out[i, k] = absorb(laws, k, visits, i, factor, solved)


@kernel
def log_densities_of_each(laws, visits, out):
    """The same where each subject has a law of its own."""
    d = visits.moments.shape[1]
    factor, solved = np.empty((1, d * (d + 1) // 2)), np.empty(d)
    for i in range(out.size):
        out[i] = absorb(laws, i, visits, i, factor, solved)


@kernel
def effects_given(laws, labels, visits, noise, effects, covariances):
    """Effects of each subject given its cluster: their means, plus the root of their covariance times ``noise``.

    ``noise`` has no rows where means are wanted; ``covariances`` (packed by columns) none where they are not. Returns
    the sum of the log densities of the outcomes but for 2 pi.
    """
    n, d = visits.moments.shape
    factor, solved, column = np.empty((1, d * (d + 1) // 2)), np.empty(d), np.empty(d)
    total = 0.0
    for i in range(n):
        k = labels[i]
        total += absorb(laws, k, visits, i, factor, solved)
        if effects.shape[0]:
            if noise.shape[0]:
                for j in range(d):
                    solved[j] += noise[i, j]
            solve_transposed(factor, 0, 0, d, solved)
            for j in range(d):
                effects[i, j] = laws.means[k, j] + solved[j]
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
def add_fixed_law(laws, labels, visits, crosses, fixed_grams, fixed_moments, information, score):
    """Add information and score of the fixed effects, the effects of subjects integrated out; ``visits`` are of y.

    Over subjects, with C = X'F: the sums of tau F'F - tau^2 C' M^-1 C, and of tau F'y - tau C'(mu + M^-1 e).
    """
    n, d, f = crosses.shape
    factor, solved = np.empty((1, d * (d + 1) // 2)), np.empty(d)
    columns = np.empty((f, d))
    for i in range(n):
        k = labels[i]
        tau = laws.taus[k]
        absorb(laws, k, visits, i, factor, solved)
        for a in range(f):
            score[a] += tau * fixed_moments[i, a]
            for j in range(d):
                columns[a, j] = crosses[i, j, a]
                score[a] -= tau * crosses[i, j, a] * laws.means[k, j]
            solved_square(factor, 0, 0, d, columns[a])
            for j in range(d):
                score[a] -= tau * columns[a, j] * solved[j]
            for b in range(a + 1):
                total = tau * fixed_grams[i, a, b]
                for j in range(d):
                    total -= tau * tau * columns[a, j] * columns[b, j]
                information[a, b] += total
                if a != b:
                    information[b, a] += total


@inner_kernel
def squared_residual(effect, gram, moment, square):
    """Sum of the squares of r - X beta: r'r + beta'S beta - 2 beta'q."""
    d = moment.size
    entry = 0
    for j in range(d):
        inner = gram[entry] * effect[j] - 2.0 * moment[j]
        for r in range(1, d - j):
            inner += 2.0 * gram[entry + r] * effect[j + r]
        square += inner * effect[j]
        entry += d - j
    return max(square, 0.0)


@kernel
def squared_residuals(effects, visits, out):
    """Squared residuals of each subject."""
    for i in range(effects.shape[0]):
        out[i] = squared_residual(effects[i], visits.grams[i], visits.moments[i], visits.squares[i])


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
