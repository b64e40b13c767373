"""The collapsed Gibbs sweep: every row is taken out and put back where the posterior sends it.

Pletscher 2007, alg. 3.3; Raykov et al. 2016, section 2. Row i joins cluster k with probability proportional
to (n_k + offset) p(x_i | rows of k), and a new one with V(t + 1) / V(t) p(x_i). A row that stays where it
was is never removed: its own cluster is asked for the predictive of the other members instead. Where the family
draws missing cells, a row is placed by the cells that it shows, and the others are drawn in its new cluster.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import inner_kernel, kernel
from ..core.special import draw_from_logs
from ..families import verbs
from .clusters import clear
from .partition import Partition
from .seats import IntArray, retire

# Gains below this are rounding: a greedy sweep would let two equal states chase each other.
MARGIN = 1e-9


def sweep_rows(rng: np.random.Generator, state: Partition, order: IntArray, greedy: bool) -> int:
    """Put the rows, in the given order, where their conditional sends them, or (greedy) where it is largest.

    Returns how many rows moved.
    """
    state.compact_if_sparse()
    at, moved = 0, 0
    while at < len(order):
        state.reserve(1)
        at, state.n_clusters, count = _sweep(
            state.hyper,
            rng,
            state.rows,
            state.log_new,
            state.seats.arrays,
            state.clusters.arrays,
            state.n_clusters,
            order,
            at,
            greedy,
        )
        moved += count
    return moved


@kernel
def _sweep(family, rng, rows, log_new, seats, clusters, n_clusters, order, first, greedy):
    """Sweep ``order[first:]``; stops early, before a row, where a new cluster has no room.

    Returns the place that comes next, the number of clusters and how many rows moved.
    """
    labels, sizes, active, log_weights, offset, log_v = seats
    statistics, cache, work, board, _ = clusters
    log_sizes = np.full(sizes.size, -math.inf)
    log_others = np.full(sizes.size, -math.inf)
    n_slots = 0
    moved = 0
    for position in range(n_clusters):
        k = active[position]
        _weigh(sizes, offset, log_sizes, log_others, k)
        n_slots = max(n_slots, k + 1)
        verbs.publish(family, statistics, cache, board, k)
    for at in range(first, order.size):
        if n_clusters == sizes.size:
            return at, n_clusters, moved
        i = order[at]
        row = rows[i]
        own = labels[i]
        alone = sizes[own] == 1
        for k in range(n_slots):
            log_weights[k] = log_sizes[k]
        log_weights[own] = -math.inf
        others = n_clusters - 1 if alone else n_clusters
        log_new_cluster = log_v[others + 1] - log_v[others] + log_new[i]
        log_stay = -math.inf
        if not alone:
            log_stay = log_others[own] + verbs.log_predictive_without(family, statistics, cache, own, row, work)
        reference = max(log_stay, log_new_cluster)
        verbs.add_log_predictives(family, statistics, cache, board, n_slots, row, work, reference, log_weights)
        log_weights[own] = log_stay
        log_weights[n_slots] = log_new_cluster
        if greedy:
            chosen = np.argmax(log_weights[: n_slots + 1])
            if not log_weights[chosen] > (log_new_cluster if alone else log_stay) + MARGIN:
                continue
        else:
            chosen = draw_from_logs(rng, log_weights, n_slots + 1)
        if chosen == own or (alone and chosen == n_slots):
            if verbs.has_missing(family, row):
                redraw_missing(family, rng, clusters, own, row)
            continue
        moved += 1
        sizes[own] -= 1
        verbs.remove(family, statistics, cache, own, row, work)
        if alone:
            log_sizes[own] = -math.inf
            retire(active, n_clusters, own)
            n_clusters -= 1
        else:
            _weigh(sizes, offset, log_sizes, log_others, own)
            verbs.publish(family, statistics, cache, board, own)
        k = chosen
        if chosen == n_slots:
            k = active[n_clusters]
            n_clusters += 1
            n_slots = max(n_slots, k + 1)
            clear(family, clusters, k)
        sizes[k] += 1
        _weigh(sizes, offset, log_sizes, log_others, k)
        if verbs.has_missing(family, row):
            verbs.draw_missing(family, statistics, cache, k, row, rng, work)
        verbs.add(family, statistics, cache, k, row, work)
        verbs.publish(family, statistics, cache, board, k)
        labels[i] = k
    return order.size, n_clusters, moved


@inner_kernel
def _weigh(sizes, offset, log_sizes, log_others, k):
    """Write down the log weight of cluster ``k`` for a row from elsewhere, and for one of its own; rows seldom move."""
    log_sizes[k] = math.log(sizes[k] + offset)
    if sizes[k] > 1:
        log_others[k] = math.log(sizes[k] - 1 + offset)


@inner_kernel
def redraw_missing(family, rng, clusters, k, row):
    """Draw the missing cells of a row again, in the cluster where it stays."""
    statistics, cache, work = clusters.statistics, clusters.cache, clusters.work
    verbs.remove(family, statistics, cache, k, row, work)
    if statistics[k, 0] < 0.5:
        clear(family, clusters, k)
    verbs.draw_missing(family, statistics, cache, k, row, rng, work)
    verbs.add(family, statistics, cache, k, row, work)
    verbs.publish(family, statistics, cache, clusters.board, k)
