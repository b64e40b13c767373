"""Moves that lower J beyond a pass over the rows: single rows, joins, scattered seeds, halves.

J and the sums of a cluster are those of ``small_variance.py``.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.jit import kernel
from ...families import verbs
from .divergences import count_term, describe, join_cost


@kernel
def exchange(hyper, rows, weights, labels, sums, n_clusters, n_statistics, penalty, count_weight, total, fixed, order):
    """Move single rows where that lowers J (Hartigan 1975); centres follow at once.

    Unlike a pass over fixed centres this counts what the move does to both means. A row may open a cluster (one spare
    line of ``sums`` at the end is room for it) and the last row of a cluster closes it, unless the number is
    ``fixed``. Returns the number of clusters, the change of J, and how many rows moved; stops where room ends.
    """
    columns = sums.shape[1] - 1
    row_sums = np.zeros((2, columns + 1))
    scratch = np.zeros((3, columns))
    change, moved, closed = 0.0, 0, 0
    for at in range(order.size):
        i = order[at]
        old, w = labels[i], weights[i]
        n = sums[old, 0]
        alone = sums[old, columns] < 1.5
        if alone and fixed:
            continue
        describe(hyper, rows[i], w, n_statistics, row_sums[0])
        gain = penalty + count_term(count_weight, total, n)
        if not alone:
            for s in range(columns + 1):
                row_sums[1, s] = sums[old, s] - row_sums[0, s]
            gain = (
                join_cost(hyper, row_sums, 0, 1, n_statistics, scratch)
                + count_term(count_weight, total, n)
                - count_term(count_weight, total, row_sums[1, 0])
            )
        best = old
        least = gain - 1e-10 * (abs(gain) + penalty)
        for k in range(n_clusters):
            m = sums[k, 0]
            if k != old and m > 0.0:
                for s in range(columns + 1):
                    row_sums[1, s] = sums[k, s]
                value = join_cost(hyper, row_sums, 0, 1, n_statistics, scratch)
                value += count_term(count_weight, total, m + w) - count_term(count_weight, total, m)
                if value < least:
                    best, least = k, value
        if not alone and not fixed and n_clusters < sums.shape[0]:
            value = penalty + count_term(count_weight, total, w)
            if value < least:
                best, least = n_clusters, value
                n_clusters += 1
                sums[best] = 0.0
        if best != old:
            change += least - gain
            moved += 1
            labels[i] = best
            for s in range(columns + 1):
                sums[best, s] += row_sums[0, s]
                sums[old, s] -= row_sums[0, s]
            if alone:
                sums[old] = 0.0
                closed += 1
    return n_clusters, change, moved, closed


@kernel
def _best_partner(hyper, sums, alive, k, n_statistics, count_weight, total, scratch):
    partner, least = -1, math.inf
    for other in range(alive.size):
        if other != k and alive[other]:
            value = _union(hyper, sums, k, other, n_statistics, count_weight, total, scratch)
            if value < least:
                partner, least = other, value
    return partner, least


@kernel
def _union(hyper, sums, a, b, n_statistics, count_weight, total, scratch):
    """Rise of J, but for the penalty, when a and b become one."""
    n, m = sums[a, 0], sums[b, 0]
    return (
        join_cost(hyper, sums, a, b, n_statistics, scratch)
        + count_term(count_weight, total, n + m)
        - count_term(count_weight, total, n)
        - count_term(count_weight, total, m)
    )


@kernel
def agglomerate(hyper, sums, n_statistics, count_weight, total, limit, target, parent, heights):
    """Join the cheapest pair as long as it costs less than ``limit`` and more than ``target`` clusters are left.

    ``sums`` are changed; ``parent`` maps each cluster to the one that took it in, ``heights`` holds the costs in the
    order of the joins. For squared distance this is Ward's method. Returns the number of joins.
    """
    n_clusters = sums.shape[0]
    scratch = np.zeros((3, sums.shape[1] - 1))
    alive = np.ones(n_clusters, dtype=np.bool_)
    partner = np.full(n_clusters, -1)
    least = np.full(n_clusters, math.inf)
    for k in range(n_clusters):
        parent[k] = k
    for k in range(1, n_clusters):
        for other in range(k):
            value = _union(hyper, sums, k, other, n_statistics, count_weight, total, scratch)
            if value < least[k]:
                partner[k], least[k] = other, value
            if value < least[other]:
                partner[other], least[other] = k, value
    joins = 0
    while n_clusters - joins > target:
        a = int(np.argmin(least))
        if not least[a] < limit:
            break
        b = partner[a]
        heights[joins] = least[a]
        joins += 1
        for s in range(sums.shape[1]):
            sums[a, s] += sums[b, s]
        alive[b] = False
        least[b] = math.inf
        parent[b] = a
        partner[a], least[a] = _best_partner(hyper, sums, alive, a, n_statistics, count_weight, total, scratch)
        for k in range(n_clusters):
            if alive[k] and k != a:
                if partner[k] == a or partner[k] == b:
                    partner[k], least[k] = _best_partner(
                        hyper, sums, alive, k, n_statistics, count_weight, total, scratch
                    )
                else:
                    value = _union(hyper, sums, k, a, n_statistics, count_weight, total, scratch)
                    if value < least[k]:
                        partner[k], least[k] = a, value
    for k in range(n_clusters):
        root = k
        while parent[root] != root:
            root = parent[root]
        parent[k] = root
    return joins


@kernel
def scatter_seeds(hyper, rows, weights, n_statistics, seeds, nearest, rng):
    """Choose rows one by one, each with probability proportional to its divergence from those chosen (k-means++).

    Stops where every row equals a chosen one; returns how many were chosen.
    """
    width = n_statistics + rows.shape[1] + 1
    centre = np.zeros(width)
    for i in range(rows.shape[0]):
        nearest[i] = math.inf
    for number in range(seeds.size):
        chosen = _draw(weights if number == 0 else nearest, rng)
        if chosen < 0:
            return number
        seeds[number] = chosen
        describe(hyper, rows[chosen], 1.0, n_statistics, centre)
        for i in range(rows.shape[0]):
            value = weights[i] * max(verbs.divergence(hyper, rows[i], centre[:n_statistics]), 0.0)
            if value < nearest[i]:
                nearest[i] = value
        nearest[chosen] = 0.0
    return seeds.size


@kernel
def _draw(weights, rng):
    """An index drawn in proportion to weights; -1 where all are zero."""
    total = 0.0
    for i in range(weights.size):
        total += weights[i]
    if not total > 0.0:
        return -1
    at = rng.random() * total
    last = -1
    for i in range(weights.size):
        if weights[i] > 0.0:
            last = i
            at -= weights[i]
            if at < 0.0:
                break
    return last


@kernel
def bisect(hyper, rows, weights, n_statistics, side, pair, steps, rng):
    """Two means of the rows of a cluster, from scattered seeds: ``side`` of each row and the sums of the ``pair``.

    Returns what the halves save, without any penalty; 0 where there are none.
    """
    n = rows.shape[0]
    width = pair.shape[1]
    seeds = np.zeros(2, dtype=np.int64)
    nearest = np.zeros(n)
    if scatter_seeds(hyper, rows, weights, n_statistics, seeds, nearest, rng) < 2:
        return 0.0
    means = np.zeros((2, width))
    work = np.zeros(width)
    for half in range(2):
        describe(hyper, rows[seeds[half]], 1.0, n_statistics, means[half])
    for i in range(n):
        side[i] = -1
    for _ in range(steps):
        moved = 0
        for half in range(2):
            for s in range(width):
                pair[half, s] = 0.0
        for i in range(n):
            nearer = 0
            if verbs.divergence(hyper, rows[i], means[1, :n_statistics]) < verbs.divergence(
                hyper, rows[i], means[0, :n_statistics]
            ):
                nearer = 1
            if nearer != side[i]:
                moved += 1
                side[i] = nearer
            describe(hyper, rows[i], weights[i], n_statistics, work)
            for s in range(width):
                pair[nearer, s] += work[s]
        if moved == 0 or pair[0, 0] <= 0.0 or pair[1, 0] <= 0.0:
            break
        for half in range(2):
            for s in range(width):
                means[half, s] = pair[half, s] / pair[half, 0]
    if pair[0, width - 1] < 0.5 or pair[1, width - 1] < 0.5:
        return 0.0
    return join_cost(hyper, pair, 0, 1, n_statistics, np.zeros((3, width - 1)))
