"""Iterated conditional modes and its improvement steps: each raises the log joint or leaves the state alone.

``climb`` puts every row where its conditional is largest (Raykov et al. 2016, alg. 1, with the exact log joint
as objective). It stops where no single row can improve; ``join`` and ``divide`` then try pairs of clusters and
halves of clusters, which single rows cannot reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..core.jit import inner_kernel, kernel
from ..families import verbs
from .partition import Partition
from .proposals.halves import collect, join_cluster, keep_split, log_cluster, log_odds, log_split_ratio, seed_cluster
from .seats import retire
from .sweep import MARGIN, sweep_rows

# All pairs of more clusters than this would take too long; climbing brings their number down first.
MOST_MERGED = 1000


def climb(rng: np.random.Generator, state: Partition, max_sweeps: int, tick: Callable[[], bool] | None = None) -> None:
    """Sweep over the rows, in random order, until none moves, or until ``tick``, asked before each sweep, says so."""
    order = rng.permutation(state.n_rows)
    for _ in range(max_sweeps):
        if (tick is not None and tick()) or sweep_rows(rng, state, order, greedy=True) == 0:
            break


def join(state: Partition) -> None:
    """Merge the pair of clusters that gains most, again and again."""
    if 1 < state.n_clusters <= MOST_MERGED:
        state.n_clusters = _join(state.hyper, state.seats.arrays, state.clusters.arrays, state.n_clusters)


@kernel
def _join(family, seats, clusters, n_clusters):
    """Greedy merging. Only pairs with the merged cluster are looked at again after a merge."""
    active, sizes, statistics, log_v = seats.active, seats.sizes, clusters.statistics, seats.log_v
    gains = np.full((sizes.size, sizes.size), -math.inf)  # by slot
    for p in range(n_clusters):
        for q in range(p):
            gains[active[p], active[q]] = _merge_gain(family, seats, clusters, n_clusters, active[p], active[q])
    while n_clusters > 1:
        best, keep, gone = -math.inf, -1, -1
        for p in range(n_clusters):
            for q in range(n_clusters):
                if gains[active[p], active[q]] > best:
                    best, keep, gone = gains[active[p], active[q]], active[p], active[q]
        # The factor of the number of clusters is the same for all pairs, but changes as they merge.
        if not best + log_v[n_clusters - 1] - log_v[n_clusters] > MARGIN:
            break
        for s in range(statistics.shape[1]):
            statistics[keep, s] += statistics[gone, s]
        verbs.refresh(family, statistics, clusters.cache, keep, clusters.work)
        sizes[keep] += sizes[gone]
        sizes[gone] = 0
        for i in range(seats.labels.size):
            if seats.labels[i] == gone:
                seats.labels[i] = keep
        retire(active, n_clusters, gone)
        n_clusters -= 1
        for k in range(sizes.size):
            gains[gone, k] = gains[k, gone] = gains[keep, k] = gains[k, keep] = -math.inf
        for p in range(n_clusters):
            if active[p] != keep:
                gains[keep, active[p]] = _merge_gain(family, seats, clusters, n_clusters, keep, active[p])
    return n_clusters


@inner_kernel
def _merge_gain(family, seats, clusters, n_clusters, a, b):
    """Gain in log joint from merging clusters ``a`` and ``b``, but for the factor of the number of clusters."""
    joined = seats.active[n_clusters]
    statistics, sizes, offset = clusters.statistics, seats.sizes, seats.offset
    for s in range(statistics.shape[1]):
        statistics[joined, s] = statistics[a, s] + statistics[b, s]
    verbs.refresh(family, statistics, clusters.cache, joined, clusters.work)
    return (
        log_cluster(family, clusters, joined, sizes[a] + sizes[b], offset)
        - log_cluster(family, clusters, a, sizes[a], offset)
        - log_cluster(family, clusters, b, sizes[b], offset)
    )


def divide(rng: np.random.Generator, state: Partition, tries: int) -> None:
    """Try to split every cluster, ``tries`` times each."""
    state.reserve(state.n_clusters)
    members = np.empty(state.n_rows, dtype=np.int64)
    state.n_clusters = _divide(
        state.hyper, rng, state.rows, state.seats.arrays, state.clusters.arrays, state.n_clusters, members, tries
    )


@kernel
def _divide(family, rng, rows, seats, clusters, n_clusters, members, tries):
    active, sizes = seats.active, seats.sizes
    for position in range(n_clusters):
        for attempt in range(tries):
            own = active[position]
            if sizes[own] < 2 or not seats.log_v[n_clusters + 1] > -math.inf:
                break
            n_members = collect(seats.labels, members, own, own)
            halves = _halve(family, rng, rows, seats, clusters, n_clusters, members[:n_members], attempt % 2 == 1)
            if halves:
                n_clusters += 1
                break
    return n_clusters


@inner_kernel
def _halve(family, rng, rows, seats, clusters, n_clusters, members, far_apart):
    """Split a cluster from two seeds by conditional modes; kept, and True, if the log joint gains."""
    active, sizes, labels = seats.active, seats.sizes, seats.labels
    own = labels[members[0]]
    a, b = active[n_clusters], active[n_clusters + 1]
    i = members[int(rng.random() * members.size)]
    j = i
    while j == i:
        j = members[int(rng.random() * members.size)]
    if far_apart:
        # The member that the first seed explains worst, then the one that this explains worst.
        seed_cluster(family, rows, seats, clusters, a, i)
        j = _worst(family, rows, clusters, members, a, i)
        seed_cluster(family, rows, seats, clusters, a, j)
        i = _worst(family, rows, clusters, members, a, j)
    seed_cluster(family, rows, seats, clusters, a, i)
    seed_cluster(family, rows, seats, clusters, b, j)
    in_a = np.empty(members.size, dtype=np.bool_)
    for m in range(members.size):
        row = rows[members[m]]
        if members[m] == i or members[m] == j:
            in_a[m] = members[m] == i
        else:
            in_a[m] = log_odds(family, row, seats, clusters, a, b) > 0.0
            join_cluster(family, row, seats, clusters, a if in_a[m] else b)
    for _ in range(5):
        if not _settle(family, rows, seats, clusters, members, in_a, a, b):
            break
    gain = log_split_ratio(family, seats, clusters, n_clusters, own, a, b)
    if not gain > MARGIN:
        sizes[a] = 0
        sizes[b] = 0
        return False
    keep_split(seats, n_clusters, own, a, b, members, in_a)
    return True


@inner_kernel
def _worst(family, rows, clusters, members, k, but):
    statistics, cache, work = clusters.statistics, clusters.cache, clusters.work
    lowest, worst = math.inf, -1
    for m in range(members.size):
        if members[m] != but:
            score = verbs.log_predictive(family, statistics, cache, k, rows[members[m]], work)
            if score < lowest or worst == -1:
                lowest, worst = score, members[m]
    return worst


@inner_kernel
def _settle(family, rows, seats, clusters, members, in_a, a, b):
    """One pass of conditional modes between the two halves; returns whether any row changed sides."""
    statistics, cache, work = clusters.statistics, clusters.cache, clusters.work
    sizes, offset = seats.sizes, seats.offset
    changed = False
    for m in range(members.size):
        here, there = (a, b) if in_a[m] else (b, a)
        if sizes[here] == 1:
            continue
        row = rows[members[m]]
        gain = (
            math.log((sizes[there] + offset) / (sizes[here] - 1 + offset))
            + verbs.log_predictive(family, statistics, cache, there, row, work)
            - verbs.log_predictive_without(family, statistics, cache, here, row, work)
        )
        if gain > MARGIN:
            verbs.remove(family, statistics, cache, here, row, work)
            verbs.add(family, statistics, cache, there, row, work)
            sizes[here] -= 1
            sizes[there] += 1
            in_a[m] = not in_a[m]
            changed = True
    return changed
