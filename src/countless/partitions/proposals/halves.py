"""What proposals share: members of clusters, partners for a merge, halves in spare slots, how a change is kept."""

from __future__ import annotations

import math

from ...core.jit import inner_kernel
from ...families import verbs
from ..clusters import clear
from ..seats import log_size_weight, retire

# Chance that the partner of a merge is any other cluster, rather than one that predicts the anchor well.
UNIFORM_PARTNER = 0.3


@inner_kernel
def collect(labels, members, a, b):
    """List the rows of clusters ``a`` and ``b``; returns how many."""
    n = 0
    for i in range(labels.size):
        if labels[i] == a or labels[i] == b:
            members[n] = i
            n += 1
    return n


@inner_kernel
def take_out(members, n, row):
    """Move ``row`` to the end of ``members[:n]``."""
    for m in range(n):
        if members[m] == row:
            members[m], members[n - 1] = members[n - 1], members[m]
            return


@inner_kernel
def take_random(rng, members, n):
    """Move a random entry to the end of ``members[:n]`` and return it."""
    chosen = int(rng.random() * n)
    members[chosen], members[n - 1] = members[n - 1], members[chosen]
    return members[n - 1]


@inner_kernel
def _partner_scores(family, row, seats, clusters, n_clusters, own):
    """Fill the log weights with the predictives of the clusters other than ``own``; returns the largest."""
    largest = -math.inf
    for position in range(n_clusters):
        k = seats.active[position]
        score = -math.inf
        if k != own:
            score = verbs.log_predictive(family, clusters.statistics, clusters.cache, k, row, clusters.work)
        seats.log_weights[position] = score
        largest = max(largest, score)
    return largest


@inner_kernel
def _total_weight(scores, n, largest):
    total = 0.0
    for position in range(n):
        total += math.exp(scores[position] - largest)
    return total


@inner_kernel
def choose_partner(family, rng, row, seats, clusters, n_clusters, own):
    scores = seats.log_weights
    largest = _partner_scores(family, row, seats, clusters, n_clusters, own)
    total = _total_weight(scores, n_clusters, largest)
    threshold = rng.random()
    last = -1
    for position in range(n_clusters):
        k = seats.active[position]
        if k != own:
            last = k
            threshold -= UNIFORM_PARTNER / (n_clusters - 1)
            threshold -= (1.0 - UNIFORM_PARTNER) * math.exp(scores[position] - largest) / total
            if threshold < 0.0:
                break
    return last


@inner_kernel
def partner_chance(family, row, seats, clusters, n_clusters, own, partner):
    """P(``partner`` is chosen for a row of ``own``).

    The candidates are ``active[:n_clusters]`` less ``own``, among them ``partner`` before a merge; half of a
    proposed split is not in that list yet, and one candidate more.
    """
    scores = seats.log_weights
    largest = _partner_scores(family, row, seats, clusters, n_clusters, own)
    score = verbs.log_predictive(family, clusters.statistics, clusters.cache, partner, row, clusters.work)
    largest = max(largest, score)
    total = _total_weight(scores, n_clusters, largest)
    n_candidates = n_clusters - 1
    listed = False
    for position in range(n_clusters):
        listed = listed or seats.active[position] == partner
    if not listed:
        n_candidates += 1
        total += math.exp(score - largest)
    return UNIFORM_PARTNER / n_candidates + (1.0 - UNIFORM_PARTNER) * math.exp(score - largest) / total


@inner_kernel
def seed_cluster(family, rows, seats, clusters, k, i):
    """Make slot ``k`` the cluster of row ``i`` alone."""
    clear(family, clusters, k)
    seats.sizes[k] = 0
    join_cluster(family, rows[i], seats, clusters, k)


@inner_kernel
def join_cluster(family, row, seats, clusters, k):
    verbs.add(family, clusters.statistics, clusters.cache, k, row, clusters.work)
    seats.sizes[k] += 1


@inner_kernel
def log_odds(family, row, seats, clusters, a, b):
    """log of the Gibbs odds that ``row`` joins ``a`` rather than ``b``."""
    statistics, cache, work = clusters.statistics, clusters.cache, clusters.work
    return (
        math.log((seats.sizes[a] + seats.offset) / (seats.sizes[b] + seats.offset))
        + verbs.log_predictive(family, statistics, cache, a, row, work)
        - verbs.log_predictive(family, statistics, cache, b, row, work)
    )


@inner_kernel
def log_logistic(x):
    """log(1 / (1 + exp(-x)))."""
    if x > 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))


@inner_kernel
def log_cluster(family, clusters, k, size, offset):
    """What a cluster contributes to the log joint."""
    return verbs.log_marginal(family, clusters.statistics, clusters.cache, k) + log_size_weight(size, offset)


@inner_kernel
def log_split_ratio(family, seats, clusters, n_clusters, own, a, b):
    """log p(cluster ``own`` divided into ``a`` and ``b``) - log p(as it is)."""
    sizes, offset = seats.sizes, seats.offset
    return (
        seats.log_v[n_clusters + 1]
        - seats.log_v[n_clusters]
        + log_cluster(family, clusters, a, sizes[a], offset)
        + log_cluster(family, clusters, b, sizes[b], offset)
        - log_cluster(family, clusters, own, sizes[own], offset)
    )


@inner_kernel
def keep_split(seats, n_clusters, own, a, b, members, in_a):
    """Put slots ``a`` and ``b``, the first two free ones, in place of ``own``, and label its members."""
    for m in range(members.size):
        seats.labels[members[m]] = a if in_a[m] else b
    seats.sizes[own] = 0
    for position in range(n_clusters):
        if seats.active[position] == own:
            seats.active[position] = a
    seats.active[n_clusters] = b
    seats.active[n_clusters + 1] = own


@inner_kernel
def add_up(family, seats, clusters, a, b, into):
    """Make slot ``into`` the union of clusters ``a`` and ``b``, of which it may be one."""
    statistics = clusters.statistics
    for s in range(statistics.shape[1]):
        statistics[into, s] = statistics[a, s] + statistics[b, s]
    verbs.refresh(family, statistics, clusters.cache, into, clusters.work)
    seats.sizes[into] = seats.sizes[a] + seats.sizes[b]


@inner_kernel
def keep_merge(family, seats, clusters, n_clusters, own, partner, members):
    """Give all rows of ``partner``, and with them all ``members``, to ``own``."""
    add_up(family, seats, clusters, own, partner, own)
    seats.sizes[partner] = 0
    for m in range(members.size):
        seats.labels[members[m]] = own
    retire(seats.active, n_clusters, partner)
