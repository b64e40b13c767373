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

from ..core.jit import inner_kernel, kernel
from ..core.special import shuffle
from ..families import verbs
from .clusters import clear
from .partition import Partition
from .seats import log_size_weight

# Chance that the partner of a merge is any other cluster, rather than one that predicts the anchor well.
UNIFORM_PARTNER = 0.3


def propose_splits_and_merges(rng: np.random.Generator, state: Partition, n_proposals: int) -> None:
    """Make so many split or merge proposals, one after the other."""
    if state.n_rows < 2:
        return
    state.reserve(n_proposals)
    members = np.empty(state.n_rows, dtype=np.int64)
    state.n_clusters = _propose(
        state.hyper,
        rng,
        state.rows,
        state.seats.arrays,
        state.clusters.arrays,
        state.n_clusters,
        members,
        n_proposals,
    )


@kernel
def _propose(family, rng, rows, seats, clusters, n_clusters, members, n_proposals):
    """``n_proposals`` proposals in a row; returns the number of clusters."""
    labels, sizes = seats.labels, seats.sizes
    n_rows = rows.shape[0]
    for _ in range(n_proposals):
        i = int(rng.random() * n_rows)
        own = labels[i]
        if rng.random() < _chance_same(n_clusters, sizes[own]):
            n_members = collect(labels, members, own, own)
            _take_out(members, n_members, i)
            j = _take_random(rng, members, n_members - 1)
            if seats.log_v[n_clusters + 1] > -math.inf:
                n_clusters += _split(family, rng, rows, seats, clusters, n_clusters, members[: n_members - 2], i, j)
        else:
            partner = _choose_partner(family, rng, rows[i], seats, clusters, n_clusters, own)
            n_members = collect(labels, members, partner, partner)
            j = members[int(rng.random() * n_members)]
            n_members = collect(labels, members, own, partner)
            _take_out(members, n_members, i)
            _take_out(members, n_members - 1, j)
            n_clusters -= _merge(family, rng, rows, seats, clusters, n_clusters, members[: n_members - 2], i, j)
    return n_clusters


@inner_kernel
def _chance_same(n_clusters, size):
    """Probability that the second anchor is taken from the first one's cluster, of the given size."""
    if size == 1:
        return 0.0
    return 1.0 if n_clusters == 1 else 0.5


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
def _take_out(members, n, row):
    """Move ``row`` to the end of ``members[:n]``."""
    for m in range(n):
        if members[m] == row:
            members[m], members[n - 1] = members[n - 1], members[m]
            return


@inner_kernel
def _take_random(rng, members, n):
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
def _choose_partner(family, rng, row, seats, clusters, n_clusters, own):
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
def _log_merge_choice(family, row, seats, clusters, n_clusters, own, size, partner):
    """log P(the second anchor is a given member of ``partner``), the first one's cluster having ``size`` rows.

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
    chance = UNIFORM_PARTNER / n_candidates + (1.0 - UNIFORM_PARTNER) * math.exp(score - largest) / total
    return math.log1p(-_chance_same(2, size)) + math.log(chance) - math.log(seats.sizes[partner])


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
def _log_logistic(x):
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
        in_a[m] = math.log(rng.random()) < _log_logistic(odds)
        log_q += _log_logistic(odds if in_a[m] else -odds)
        join_cluster(family, row, seats, clusters, a if in_a[m] else b)
    log_ratio = (
        log_split_ratio(family, seats, clusters, n_clusters, own, a, b)
        - log_q
        + _log_merge_choice(family, rows[i], seats, clusters, n_clusters, own, sizes[a], b)
        - math.log(_chance_same(n_clusters, size) / (size - 1))
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
    labels, sizes, active, statistics = seats.labels, seats.sizes, seats.active, clusters.statistics
    offset, log_v = seats.offset, seats.log_v
    own, partner = labels[i], labels[j]
    size = sizes[own] + sizes[partner]
    joined = active[n_clusters]
    for s in range(statistics.shape[1]):
        statistics[joined, s] = statistics[own, s] + statistics[partner, s]
    verbs.refresh(family, statistics, clusters.cache, joined, clusters.work)
    log_ratio = (
        log_v[n_clusters - 1]
        - log_v[n_clusters]
        + log_cluster(family, clusters, joined, size, offset)
        - log_cluster(family, clusters, own, sizes[own], offset)
        - log_cluster(family, clusters, partner, sizes[partner], offset)
        + math.log(_chance_same(n_clusters - 1, size) / (size - 1))
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
    for s in range(statistics.shape[1]):
        statistics[own, s] += statistics[partner, s]
    verbs.refresh(family, statistics, clusters.cache, own, clusters.work)
    sizes[own] = size
    sizes[partner] = 0
    labels[j] = own
    for m in range(members.size):
        labels[members[m]] = own
    for position in range(n_clusters):
        if active[position] == partner:
            active[position] = active[n_clusters - 1]
    active[n_clusters - 1] = partner
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
        log_ratio += _log_logistic(odds if in_a else -odds)
        if not log_threshold < log_ratio:
            break
        join_cluster(family, row, seats, clusters, a if in_a else b)
    seats.sizes[a] = 0
    seats.sizes[b] = 0
    return log_ratio
