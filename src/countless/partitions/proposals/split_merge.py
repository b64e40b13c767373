"""Split-merge: Metropolis-Hastings proposals that divide a cluster in two or join two, in one step.

Splits are allocated sequentially (Dahl 2005; Jain and Neal 2004 for the idea): two anchor rows i and j seed
the halves and the other members follow, in random order, each with its Gibbs probability given those
placed so far; q is the product of these. The pair is not uniform: half of the time j comes from i's own
cluster (a split), half of the time from a cluster chosen by how well it predicts row i (a merge), so that
effort goes where it may succeed. The selection probabilities of both directions enter the ratio:

    split:  p(split) / p(merged) * P(choose the pair | split) / (P(choose the pair | merged) * q)
"""

from __future__ import annotations

import math

import numpy as np

from ...core.jit import inner_kernel
from ...core.special import shuffle
from .halves import (
    add_up,
    choose_partner,
    collect,
    join_cluster,
    keep_merge,
    keep_split,
    log_cluster,
    log_logistic,
    log_odds,
    log_split_ratio,
    partner_chance,
    seed_cluster,
    take_out,
    take_random,
)


@inner_kernel
def split_or_merge(family, rng, rows, seats, clusters, n_clusters, members):
    """One proposal; returns the change in the number of clusters."""
    labels = seats.labels
    i = int(rng.random() * rows.shape[0])
    own = labels[i]
    if rng.random() < chance_same(n_clusters, seats.sizes[own]):
        n_members = collect(labels, members, own, own)
        take_out(members, n_members, i)
        j = take_random(rng, members, n_members - 1)
        if not seats.log_v[n_clusters + 1] > -math.inf:
            return 0
        return _split(family, rng, rows, seats, clusters, n_clusters, members[: n_members - 2], i, j)
    partner = choose_partner(family, rng, rows[i], seats, clusters, n_clusters, own)
    n_members = collect(labels, members, partner, partner)
    j = members[int(rng.random() * n_members)]
    n_members = collect(labels, members, own, partner)
    take_out(members, n_members, i)
    take_out(members, n_members - 1, j)
    return -_merge(family, rng, rows, seats, clusters, n_clusters, members[: n_members - 2], i, j)


@inner_kernel
def chance_same(n_clusters, size):
    """Probability that the second anchor is taken from the first one's cluster, of the given size."""
    if size == 1:
        return 0.0
    return 1.0 if n_clusters == 1 else 0.5


@inner_kernel
def _log_merge_choice(family, row, seats, clusters, n_clusters, own, size, partner):
    """log P(the second anchor is a given member of ``partner``), the first one's cluster having ``size`` rows."""
    chance = partner_chance(family, row, seats, clusters, n_clusters, own, partner)
    return math.log1p(-chance_same(2, size)) + math.log(chance) - math.log(seats.sizes[partner])


@inner_kernel
def _split(family, rng, rows, seats, clusters, n_clusters, members, i, j):
    """Propose to divide the cluster of ``i`` and ``j``; returns 1 if accepted, else 0."""
    labels, sizes = seats.labels, seats.sizes
    own = labels[i]
    size = sizes[own]
    a, b = seats.active[n_clusters], seats.active[n_clusters + 1]
    seed_cluster(family, rows, seats, clusters, a, i)
    seed_cluster(family, rows, seats, clusters, b, j)
    shuffle(rng, members, members.size)
    in_a = np.empty(members.size, dtype=np.bool_)
    log_q = 0.0
    for m in range(members.size):
        row = rows[members[m]]
        odds = log_odds(family, row, seats, clusters, a, b)
        in_a[m] = math.log(rng.random()) < log_logistic(odds)
        log_q += log_logistic(odds if in_a[m] else -odds)
        join_cluster(family, row, seats, clusters, a if in_a[m] else b)
    log_ratio = (
        log_split_ratio(family, seats, clusters, n_clusters, own, a, b)
        - log_q
        + _log_merge_choice(family, rows[i], seats, clusters, n_clusters, own, sizes[a], b)
        - math.log(chance_same(n_clusters, size) / (size - 1))
    )
    if not math.log(rng.random()) < log_ratio:
        sizes[a] = 0
        sizes[b] = 0
        return 0
    labels[i] = a
    labels[j] = b
    keep_split(seats, n_clusters, own, a, b, members, in_a)
    return 1


@inner_kernel
def _merge(family, rng, rows, seats, clusters, n_clusters, members, i, j):
    """Propose to join the clusters of ``i`` and ``j``; returns 1 if accepted, else 0."""
    labels, sizes, active = seats.labels, seats.sizes, seats.active
    offset, log_v = seats.offset, seats.log_v
    own, partner = labels[i], labels[j]
    joined = active[n_clusters]
    add_up(family, seats, clusters, own, partner, joined)
    size = sizes[joined]
    sizes[joined] = 0
    log_ratio = (
        log_v[n_clusters - 1]
        - log_v[n_clusters]
        + log_cluster(family, clusters, joined, size, offset)
        - log_cluster(family, clusters, own, sizes[own], offset)
        - log_cluster(family, clusters, partner, sizes[partner], offset)
        + math.log(chance_same(n_clusters - 1, size) / (size - 1))
        - _log_merge_choice(family, rows[i], seats, clusters, n_clusters, own, sizes[own], partner)
    )
    log_threshold = math.log(rng.random())
    # q of the reverse split only lowers the ratio: most bad merges end here, at the cost of one evidence.
    if log_threshold < log_ratio:
        halves = active[n_clusters + 1], joined
        shuffle(rng, members, members.size)
        log_ratio = _with_reverse_split(
            family, rows, seats, clusters, members, (i, j), halves, log_ratio, log_threshold
        )
    if not log_threshold < log_ratio:
        return 0
    keep_merge(family, seats, clusters, n_clusters, own, partner, members)
    labels[j] = own
    return 1


@inner_kernel
def _with_reverse_split(family, rows, seats, clusters, members, anchors, halves, log_ratio, log_threshold):
    """Add log q of the allocation that would split the pair again; gives up once below the threshold."""
    own = seats.labels[anchors[0]]
    a, b = halves
    seed_cluster(family, rows, seats, clusters, a, anchors[0])
    seed_cluster(family, rows, seats, clusters, b, anchors[1])
    for m in range(members.size):
        row = rows[members[m]]
        in_a = seats.labels[members[m]] == own
        odds = log_odds(family, row, seats, clusters, a, b)
        log_ratio += log_logistic(odds if in_a else -odds)
        if not log_threshold < log_ratio:
            break
        join_cluster(family, row, seats, clusters, a if in_a else b)
    seats.sizes[a] = 0
    seats.sizes[b] = 0
    return log_ratio
