"""Sweeps over the rows given parameters of the clusters: labels | parameters, with parameters for new clusters.

Row i joins cluster k, of parameters theta_k, with probability proportional to (n_k + offset) f(x_i | theta_k), and a
new one with V(t + 1) / V(t) p(x_i), p the prior predictive; the parameters of a new cluster are drawn from the
posterior given x_i alone (Pletscher 2007, algs. 3.1 and 3.2; Neal 2000, algorithm 2). The weight of a new cluster is
the integrated predictive, so a row that was alone and stays alone gets new parameters too.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import kernel
from ..core.special import draw_from_logs
from ..families import verbs
from ..models.mixture.state import Problem, State
from .sweep import clear, refresh_clusters, retire


class ParameterSweep:
    """Parameters given labels, then one pass over all rows given parameters.

    The first half makes it right after any move that leaves the law of the partition alone, whatever parameters were
    there before.
    """

    name = "parameters"

    def step(self, rng: np.random.Generator, state: State, problem: Problem) -> None:
        """Update ``state`` in place."""
        slots = state.chain.active[: state.n_clusters].copy()
        _draw_parameters(problem.hyper, rng, state.chain, slots)
        sweep_labels(rng, state, problem)


class SingleSiteSweep:
    """One pass over all rows given parameters, which clusters keep as long as they live.

    Clusters that have no parameters yet, at the start of a chain, draw them from their posterior.
    """

    name = "single-site"

    def step(self, rng: np.random.Generator, state: State, problem: Problem) -> None:
        """Update ``state`` in place."""
        slots = state.chain.active[: state.n_clusters]
        missing = slots[np.isnan(state.chain.parameters[slots, 0])]
        if len(missing):
            _draw_parameters(problem.hyper, rng, state.chain, missing)
        sweep_labels(rng, state, problem)


def sweep_labels(rng: np.random.Generator, state: State, problem: Problem) -> None:
    """Put every row, in order, where its conditional given the parameters of all clusters sends it."""
    if state.chain.active[: state.n_clusters].max() >= 8 + 1.25 * state.n_clusters:
        state.compact()
    at = 0
    while at < problem.n_rows:
        state.reserve(problem, 1)
        at, state.n_clusters = _sweep(
            problem.hyper, rng, problem.rows, problem.log_new, state.table, state.chain, state.n_clusters, at
        )
    refresh_clusters(problem.hyper, state.chain, state.n_clusters)


@kernel
def _draw_parameters(family, rng, chain, slots):
    for position in range(slots.size):
        verbs.draw_parameters(family, chain.statistics, chain.cache, slots[position], rng, chain.parameters)


@kernel
def _sweep(family, rng, rows, log_new, table, chain, n_clusters, first):
    """Sweep ``rows[first:]``; stops early, before a row, where a new cluster has no room.

    Statistics are kept current, caches are not. Returns the row that comes next and the number of clusters.
    """
    offset, log_v = table.offset, table.log_v
    labels, sizes, active, log_weights = chain.labels, chain.sizes, chain.active, chain.log_weights
    statistics, work, parameters = chain.statistics, chain.work, chain.parameters
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
        _open(family, rng, chain, k, row)
        log_sizes[k] = math.log(1.0 + offset)
        _publish(family, parameters, k, natural, naturals)
        labels[i] = k
    return rows.shape[0], n_clusters


@kernel
def _open(family, rng, chain, k, row):
    """Make slot ``k`` the cluster of ``row`` alone, with parameters from the posterior given this row."""
    clear(family, chain.statistics, chain.cache, k, chain.work)
    verbs.add(family, chain.statistics, chain.cache, k, row, chain.work)
    chain.sizes[k] = 1
    verbs.draw_parameters(family, chain.statistics, chain.cache, k, rng, chain.parameters)


@kernel
def _publish(family, parameters, k, natural, naturals):
    verbs.natural(family, parameters, k, natural)
    for s in range(natural.size):
        naturals[s, k] = natural[s]
