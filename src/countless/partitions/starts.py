"""Where chains and restarts begin: partitions from very different places, drawn for any family and prior.

A start is a short name. Chains take them in turn, so that agreement between chains means something.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..core.jit import kernel
from ..core.special import draw_from_logs
from ..core.validate import as_labels, choose
from ..families import verbs
from ..models.mixture.state import IntArray, Problem, State


def _one(problem: Problem, rng: np.random.Generator) -> IntArray:
    return np.zeros(problem.n_rows, dtype=np.int64)


def _prior(problem: Problem, rng: np.random.Generator) -> IntArray:
    return problem.prior.initial().sample(problem.n_rows, rng)


def _sequential(problem: Problem, rng: np.random.Generator) -> IntArray:
    return sequential(problem, rng, greedy=False)


def _greedy(problem: Problem, rng: np.random.Generator) -> IntArray:
    return sequential(problem, rng, greedy=True)


def _singletons(problem: Problem, rng: np.random.Generator) -> IntArray:
    n = problem.n_rows
    return np.arange(n, dtype=np.int64) % min(n, problem.prior.max_clusters(n))


STARTS: dict[str, Callable[[Problem, np.random.Generator], IntArray]] = {
    "one": _one,
    "prior": _prior,
    "sequential": _sequential,
    "greedy": _greedy,
    "singletons": _singletons,
}

DISPERSED = ("one", "sequential", "prior", "greedy")


def start_labels(kind: str | IntArray, number: int, problem: Problem, rng: np.random.Generator) -> IntArray:
    """Labels for chain ``number``: one of ``STARTS``, 'dispersed' for each in turn, or labels given by the user."""
    if not isinstance(kind, str):
        labels = as_labels(kind, "start", problem.n_rows)
        most = problem.prior.max_clusters(problem.n_rows)
        if labels.max() >= most:
            raise ValueError(f"start has {labels.max() + 1} clusters, but the prior allows at most {most}")
        return labels
    if kind == "dispersed":
        kind = DISPERSED[number % len(DISPERSED)]
    return choose("start", kind, {**STARTS, "dispersed": _one}, "an array of labels")(problem, rng)


def sequential(problem: Problem, rng: np.random.Generator, greedy: bool) -> IntArray:
    """Put the rows, in random order, where their conditional given the earlier ones sends them."""
    order = rng.permutation(problem.n_rows)
    state = State(problem, np.zeros(problem.n_rows, dtype=np.int64), problem.prior.initial().concentration)  # type: ignore[arg-type]
    state.n_clusters = 0
    state.chain.sizes[:] = 0
    at = 0
    while at < len(order):
        state.reserve(problem, 1)
        at, state.n_clusters = _allocate(
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
    return state.partition()


@kernel
def _allocate(family, rng, rows, log_new, table, chain, n_clusters, order, first, greedy):
    """Allocate ``order[first:]``; stops where a new cluster has no room. Returns the next place, the count."""
    sizes, log_weights, statistics, cache = chain.sizes, chain.log_weights, chain.statistics, chain.cache
    for at in range(first, order.size):
        if n_clusters == sizes.size:
            return at, n_clusters
        i = order[at]
        row = rows[i]
        for k in range(n_clusters):
            log_weights[k] = math.log(sizes[k] + table.offset) + verbs.log_predictive(
                family, statistics, cache, k, row, chain.work
            )
        log_weights[n_clusters] = table.log_v[n_clusters + 1] - table.log_v[n_clusters] + log_new[i]
        chosen = -1 if greedy else draw_from_logs(rng, log_weights, n_clusters + 1)
        if greedy:
            chosen = np.argmax(log_weights[: n_clusters + 1])
        if chosen == n_clusters:
            for s in range(statistics.shape[1]):
                statistics[chosen, s] = 0.0
            verbs.refresh(family, statistics, cache, chosen, chain.work)
            n_clusters += 1
        if verbs.has_missing(family, row):
            verbs.draw_missing(family, statistics, cache, chosen, row, rng, chain.work)
        verbs.add(family, statistics, cache, chosen, row, chain.work)
        sizes[chosen] += 1
        chain.labels[i] = chosen
    return order.size, n_clusters
