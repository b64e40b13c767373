"""The collapsed Gibbs sweep: every row is taken out and put back where the posterior sends it.

Pletscher 2007, alg. 3.3; Raykov et al. 2016, section 2. Row i joins cluster k with probability proportional
to (n_k + offset) p(x_i | rows of k), and a new one with V(t + 1) / V(t) p(x_i). A row that stays where it
was is never removed: its own cluster is asked for the predictive of the other members instead. Where the family
draws missing cells, a row is placed by the cells that it shows, and the others are drawn in its new cluster.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import kernel
from ..core.special import draw_from_logs
from ..families import verbs
from ..models.mixture.state import IntArray, Problem, State

# Gains below this are rounding: a greedy sweep would let two equal states chase each other.
MARGIN = 1e-9


class GibbsSweep:
    """One pass over all rows, in order."""

    name = "sweep"

    def step(self, rng: np.random.Generator, state: State, problem: Problem) -> None:
        """Update ``state`` in place."""
        sweep_rows(rng, state, problem, np.arange(problem.n_rows), greedy=False)


def sweep_rows(rng: np.random.Generator, state: State, problem: Problem, order: IntArray, greedy: bool) -> int:
    """Put the rows, in the given order, where their conditional sends them, or (greedy) where it is largest.

    Returns how many rows moved.
    """
    if state.chain.active[: state.n_clusters].max() >= 8 + 1.25 * state.n_clusters:
        state.compact()
    at, moved = 0, 0
    while at < len(order):
        state.reserve(problem, 1)
        at, state.n_clusters, count = _sweep(
            problem.hyper,
            rng,
            problem.rows,
            problem.log_new,
            state.table,
            state.chain,
            state.n_clusters,
            order,
            at,
            greedy,
        )
        moved += count
    return moved


@kernel
def _sweep(family, rng, rows, log_new, table, chain, n_clusters, order, first, greedy):
    """Sweep ``order[first:]``; stops early, before a row, where a new cluster has no room.

    Returns the place that comes next, the number of clusters and how many rows moved.
    """
    offset, log_v = table.offset, table.log_v
    labels, sizes, active, log_weights = chain.labels, chain.sizes, chain.active, chain.log_weights
    statistics, cache, work, board = chain.statistics, chain.cache, chain.work, chain.board
    log_sizes = np.full(sizes.size, -math.inf)
    n_slots = 0
    moved = 0
    for position in range(n_clusters):
        k = active[position]
        log_sizes[k] = math.log(sizes[k] + offset)
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
            log_stay = math.log(sizes[own] - 1 + offset) + verbs.log_predictive_without(
                family, statistics, cache, own, row, work
            )
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
                redraw_missing(family, rng, statistics, cache, board, own, row, work)
            continue
        moved += 1
        sizes[own] -= 1
        verbs.remove(family, statistics, cache, own, row, work)
        if alone:
            log_sizes[own] = -math.inf
            retire(active, n_clusters, own)
            n_clusters -= 1
        else:
            log_sizes[own] = math.log(sizes[own] + offset)
            verbs.publish(family, statistics, cache, board, own)
        k = chosen
        if chosen == n_slots:
            k = active[n_clusters]
            n_clusters += 1
            n_slots = max(n_slots, k + 1)
            clear(family, statistics, cache, k, work)
        sizes[k] += 1
        log_sizes[k] = math.log(sizes[k] + offset)
        if verbs.has_missing(family, row):
            verbs.draw_missing(family, statistics, cache, k, row, rng, work)
        verbs.add(family, statistics, cache, k, row, work)
        verbs.publish(family, statistics, cache, board, k)
        labels[i] = k
    return order.size, n_clusters, moved


@kernel
def redraw_missing(family, rng, statistics, cache, board, k, row, work):
    """Draw the missing cells of a row anew in the cluster where it stays."""
    verbs.remove(family, statistics, cache, k, row, work)
    if statistics[k, 0] < 0.5:
        clear(family, statistics, cache, k, work)
    verbs.draw_missing(family, statistics, cache, k, row, rng, work)
    verbs.add(family, statistics, cache, k, row, work)
    verbs.publish(family, statistics, cache, board, k)


@kernel
def retire(active, n_clusters, k):
    """Free slot ``k``: the last slot in use takes its place in the list."""
    for position in range(n_clusters):
        if active[position] == k:
            active[position] = active[n_clusters - 1]
            active[n_clusters - 1] = k
            return


@kernel
def clear(family, statistics, cache, k, work):
    """Make slot ``k`` an empty cluster, free of what rounding left behind."""
    for s in range(statistics.shape[1]):
        statistics[k, s] = 0.0
    verbs.refresh(family, statistics, cache, k, work)


@kernel
def refresh_clusters(family, chain, n_clusters):
    """Bring the caches of all clusters up to date with their statistics."""
    for position in range(n_clusters):
        verbs.refresh(family, chain.statistics, chain.cache, chain.active[position], chain.work)
