"""Divide one attribute into two whose clusters, where they meet, are the clusters of the one.

Every cluster of the one gets a cluster in the first attribute, in the second, or in both: existing ones or new ones,
no two of them the same pair. One cluster after the other chooses by the evidence and the prior of what is there so
far; the weights of both attributes are integrated out of the sums of the blocks.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import inner_kernel, kernel
from ....core.special import draw_from_logs, log_sum_exp


@inner_kernel
def _log_prior(codes, sizes, count, n, breadth, concentration):
    """Log rate of the attribute that the first clusters make, less its constant; 0 where it has none."""
    members, clusters, value = 0.0, 0, 0.0
    for c in range(count):
        size = 0.0
        for i in range(count):
            if codes[i] == c:
                size += sizes[i]
        if size > 0.0:
            members += size
            clusters += 1
            value += math.lgamma(size) + math.log(concentration)
    if clusters == 0:
        return 0.0
    value += math.lgamma(concentration) - math.lgamma(concentration + members)
    return value + math.lgamma(members) + math.lgamma(n - members + breadth) - math.lgamma(n + breadth)


@inner_kernel
def _place(c, d, first, directed, room):
    if directed:
        return first + c * room + d
    return first + max(c, d) * room + min(c, d)


@inner_kernel
def _log_evidence(rest, pull, mean, variance, directed, one, other, count, number, matrix, vector):
    """Log evidence of the blocks of the first clusters, all weights of both attributes integrated out."""
    room = one.size
    number[:] = -1
    used = 0
    for i in range(count):
        for j in range(count if directed else i + 1):
            if one[i] >= 0 and one[j] >= 0:
                at = _place(one[i], one[j], 0, directed, room)
                if number[at] < 0:
                    number[at] = used
                    used += 1
            if other[i] >= 0 and other[j] >= 0:
                at = _place(other[i], other[j], room * room, directed, room)
                if number[at] < 0:
                    number[at] = used
                    used += 1
    for a in range(used):
        vector[a] = mean / variance
        for b in range(a + 1):
            matrix[a, b] = 0.0
        matrix[a, a] = 1.0 / variance
    for i in range(count):
        for j in range(count if directed else i + 1):
            a, b = -1, -1
            if one[i] >= 0 and one[j] >= 0:
                a = number[_place(one[i], one[j], 0, directed, room)]
                matrix[a, a] += pull[i, j]
                vector[a] += rest[i, j]
            if other[i] >= 0 and other[j] >= 0:
                b = number[_place(other[i], other[j], room * room, directed, room)]
                matrix[b, b] += pull[i, j]
                vector[b] += rest[i, j]
            if a >= 0 and b >= 0:
                matrix[max(a, b), min(a, b)] += pull[i, j]
    return _integral(matrix, vector, used) - 0.5 * used * (mean * mean / variance + math.log(variance))


@inner_kernel
def _integral(matrix, vector, d):
    """b' A^-1 b / 2 - log |A| / 2; both are overwritten."""
    value = 0.0
    for a in range(d):
        for b in range(a + 1):
            total = matrix[a, b]
            for k in range(b):
                total -= matrix[a, k] * matrix[b, k]
            matrix[a, b] = math.sqrt(total) if a == b else total / matrix[b, b]
        total = vector[a]
        for k in range(a):
            total -= matrix[a, k] * vector[k]
        vector[a] = total / matrix[a, a]
        value += 0.5 * vector[a] * vector[a] - math.log(matrix[a, a])
    return value


@kernel
def factor(rng, rest, pull, mean, variance, directed, sizes, n, breadth, concentration, follow, one, other):
    """Give every cluster a place in two attributes, ``one`` and ``other`` (-1 for none), and the log probability of it.

    ``rest`` and ``pull`` are sums over blocks of the clusters; ``follow`` keeps the places that are there already.
    """
    r = sizes.size
    number = np.empty(2 * r * r, dtype=np.int64)
    most = 2 * r * r
    matrix, vector = np.empty((most, most)), np.empty(most)
    places = np.empty(((r + 2) * (r + 2), 2), dtype=np.int64)
    logs = np.empty((r + 2) * (r + 2))
    log_probability, n_one, n_other = 0.0, 0, 0
    for i in range(r):
        mine, yours = one[i], other[i]
        count, chosen = 0, -1
        for c in range(-1, n_one + 1):
            for d in range(-1, n_other + 1):
                free = c >= 0 or d >= 0
                for j in range(i):
                    free = free and not (one[j] == c and other[j] == d)
                if not free:
                    continue
                one[i], other[i] = c, d
                value = _log_evidence(rest, pull, mean, variance, directed, one, other, i + 1, number, matrix, vector)
                value += _log_prior(one, sizes, i + 1, n, breadth, concentration)
                logs[count] = value + _log_prior(other, sizes, i + 1, n, breadth, concentration)
                places[count, 0], places[count, 1] = c, d
                if follow and c == mine and d == yours:
                    chosen = count
                count += 1
        log_probability -= log_sum_exp(logs, count)
        if follow:
            log_probability += logs[chosen]
        else:
            values = logs[:count].copy()
            chosen = draw_from_logs(rng, logs, count)
            log_probability += values[chosen]
        one[i], other[i] = places[chosen, 0], places[chosen, 1]
        n_one, n_other = max(n_one, one[i] + 1), max(n_other, other[i] + 1)
    return log_probability
