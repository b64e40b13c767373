"""Carve and absorb: proposals that make a new cluster of a few rows, or give a whole cluster to another one.

A split into halves (``split_merge``) hardly ever finds the small cluster at the edge of a large one, because two rows
that are drawn at random seed halves of like size. Here a row i, any row, leaves its cluster, and every other member may
follow it, one after the other in random order, each with its Gibbs probability given where the others are now; those
that have not been asked are still in the old cluster. This is one restricted Gibbs scan (Jain and Neal 2004) from the
state where i is alone; q is the product of its probabilities. The reverse takes a cluster, each with the same chance
whatever its size, one of its rows i, and another cluster that predicts i well, and joins the two. With t clusters
before, n rows in all and a rows in the new cluster,

    carve:  p(carved) / p(before) * (1 / (t + 1) * 1 / a * P(partner | i)) / (1 / n * q)

The last row of the old cluster stays, so that there are always two. More scans before the one that counts, as Jain and
Neal have them, are accepted more often, but not by as much as they cost.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.jit import inner_kernel
from ...core.special import shuffle
from ...families import verbs
from .halves import (
    add_up,
    choose_partner,
    collect,
    keep_merge,
    keep_split,
    log_logistic,
    log_split_ratio,
    partner_chance,
    seed_cluster,
    take_out,
)


@inner_kernel
def carve_or_absorb(family, rng, rows, seats, clusters, n_clusters, members):
    """One proposal; returns the change in the number of clusters."""
    labels = seats.labels
    if rng.random() < 0.5:
        i = int(rng.random() * rows.shape[0])
        if seats.sizes[labels[i]] == 1 or not seats.log_v[n_clusters + 1] > -math.inf:
            return 0
        n_members = collect(labels, members, labels[i], labels[i])
        take_out(members, n_members, i)
        return _carve(family, rng, rows, seats, clusters, n_clusters, members[: n_members - 1], i)
    if n_clusters == 1:
        return 0
    own = seats.active[int(rng.random() * n_clusters)]
    n_members = collect(labels, members, own, own)
    i = members[int(rng.random() * n_members)]
    partner = choose_partner(family, rng, rows[i], seats, clusters, n_clusters, own)
    n_members = collect(labels, members, own, partner)
    take_out(members, n_members, i)
    return -_absorb(family, rng, rows, seats, clusters, n_clusters, members[: n_members - 1], i, partner)


@inner_kernel
def _carve(family, rng, rows, seats, clusters, n_clusters, members, i):
    """Propose to take ``i``, and members that follow it, out of their cluster; returns 1 if accepted, else 0."""
    labels, sizes, statistics = seats.labels, seats.sizes, clusters.statistics
    own = labels[i]
    a, b = seats.active[n_clusters], seats.active[n_clusters + 1]
    for s in range(statistics.shape[1]):
        statistics[b, s] = statistics[own, s]
    verbs.refresh(family, statistics, clusters.cache, b, clusters.work)
    sizes[b] = sizes[own]
    _take_away(family, rows, seats, clusters, i, a, b)
    shuffle(rng, members, members.size)
    in_a = np.zeros(members.size, dtype=np.bool_)
    log_q = _scan(family, rng, rows, seats, clusters, members, in_a, in_a, False, (a, b), -math.inf)
    log_ratio = (
        log_split_ratio(family, seats, clusters, n_clusters, own, a, b)
        - log_q
        + math.log(rows.shape[0] / ((n_clusters + 1.0) * sizes[a]))
        + math.log(partner_chance(family, rows[i], seats, clusters, n_clusters, own, b))
    )
    if not math.log(rng.random()) < log_ratio:
        sizes[a] = 0
        sizes[b] = 0
        return 0
    labels[i] = a
    keep_split(seats, n_clusters, own, a, b, members, in_a)
    return 1


@inner_kernel
def _absorb(family, rng, rows, seats, clusters, n_clusters, members, i, partner):
    """Propose to join the cluster of ``i`` and ``partner``; returns 1 if accepted, else 0."""
    labels, sizes = seats.labels, seats.sizes
    own = labels[i]
    a, b = seats.active[n_clusters], seats.active[n_clusters + 1]
    add_up(family, seats, clusters, own, partner, b)
    log_ratio = (
        -log_split_ratio(family, seats, clusters, n_clusters - 1, b, own, partner)
        - math.log(rows.shape[0] / (n_clusters * sizes[own]))
        - math.log(partner_chance(family, rows[i], seats, clusters, n_clusters, own, partner))
    )
    log_threshold = math.log(rng.random())
    # q of the reverse only lowers the ratio: most bad proposals end here, at the cost of one evidence.
    if log_threshold < log_ratio:
        _take_away(family, rows, seats, clusters, i, a, b)
        shuffle(rng, members, members.size)
        in_a = np.zeros(members.size, dtype=np.bool_)
        wanted = np.empty(members.size, dtype=np.bool_)
        for m in range(members.size):
            wanted[m] = labels[members[m]] == own
        limit = log_threshold - log_ratio
        log_ratio += _scan(family, rng, rows, seats, clusters, members, in_a, wanted, True, (a, b), limit)
    sizes[a] = 0
    sizes[b] = 0
    if not log_threshold < log_ratio:
        return 0
    keep_merge(family, seats, clusters, n_clusters, own, partner, members)
    return 1


@inner_kernel
def _take_away(family, rows, seats, clusters, i, a, b):
    """Make slot ``a`` the cluster of row ``i`` alone, which leaves ``b``."""
    seed_cluster(family, rows, seats, clusters, a, i)
    verbs.remove(family, clusters.statistics, clusters.cache, b, rows[i], clusters.work)
    seats.sizes[b] -= 1


@inner_kernel
def _scan(family, rng, rows, seats, clusters, members, in_a, wanted, forced, halves, limit):
    """Ask each member which half it wants, or (``forced``) let it go where it is wanted; returns the log of q.

    Gives up, with minus infinity, where a forced q is impossible or not above the limit.
    """
    sizes, offset = seats.sizes, seats.offset
    statistics, cache, work = clusters.statistics, clusters.cache, clusters.work
    a, b = halves
    log_q = 0.0
    for m in range(members.size):
        row = rows[members[m]]
        here, there = (a, b) if in_a[m] else (b, a)
        if sizes[here] == 1:
            if forced and wanted[m] != in_a[m]:
                return -math.inf
            continue
        odds = (
            math.log((sizes[there] + offset) / (sizes[here] - 1 + offset))
            + verbs.log_predictive(family, statistics, cache, there, row, work)
            - verbs.log_predictive_without(family, statistics, cache, here, row, work)
        )
        goes = wanted[m] != in_a[m] if forced else math.log(rng.random()) < log_logistic(odds)
        log_q += log_logistic(odds if goes else -odds)
        if forced and not log_q > limit:
            return -math.inf
        if goes:
            verbs.remove(family, statistics, cache, here, row, work)
            verbs.add(family, statistics, cache, there, row, work)
            sizes[here] -= 1
            sizes[there] += 1
            in_a[m] = not in_a[m]
    return log_q
