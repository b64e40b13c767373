"""Where chains and searches begin: partitions from very different places, drawn for any family and prior.

A start is a short name. Chains take them in turn, so that agreement between chains means something.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.jit import kernel
from ..core.special import draw_from_logs
from ..core.validate import as_labels, choose
from ..families import verbs
from .clusters import clear
from .partition import Partition
from .seats import IntArray


def _one(state: Partition, rng: np.random.Generator) -> IntArray:
    return np.zeros(state.n_rows, dtype=np.int64)


def _prior(state: Partition, rng: np.random.Generator) -> IntArray:
    return state.seats.prior.initial().sample(state.n_rows, rng)


def _sequential(state: Partition, rng: np.random.Generator) -> IntArray:
    return sequential(state, rng, greedy=False)


def _greedy(state: Partition, rng: np.random.Generator) -> IntArray:
    return sequential(state, rng, greedy=True)


def _singletons(state: Partition, rng: np.random.Generator) -> IntArray:
    n = state.n_rows
    return np.arange(n, dtype=np.int64) % min(n, state.seats.prior.max_clusters(n))


STARTS: dict[str, Callable[[Partition, np.random.Generator], IntArray]] = {
    "one": _one,
    "prior": _prior,
    "sequential": _sequential,
    "greedy": _greedy,
    "singletons": _singletons,
}

DISPERSED = ("one", "sequential", "prior", "greedy")


def start_labels(kind: Any, number: int, state: Partition, rng: np.random.Generator) -> IntArray:
    """Labels for chain ``number``: one of ``STARTS``, 'dispersed' for each in turn, or labels given by the user.

    The state may be any partition of the rows: it is used as scratch space, and left in one of its clusterings.
    """
    if not isinstance(kind, str):
        labels = as_labels(kind, "start", state.n_rows)
        most = state.seats.prior.max_clusters(state.n_rows)
        if labels.max() >= most:
            raise ValueError(f"start has {labels.max() + 1} clusters, but the prior allows at most {most}")
        return labels
    if kind == "dispersed":
        kind = DISPERSED[number % len(DISPERSED)]
    return choose("start", kind, {**STARTS, "dispersed": _one}, "an array of labels")(state, rng)


def sequential(state: Partition, rng: np.random.Generator, greedy: bool) -> IntArray:
    """Put the rows, in random order, where their conditional given the earlier ones sends them."""
    order = rng.permutation(state.n_rows)
    state.compact()
    state.n_clusters = 0
    state.seats.arrays.sizes[:] = 0
    at = 0
    while at < len(order):
        state.reserve(1)
        at, state.n_clusters = _allocate(
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
    return state.partition()


@kernel
def _allocate(family, rng, rows, log_new, seats, clusters, n_clusters, order, first, greedy):
    """Allocate ``order[first:]``; stops where a new cluster has no room. Returns the next place, the count."""
    labels, sizes, _, log_weights, offset, log_v = seats
    statistics, cache, work = clusters.statistics, clusters.cache, clusters.work
    for at in range(first, order.size):
        if n_clusters == sizes.size:
            return at, n_clusters
        i = order[at]
        row = rows[i]
        for k in range(n_clusters):
            log_weights[k] = math.log(sizes[k] + offset) + verbs.log_predictive(family, statistics, cache, k, row, work)
        log_weights[n_clusters] = log_v[n_clusters + 1] - log_v[n_clusters] + log_new[i]
        chosen = -1 if greedy else draw_from_logs(rng, log_weights, n_clusters + 1)
        if greedy:
            chosen = np.argmax(log_weights[: n_clusters + 1])
        if chosen == n_clusters:
            clear(family, clusters, chosen)
            n_clusters += 1
        if verbs.has_missing(family, row):
            verbs.draw_missing(family, statistics, cache, chosen, row, rng, work)
        verbs.add(family, statistics, cache, chosen, row, work)
        sizes[chosen] += 1
        labels[i] = chosen
    return order.size, n_clusters
