"""Moves that lower J where a pass over the rows does not: single rows, joins, halves; and scattered seeds.

These are the kernels; ``descent.py`` applies them to a clustering. J and the sums of a cluster are those of
``divergences.py``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...core.jit import inner_kernel, kernel
from ...families.verbs import implements
from ...partitions.seeding import Seeds, scatter_seeds, seed_losses
from ...partitions.sums import add_row
from .divergences import Divergence, FloatArray, count_term, from_centre, join_cost, single_sums

# A move of a single row must lower J by more than this share of its price: less is rounding error.
ROUNDING = 1e-10


@kernel
def exchange(divergence, rows, weights, labels, sums, n_clusters, price, order):
    """Move single rows, in the given order, where that lowers J (Hartigan 1975); centres follow at once.

    Unlike a pass over fixed centres this counts what the move does to both means. Unless the number of clusters is
    fixed, the last row of a cluster may close it, and a row may open a new one as long as ``sums`` has a free line.
    Returns the number of lines in use, closed clusters among them, and how many rows moved.
    """
    single = np.zeros(sums.shape[1])
    pair = np.zeros((2, sums.shape[1]))
    scratch = np.zeros((3, sums.shape[1] - 1))
    moved = 0
    for at in range(order.size):
        i = order[at]
        old = labels[i]
        alone = sums[old, sums.shape[1] - 1] < 1.5
        if alone and price.fixed:
            continue
        single_sums(divergence, rows[i], weights[i], single)
        pair[0] = single
        gain = _leaving_gain(divergence, sums, old, alone, price, pair, scratch)
        best, least = _best_place(divergence, sums, n_clusters, old, price, pair, scratch)
        # Of equal places the one where the row is wins.
        worth = gain - ROUNDING * (abs(gain) + price.penalty)
        if not least < worth:
            best, least = old, worth
        if not alone and not price.fixed and n_clusters < sums.shape[0]:
            value = price.penalty + count_term(price, weights[i])
            if value < least:
                best = n_clusters
                n_clusters += 1
                sums[best] = 0.0
        if best != old:
            moved += 1
            labels[i] = best
            add_row(single, 1.0, sums, best)
            add_row(single, -1.0, sums, old)
            if alone:
                sums[old] = 0.0
    return n_clusters, moved


@inner_kernel
def _leaving_gain(divergence, sums, old, alone, price, pair, scratch):
    """By how much J falls when the row with the sums ``pair[0]`` leaves its cluster."""
    n = sums[old, 0]
    if alone:
        return price.penalty + count_term(price, n)
    for s in range(sums.shape[1]):
        pair[1, s] = sums[old, s] - pair[0, s]
    return join_cost(divergence, pair, 0, 1, scratch) + count_term(price, n) - count_term(price, pair[1, 0])


@inner_kernel
def _best_place(divergence, sums, n_clusters, old, price, pair, scratch):
    """The other cluster in which the row with the sums ``pair[0]`` costs least, and its cost there."""
    best, least = old, math.inf
    for k in range(n_clusters):
        m = sums[k, 0]
        if k != old and m > 0.0:
            for s in range(sums.shape[1]):
                pair[1, s] = sums[k, s]
            value = join_cost(divergence, pair, 0, 1, scratch)
            value += count_term(price, m + pair[0, 0]) - count_term(price, m)
            if value < least:
                best, least = k, value
    return best, least


@inner_kernel
def _union_cost(divergence, sums, a, b, price, scratch):
    """Rise of J, without the penalty, when a and b become one."""
    n, m = sums[a, 0], sums[b, 0]
    return (
        join_cost(divergence, sums, a, b, scratch)
        + count_term(price, n + m)
        - count_term(price, n)
        - count_term(price, m)
    )


@inner_kernel
def _best_partner(divergence, sums, alive, k, price, scratch):
    """The cluster that is cheapest to join with ``k``, and the cost."""
    partner, least = -1, math.inf
    for other in range(alive.size):
        if other != k and alive[other]:
            value = _union_cost(divergence, sums, k, other, price, scratch)
            if value < least:
                partner, least = other, value
    return partner, least


@kernel
def agglomerate(divergence, sums, price, limit, target, parent, heights):
    """Join the cheapest pair as long as it costs less than ``limit`` and more than ``target`` clusters are left.

    ``sums`` are changed; ``parent`` maps each cluster to the one that it ends in, ``heights`` receives the cost of
    each join in order. For squared distance this is Ward's method. Returns the number of joins.
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
            value = _union_cost(divergence, sums, k, other, price, scratch)
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
        add_row(sums[b], 1.0, sums, a)
        alive[b] = False
        least[b] = math.inf
        parent[b] = a
        partner[a], least[a] = _best_partner(divergence, sums, alive, a, price, scratch)
        for k in range(n_clusters):
            if alive[k] and k != a:
                if partner[k] == a or partner[k] == b:
                    partner[k], least[k] = _best_partner(divergence, sums, alive, k, price, scratch)
                else:
                    value = _union_cost(divergence, sums, k, a, price, scratch)
                    if value < least[k]:
                        partner[k], least[k] = a, value
    for k in range(n_clusters):
        while parent[parent[k]] != parent[k]:
            parent[k] = parent[parent[k]]
    return joins


class SeedRows(NamedTuple):
    """Rows among which seeds are drawn in proportion to weight times divergence."""

    divergence: Divergence
    rows: FloatArray


@implements(seed_losses, SeedRows)
def _seed_losses(source, i, out):
    centre = np.zeros(source.divergence.n_statistics + source.rows.shape[1] + 1)
    single_sums(source.divergence, source.rows[i], 1.0, centre)
    for other in range(out.size):
        out[other] = max(from_centre(source.divergence, source.rows[other], centre), 0.0)
    # Rounding must not let a seed be drawn twice.
    out[i] = 0.0


@kernel
def bisect(divergence, rng, rows, weights, rounds, side, pair):
    """Divide the rows of a cluster by two means, from scattered seeds: ``side`` of each row, and the sums of both.

    Returns what the halves save, without the penalty; 0 where there are no two halves.
    """
    n = rows.shape[0]
    seeds = Seeds(np.zeros(2, dtype=np.int64), np.full(n, math.inf), np.zeros(n, dtype=np.int64))
    if scatter_seeds(SeedRows(divergence, rows), rng, weights, 1, 0.0, seeds) < 2:
        return 0.0
    width = pair.shape[1]
    means = np.zeros((2, width))
    for half in range(2):
        single_sums(divergence, rows[seeds.rows[half]], 1.0, means[half])
    side[:] = -1
    for _ in range(rounds):
        moved = _take_sides(divergence, rows, weights, means, side, pair)
        if moved == 0 or pair[0, 0] <= 0.0 or pair[1, 0] <= 0.0:
            break
        for half in range(2):
            for s in range(width):
                means[half, s] = pair[half, s] / pair[half, 0]
    if pair[0, width - 1] < 0.5 or pair[1, width - 1] < 0.5:
        return 0.0
    return join_cost(divergence, pair, 0, 1, np.zeros((3, width - 1)))


@inner_kernel
def _take_sides(divergence, rows, weights, means, side, pair):
    """Give each row to the nearer of two centres; ``pair`` receives the sums. Returns how many rows moved."""
    work = np.zeros(pair.shape[1])
    pair[:] = 0.0
    moved = 0
    for i in range(rows.shape[0]):
        nearer = 0
        if from_centre(divergence, rows[i], means[1]) < from_centre(divergence, rows[i], means[0]):
            nearer = 1
        if nearer != side[i]:
            moved += 1
            side[i] = nearer
        single_sums(divergence, rows[i], weights[i], work)
        add_row(work, 1.0, pair, nearer)
    return moved
