"""Sweeps over the rows given parameters of the clusters: labels | parameters, with parameters for new clusters.

Row i joins cluster k, of parameters theta_k, with probability proportional to (n_k + offset) f(x_i | theta_k), and a
new one with V(t + 1) / V(t) p(x_i), p the prior predictive; the parameters of a new cluster are drawn from the
posterior given x_i alone (Pletscher 2007, algs. 3.1 and 3.2; Neal 2000, algorithm 2). The weight of a new cluster is
the integrated predictive, so a row that was alone and stays alone gets new parameters too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.jit import inner_kernel, kernel
from ..core.special import draw_from_logs
from ..families import verbs
from ..families.base import Cluster
from .clusters import clear, refresh_slots
from .partition import Partition
from .seats import FloatArray, IntArray, retire

# Draws of parameters for which compiling pays.
MANY_DRAWS = 200


def draw_parameters(rng: np.random.Generator, state: Partition, slots: IntArray) -> None:
    """Draw the parameters of some slots from their posterior."""
    _draw_parameters(state.hyper, rng, state.clusters.arrays, np.ascontiguousarray(slots))


def parameters_of_rows(
    hyper: Any, clusters: Cluster, k: int, n: int, width: int, rng: np.random.Generator
) -> FloatArray:
    """``n`` draws of the parameters of slot ``k``, for rows that have parameters of their own."""
    drawn, spare = np.empty((n, width)), np.zeros((len(clusters.statistics), width))
    draw = _draw_repeatedly if n >= MANY_DRAWS else getattr(_draw_repeatedly, "py_func", _draw_repeatedly)
    draw(hyper, rng, clusters.statistics, clusters.cache, k, spare, drawn)
    return drawn


def sweep_labels(rng: np.random.Generator, state: Partition) -> None:
    """Put every row, in order, where its conditional given the parameters of all clusters sends it."""
    state.compact_if_sparse()
    at = 0
    while at < state.n_rows:
        state.reserve(1)
        at, state.n_clusters = _sweep(
            state.hyper,
            rng,
            state.rows,
            state.log_new,
            state.seats.arrays,
            state.clusters.arrays,
            state.n_clusters,
            at,
        )
    refresh_slots(state.hyper, state.clusters.arrays, state.seats.in_use)


@kernel
def _draw_repeatedly(family, rng, statistics, cache, k, spare, drawn):
    for i in range(drawn.shape[0]):
        verbs.draw_parameters(family, statistics, cache, k, rng, spare)
        for j in range(drawn.shape[1]):
            drawn[i, j] = spare[k, j]


@kernel
def _draw_parameters(family, rng, clusters, slots):
    for position in range(slots.size):
        k = slots[position]
        verbs.draw_parameters(family, clusters.statistics, clusters.cache, k, rng, clusters.parameters)


@kernel
def _sweep(family, rng, rows, log_new, seats, clusters, n_clusters, first):
    """Sweep ``rows[first:]``; stops early, before a row, where a new cluster has no room.

    Statistics are kept current, caches are not. Returns the row that comes next and the number of clusters.
    """
    labels, sizes, active, log_weights, offset, log_v = seats
    statistics, work, parameters = clusters.statistics, clusters.work, clusters.parameters
    width = statistics.shape[1]
    # Natural parameters, entry by cluster: one row is scored against all clusters in one stride.
    naturals = np.zeros((width, sizes.size))
    natural = np.zeros(width)
    log_sizes = np.full(sizes.size, -math.inf)
    n_slots = 0
    for position in range(n_clusters):
        k = active[position]
        log_sizes[k] = math.log(sizes[k] + offset)
        n_slots = max(n_slots, k + 1)
        _publish(family, parameters, k, natural, naturals)
    for i in range(first, rows.shape[0]):
        if n_clusters == sizes.size:
            return i, n_clusters
        row = rows[i]
        own = labels[i]
        alone = sizes[own] == 1
        others = n_clusters - 1 if alone else n_clusters
        for k in range(n_slots):
            log_weights[k] = log_sizes[k]
        log_weights[own] = -math.inf if alone else math.log(sizes[own] - 1 + offset)
        verbs.row_statistics(family, row, work)
        for s in range(width):
            value = work[s]
            if value != 0.0:
                for k in range(n_slots):
                    log_weights[k] += value * naturals[s, k]
        log_weights[n_slots] = log_v[others + 1] - log_v[others] + log_new[i]
        chosen = draw_from_logs(rng, log_weights, n_slots + 1)
        if chosen == own:
            continue
        if chosen < n_slots or not alone:
            sizes[own] -= 1
            for s in range(width):
                statistics[own, s] -= work[s]
            if alone:
                log_sizes[own] = -math.inf
                retire(active, n_clusters, own)
                n_clusters -= 1
            else:
                log_sizes[own] = math.log(sizes[own] + offset)
        if chosen < n_slots:
            for s in range(width):
                statistics[chosen, s] += work[s]
            sizes[chosen] += 1
            log_sizes[chosen] = math.log(sizes[chosen] + offset)
            labels[i] = chosen
            continue
        k = own
        if not alone:
            k = active[n_clusters]
            n_clusters += 1
            n_slots = max(n_slots, k + 1)
        _open(family, rng, seats, clusters, k, row)
        log_sizes[k] = math.log(1.0 + offset)
        _publish(family, parameters, k, natural, naturals)
        labels[i] = k
    return rows.shape[0], n_clusters


@inner_kernel
def _open(family, rng, seats, clusters, k, row):
    """Make slot ``k`` the cluster of ``row`` alone, with parameters from the posterior given this row."""
    clear(family, clusters, k)
    verbs.add(family, clusters.statistics, clusters.cache, k, row, clusters.work)
    seats.sizes[k] = 1
    verbs.draw_parameters(family, clusters.statistics, clusters.cache, k, rng, clusters.parameters)


@inner_kernel
def _publish(family, parameters, k, natural, naturals):
    verbs.natural(family, parameters, k, natural)
    for s in range(natural.size):
        naturals[s, k] = natural[s]
