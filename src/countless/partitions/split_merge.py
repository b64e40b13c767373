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
from collections.abc import Mapping

import numpy as np

from ..core.jit import kernel
from ..core.special import shuffle
from ..core.validate import whole_number
from ..families import verbs
from ..models.mixture.state import Problem, State, log_size_weight
from .sweep import clear

# Chance that the partner of a merge is any other cluster, rather than one that predicts the anchor well.
UNIFORM_PARTNER = 0.3
FEWEST_PROPOSALS = 3


class SplitMerge:
    """A number of split or merge proposals.

    Parameters
    ----------
    proposals : int, optional
        How many in one step. Default: half as many as there were clusters when the warm-up ended, and at least
        3; during the warm-up it follows the number of clusters.
    """

    name = "split-merge"

    def __init__(self, proposals: int | None = None) -> None:
        self.proposals = proposals
        self._adapted = FEWEST_PROPOSALS

    def adapt(self, state: State) -> None:
        """Called during the warm-up only: afterwards the number of proposals must not depend on the state."""
        self._adapted = max(FEWEST_PROPOSALS, state.n_clusters // 2)

    def snapshot(self) -> dict[str, int]:
        """The number of proposals that the warm-up has led to."""
        return {"adapted": int(self._adapted)}

    def restore(self, saved: Mapping[str, int]) -> None:
        """Go on with that number."""
        self._adapted = whole_number("adapted", saved["adapted"], 1)

    def step(self, rng: np.random.Generator, state: State, problem: Problem) -> None:
        """Update ``state`` in place."""
        if problem.n_rows < 2:
            return
        n_proposals = self.proposals or self._adapted
        state.reserve(problem, n_proposals)
        members = np.empty(problem.n_rows, dtype=np.int64)
        state.n_clusters = _propose(
            problem.hyper, rng, problem.rows, state.table, state.chain, state.n_clusters, members, n_proposals
        )


def split_merge_moves(setting: bool | int) -> list[SplitMerge]:
    """The moves that an engine's setting ``split_merge`` asks for: True, False, or a number of proposals."""
    if isinstance(setting, bool):
        return [SplitMerge()] if setting else []
    return [SplitMerge(setting)] if whole_number("split_merge", setting, 0) else []


@kernel
def _propose(family, rng, rows, table, chain, n_clusters, members, n_proposals):
    """``n_proposals`` proposals in a row; returns the number of clusters."""
    labels, sizes = chain.labels, chain.sizes
    n_rows = rows.shape[0]
    for _ in range(n_proposals):
        i = int(rng.random() * n_rows)
        own = labels[i]
        if rng.random() < _chance_same(n_clusters, sizes[own]):
            n_members = collect(labels, members, own, own)
            _take_out(members, n_members, i)
            j = _take_random(rng, members, n_members - 1)
            if table.log_v[n_clusters + 1] > -math.inf:
                n_clusters += _split(family, rng, rows, table, chain, n_clusters, members[: n_members - 2], i, j)
        else:
            partner = _choose_partner(family, rng, rows[i], chain, n_clusters, own)
            n_members = collect(labels, members, partner, partner)
            j = members[int(rng.random() * n_members)]
            n_members = collect(labels, members, own, partner)
            _take_out(members, n_members, i)
            _take_out(members, n_members - 1, j)
            n_clusters -= _merge(family, rng, rows, table, chain, n_clusters, members[: n_members - 2], i, j)
    return n_clusters


@kernel
def _chance_same(n_clusters, size):
    """Probability that the second anchor is taken from the first one's cluster, of the given size."""
    if size == 1:
        return 0.0
    return 1.0 if n_clusters == 1 else 0.5


@kernel
def collect(labels, members, a, b):
    """List the rows of clusters ``a`` and ``b``; returns how many."""
    n = 0
    for i in range(labels.size):
        if labels[i] == a or labels[i] == b:
            members[n] = i
            n += 1
    return n


@kernel
def _take_out(members, n, row):
    """Move ``row`` to the end of ``members[:n]``."""
    for m in range(n):
        if members[m] == row:
            members[m], members[n - 1] = members[n - 1], members[m]
            return


@kernel
def _take_random(rng, members, n):
    """Move a random entry to the end of ``members[:n]`` and return it."""
    chosen = int(rng.random() * n)
    members[chosen], members[n - 1] = members[n - 1], members[chosen]
    return members[n - 1]


@kernel
def _partner_scores(family, row, chain, n_clusters, own):
    """Fill the log weights with the predictives of the clusters other than ``own``; returns the largest."""
    largest = -math.inf
    for position in range(n_clusters):
        k = chain.active[position]
        score = -math.inf
        if k != own:
            score = verbs.log_predictive(family, chain.statistics, chain.cache, k, row, chain.work)
        chain.log_weights[position] = score
        largest = max(largest, score)
    return largest


@kernel
def _total_weight(scores, n, largest):
    total = 0.0
    for position in range(n):
        total += math.exp(scores[position] - largest)
    return total


@kernel
def _choose_partner(family, rng, row, chain, n_clusters, own):
    scores = chain.log_weights
    largest = _partner_scores(family, row, chain, n_clusters, own)
    total = _total_weight(scores, n_clusters, largest)
    threshold = rng.random()
    last = -1
    for position in range(n_clusters):
        k = chain.active[position]
        if k != own:
            last = k
            threshold -= UNIFORM_PARTNER / (n_clusters - 1)
            threshold -= (1.0 - UNIFORM_PARTNER) * math.exp(scores[position] - largest) / total
            if threshold < 0.0:
                break
    return last


@kernel
def _log_merge_choice(family, row, chain, n_clusters, own, size, partner):
    """log P(the second anchor is a given member of ``partner``), the first one's cluster having ``size`` rows.

    The candidates are ``active[:n_clusters]`` less ``own``, among them ``partner`` before a merge; half of a
    proposed split is not in that list yet, and one candidate more.
    """
    scores = chain.log_weights
    largest = _partner_scores(family, row, chain, n_clusters, own)
    score = verbs.log_predictive(family, chain.statistics, chain.cache, partner, row, chain.work)
    largest = max(largest, score)
    total = _total_weight(scores, n_clusters, largest)
    n_candidates = n_clusters - 1
    listed = False
    for position in range(n_clusters):
        listed = listed or chain.active[position] == partner
    if not listed:
        n_candidates += 1
        total += math.exp(score - largest)
    chance = UNIFORM_PARTNER / n_candidates + (1.0 - UNIFORM_PARTNER) * math.exp(score - largest) / total
    return math.log1p(-_chance_same(2, size)) + math.log(chance) - math.log(chain.sizes[partner])


@kernel
def seed_cluster(family, rows, chain, k, i):
    """Make slot ``k`` the cluster of row ``i`` alone."""
    clear(family, chain.statistics, chain.cache, k, chain.work)
    chain.sizes[k] = 0
    join_cluster(family, rows[i], chain, k)


@kernel
def join_cluster(family, row, chain, k):
    verbs.add(family, chain.statistics, chain.cache, k, row, chain.work)
    chain.sizes[k] += 1


@kernel
def log_odds(family, row, chain, a, b, offset):
    """log of the Gibbs odds that ``row`` joins ``a`` rather than ``b``."""
    statistics, cache, work = chain.statistics, chain.cache, chain.work
    return (
        math.log((chain.sizes[a] + offset) / (chain.sizes[b] + offset))
        + verbs.log_predictive(family, statistics, cache, a, row, work)
        - verbs.log_predictive(family, statistics, cache, b, row, work)
    )


@kernel
def _log_logistic(x):
    """log(1 / (1 + exp(-x)))."""
    if x > 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))


@kernel
def log_cluster(family, chain, k, size, offset):
    """What a cluster contributes to the log joint."""
    return verbs.log_marginal(family, chain.statistics, chain.cache, k) + log_size_weight(size, offset)


@kernel
def log_split_ratio(family, table, chain, n_clusters, own, a, b):
    """log p(cluster ``own`` divided into ``a`` and ``b``) - log p(as it is)."""
    sizes = chain.sizes
    return (
        table.log_v[n_clusters + 1]
        - table.log_v[n_clusters]
        + log_cluster(family, chain, a, sizes[a], table.offset)
        + log_cluster(family, chain, b, sizes[b], table.offset)
        - log_cluster(family, chain, own, sizes[own], table.offset)
    )


@kernel
def keep_split(chain, n_clusters, own, a, b, members, in_a):
    """Put slots ``a`` and ``b``, the first two free ones, in place of ``own``, and label its members."""
    for m in range(members.size):
        chain.labels[members[m]] = a if in_a[m] else b
    chain.sizes[own] = 0
    for position in range(n_clusters):
        if chain.active[position] == own:
            chain.active[position] = a
    chain.active[n_clusters] = b
    chain.active[n_clusters + 1] = own


@kernel
def _split(family, rng, rows, table, chain, n_clusters, members, i, j):
    """Propose to divide the cluster of ``i`` and ``j``; returns 1 if accepted, else 0."""
    labels, sizes, offset = chain.labels, chain.sizes, table.offset
    own = labels[i]
    size = sizes[own]
    a, b = chain.active[n_clusters], chain.active[n_clusters + 1]
    seed_cluster(family, rows, chain, a, i)
    seed_cluster(family, rows, chain, b, j)
    shuffle(rng, members, members.size)
    in_a = np.empty(members.size, dtype=np.bool_)
    log_q = 0.0
    for m in range(members.size):
        row = rows[members[m]]
        odds = log_odds(family, row, chain, a, b, offset)
        in_a[m] = math.log(rng.random()) < _log_logistic(odds)
        log_q += _log_logistic(odds if in_a[m] else -odds)
        join_cluster(family, row, chain, a if in_a[m] else b)
    log_ratio = (
        log_split_ratio(family, table, chain, n_clusters, own, a, b)
        - log_q
        + _log_merge_choice(family, rows[i], chain, n_clusters, own, sizes[a], b)
        - math.log(_chance_same(n_clusters, size) / (size - 1))
    )
    if not math.log(rng.random()) < log_ratio:
        sizes[a] = 0
        sizes[b] = 0
        return 0
    labels[i] = a
    labels[j] = b
    keep_split(chain, n_clusters, own, a, b, members, in_a)
    return 1


@kernel
def _merge(family, rng, rows, table, chain, n_clusters, members, i, j):
    """Propose to join the clusters of ``i`` and ``j``; returns 1 if accepted, else 0."""
    labels, sizes, active, statistics = chain.labels, chain.sizes, chain.active, chain.statistics
    offset, log_v = table.offset, table.log_v
    own, partner = labels[i], labels[j]
    size = sizes[own] + sizes[partner]
    joined = active[n_clusters]
    for s in range(statistics.shape[1]):
        statistics[joined, s] = statistics[own, s] + statistics[partner, s]
    verbs.refresh(family, statistics, chain.cache, joined, chain.work)
    log_ratio = (
        log_v[n_clusters - 1]
        - log_v[n_clusters]
        + log_cluster(family, chain, joined, size, offset)
        - log_cluster(family, chain, own, sizes[own], offset)
        - log_cluster(family, chain, partner, sizes[partner], offset)
        + math.log(_chance_same(n_clusters - 1, size) / (size - 1))
        - _log_merge_choice(family, rows[i], chain, n_clusters, own, sizes[own], partner)
    )
    log_threshold = math.log(rng.random())
    # q of the reverse split only lowers the ratio: most bad merges end here, at the cost of one evidence.
    if log_threshold < log_ratio:
        log_ratio = _with_reverse_split(
            family,
            rng,
            rows,
            chain,
            members,
            i,
            j,
            active[n_clusters + 1],
            joined,
            offset,
            log_ratio,
            log_threshold,
        )
    if not log_threshold < log_ratio:
        return 0
    for s in range(statistics.shape[1]):
        statistics[own, s] += statistics[partner, s]
    verbs.refresh(family, statistics, chain.cache, own, chain.work)
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


@kernel
def _with_reverse_split(family, rng, rows, chain, members, i, j, a, b, offset, log_ratio, log_threshold):
    """Add log q of the allocation that would split the pair again; gives up once below the threshold."""
    own = chain.labels[i]
    shuffle(rng, members, members.size)
    seed_cluster(family, rows, chain, a, i)
    seed_cluster(family, rows, chain, b, j)
    for m in range(members.size):
        row = rows[members[m]]
        in_a = chain.labels[members[m]] == own
        odds = log_odds(family, row, chain, a, b, offset)
        log_ratio += _log_logistic(odds if in_a else -odds)
        if not log_threshold < log_ratio:
            break
        join_cluster(family, row, chain, a if in_a else b)
    chain.sizes[a] = 0
    chain.sizes[b] = 0
    return log_ratio
