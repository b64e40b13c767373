"""Split-merge: a cluster of one side is divided in two, or two are joined, in one Metropolis-Hastings step.

Splits are allocated one item after the other (Dahl 2005): two anchors i and j seed the halves, and the other members
follow in random order, each with its Gibbs probability given the matrix of those that are placed; q is the product.
With i uniform, j is a member of the same cluster (a split, with probability s) or of any other one (a merge):

    split:  p(split) / p(merged) * P(choose j | split) / (P(choose j | merged) * q)

and the inverse for a merge. As q <= 1, a merge that fails without it fails with it, and q is not computed.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import inner_kernel, kernel
from ....core.special import shuffle
from ....partitions.proposals.halves import collect, log_logistic, take_out, take_random
from ....partitions.proposals.split_merge import chance_same
from ....partitions.seats import log_size_weight, retire
from .view import View, empty, gather, log_joined, log_of_two, n_others, put, renew


@inner_kernel
def _log_choose_other(n_clusters, size, partner_size):
    """log P(the second anchor is a given member of a given other cluster) after ``n_clusters`` clusters."""
    return math.log1p(-chance_same(n_clusters, size)) - math.log((n_clusters - 1) * partner_size)


@inner_kernel
def _place(model, view, i, k, n_clusters):
    gather(view, i, n_clusters)
    put(model, view, i, k, n_clusters)


@inner_kernel
def divide(model, rng, view, seats, n_clusters, own, b, members, i, j, known, greedy):
    """Deal the members of ``own`` out to it and to slot ``b``, seeded by ``i`` and ``j``.

    ``known`` says which of ``members`` go to ``own``; where it is empty they are drawn (or, greedy, sent to the better
    half). Slot ``b`` becomes the last cluster in use. Returns log q; which members are in ``own`` is in the labels.
    """
    active, offset = seats.active, seats.offset
    view.labels[i] = -1
    view.labels[j] = -1
    for m in range(members.size):
        view.labels[members[m]] = -1
    empty(view, own)
    retire(active, n_clusters, own)
    # Both slots enter the list of clusters one after the other: an empty one must not be scored.
    _enter(active, n_clusters - 1, own)
    _place(model, view, i, own, n_clusters)
    _enter(active, n_clusters, b)
    n_clusters += 1
    _place_new(model, view, j, b, n_clusters)
    log_q = 0.0
    for m in range(members.size):
        item = members[m]
        gather(view, item, n_clusters)
        odds = math.log((view.sizes[own] + offset) / (view.sizes[b] + offset))
        odds += log_joined(model, view, item, own, n_clusters) - log_joined(model, view, item, b, n_clusters)
        if known.size:
            first = known[m]
        elif greedy:
            first = odds > 0.0
        else:
            first = math.log(rng.random()) < log_logistic(odds)
        log_q += log_logistic(odds if first else -odds)
        put(model, view, item, own if first else b, n_clusters)
    return log_q


@inner_kernel
def _enter(active, position, k):
    """Slot ``k`` takes a position in the list; what was there goes where it came from."""
    for p in range(active.size):
        if active[p] == k:
            active[p] = active[position]
            active[position] = k
            return


@inner_kernel
def _place_new(model, view, j, b, n_clusters):
    """Put an item into a slot that is listed already and still empty."""
    gather(view, j, n_clusters)
    put(model, view, j, b, n_clusters)


@inner_kernel
def unite(model, view, active, n_clusters, own, partner):
    """Give everything in cluster ``partner`` to ``own``; labels are for others to change. Returns the count."""
    width = view.zero.size
    view.sizes[own] += view.sizes[partner]
    view.mass[own] += view.mass[partner]
    view.totals[0, own] += view.totals[0, partner]
    view.totals[1, own] += view.totals[1, partner]
    for p in range(n_others(view, n_clusters)):
        other = view.others[p]
        for s in range(width):
            view.blocks[own, other, s] += view.blocks[partner, other, s]
    if view.tied:
        view.other_mass[own] += view.other_mass[partner]
        for p in range(n_clusters):
            other = view.others[p]
            for s in range(width):
                view.blocks[other, own, s] += view.blocks[other, partner, s]
    empty(view, partner)
    retire(active, n_clusters, partner)
    renew(model, view, own, n_clusters - 1)
    return n_clusters - 1


@inner_kernel
def keep(view, active, saved, a, b):
    """Remember the view as it is; nothing but clusters ``a`` and ``b`` will change."""
    _copy_clusters(view, saved, a, b, True)
    mass, other_mass, totals, sides, sizes, slots = saved[4:]
    mass[:] = view.mass
    other_mass[:] = view.other_mass
    totals[:] = view.totals
    sides[:] = view.sides
    sizes[:] = view.sizes
    slots[:] = active


@inner_kernel
def undo(view, active, saved, a, b):
    """Make the view what it was; labels are for others to change."""
    _copy_clusters(view, saved, a, b, False)
    mass, other_mass, totals, sides, sizes, slots = saved[4:]
    view.mass[:] = mass
    view.other_mass[:] = other_mass
    view.totals[:] = totals
    view.sides[:] = sides
    view.sizes[:] = sizes
    active[:] = slots


@inner_kernel
def _copy_clusters(view, saved, a, b, away):
    """Copy the blocks of two clusters, away or back; all blocks, where sides are tied."""
    blocks, evidence, gaps, gap = saved[:4]
    for k in range(view.blocks.shape[0]):
        if not (view.tied or k in (a, b)):
            continue
        if away:
            blocks[k] = view.blocks[k]
            evidence[k] = view.evidence[k]
        else:
            view.blocks[k] = blocks[k]
            view.evidence[k] = evidence[k]
        if view.gaps.on and away:
            gaps[k] = view.gaps.evidence[k]
            gap[k] = view.gaps.total[k]
        elif view.gaps.on:
            view.gaps.evidence[k] = gaps[k]
            view.gaps.total[k] = gap[k]


@inner_kernel
def _log_pair(sizes, a, b, offset):
    return log_size_weight(sizes[a], offset) + log_size_weight(sizes[b], offset)


@inner_kernel
def _split(model, rng, view, seats, n_clusters, members, i, j, saved):
    """Propose to divide the cluster of ``i`` and ``j``; returns the number of clusters."""
    active, offset, log_v = seats.active, seats.offset, seats.log_v
    own, b = view.labels[i], active[n_clusters]
    size = view.sizes[own]
    before = log_of_two(view, active, n_clusters, own, b) + log_size_weight(size, offset)
    keep(view, active, saved, own, b)
    shuffle(rng, members, members.size)
    nothing = np.empty(0, dtype=np.bool_)
    log_q = divide(model, rng, view, seats, n_clusters, own, b, members, i, j, nothing, False)
    after = log_of_two(view, active, n_clusters + 1, own, b) + _log_pair(view.sizes, own, b, offset)
    log_ratio = log_v[n_clusters + 1] - log_v[n_clusters] + after - before - log_q
    log_ratio += _log_choose_other(n_clusters + 1, view.sizes[own], view.sizes[b])
    log_ratio -= math.log(chance_same(n_clusters, size) / (size - 1))
    if math.log(rng.random()) < log_ratio:
        return n_clusters + 1
    for m in range(members.size):
        view.labels[members[m]] = own
    view.labels[i] = own
    view.labels[j] = own
    undo(view, active, saved, own, b)
    return n_clusters


@inner_kernel
def _merge(model, rng, view, seats, n_clusters, members, i, j, saved):
    """Propose to join the clusters of ``i`` and ``j``; returns the number of clusters."""
    active, offset, log_v = seats.active, seats.offset, seats.log_v
    own, partner = view.labels[i], view.labels[j]
    before = log_of_two(view, active, n_clusters, own, partner) + _log_pair(view.sizes, own, partner, offset)
    log_ratio = math.log(chance_same(n_clusters - 1, view.sizes[own] + view.sizes[partner]))
    log_ratio -= math.log(view.sizes[own] + view.sizes[partner] - 1)
    log_ratio -= _log_choose_other(n_clusters, view.sizes[own], view.sizes[partner])
    keep(view, active, saved, own, partner)
    unite(model, view, active, n_clusters, own, partner)
    after = log_of_two(view, active, n_clusters - 1, own, partner) + log_size_weight(view.sizes[own], offset)
    log_ratio += log_v[n_clusters - 1] - log_v[n_clusters] + after - before
    log_threshold = math.log(rng.random())
    if log_threshold < log_ratio:
        shuffle(rng, members, members.size)
        known = np.empty(members.size, dtype=np.bool_)
        for m in range(members.size):
            known[m] = view.labels[members[m]] == own
        # The cluster is divided again as it was; the slot of the partner is the first free one.
        b = active[n_clusters - 1]
        log_q = divide(model, rng, view, seats, n_clusters - 1, own, b, members, i, j, known, False)
        log_ratio += log_q
    undo(view, active, saved, own, partner)
    for m in range(members.size):
        if log_threshold < log_ratio:
            view.labels[members[m]] = own
        elif view.labels[members[m]] != own:
            view.labels[members[m]] = partner
    view.labels[i] = own
    view.labels[j] = partner
    if not log_threshold < log_ratio:
        return n_clusters
    view.labels[j] = own
    return unite(model, view, active, n_clusters, own, partner)


@kernel
def propose(model, rng, view, seats, n_clusters, count, saved, all_members):
    """So many proposals; returns the number of clusters. Stops early where there is no room for a new one."""
    n = view.labels.size
    if n < 2:
        return n_clusters
    for _ in range(count):
        if n_clusters >= view.sizes.size - 1:
            return n_clusters
        i = int(rng.random() * n)
        own = view.labels[i]
        if rng.random() < chance_same(n_clusters, view.sizes[own]):
            n_members = collect(view.labels, all_members, own, own)
            take_out(all_members, n_members, i)
            j = take_random(rng, all_members, n_members - 1)
            if seats.log_v[n_clusters + 1] > -math.inf:
                members = all_members[: n_members - 2]
                n_clusters = _split(model, rng, view, seats, n_clusters, members, i, j, saved)
            continue
        at = int(rng.random() * (n_clusters - 1))
        partner = seats.active[at]
        if partner == own:
            partner = seats.active[n_clusters - 1]
        n_members = collect(view.labels, all_members, partner, partner)
        j = all_members[int(rng.random() * n_members)]
        n_members = collect(view.labels, all_members, own, partner)
        take_out(all_members, n_members, i)
        take_out(all_members, n_members - 1, j)
        n_clusters = _merge(model, rng, view, seats, n_clusters, all_members[: n_members - 2], i, j, saved)
    return n_clusters


def saved_room(view: View, active: np.ndarray) -> tuple[np.ndarray, ...]:
    """Room for what ``keep`` remembers."""
    gaps = view.gaps.evidence, view.gaps.total
    masses = view.mass, view.other_mass
    parts = (view.blocks, view.evidence, *gaps, *masses, view.totals, view.sides, view.sizes, active)
    return tuple(np.empty_like(part) for part in parts)
