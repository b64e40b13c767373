"""Steps that raise the log joint: joins of clusters, divisions from two seeds; greedy sweeps are in ``sweep``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....core.jit import inner_kernel, kernel
from ....core.special import shuffle
from ....partitions.proposals.halves import collect, take_random
from ....partitions.seats import log_size_weight
from ..block_models.verbs import log_block
from .split_merge import divide, keep, saved_room, undo, unite
from .sweep import MARGIN
from .view import log_evidence, log_joined, log_of_two, log_sides, put, take

SMALLEST_GAIN = 1e-7


def join_side(state: Any, side: int, at_most: int = 0) -> float:
    """Merge pairs of clusters, the best first, while the log joint rises, or until there are ``at_most``."""
    view, seats = state.view(side), state.seats[side]
    if seats.n_clusters < 2:
        return 0.0
    gains = np.full((seats.capacity, seats.capacity), -np.inf)
    saved = saved_room(view, seats.arrays.active)
    n_clusters, gain = _join(state.hyper, view, seats.arrays, seats.n_clusters, at_most or seats.capacity, gains, saved)
    state.absorb(view, n_clusters)
    return float(gain)


def divide_side(rng: np.random.Generator, state: Any, side: int, tries: int) -> float:
    """Try to divide every cluster, from so many pairs of seeds each, and keep what raises the log joint."""
    view, seats = state.view(side, max(8, state.seats[side].n_clusters)), state.seats[side]
    members = np.empty(seats.n_items, dtype=np.int64)
    saved = saved_room(view, seats.arrays.active)
    n_clusters, gain = _divide_all(
        state.hyper, rng, view, seats.arrays, seats.n_clusters, tries, members, saved, seats.slots_by_use.copy()
    )
    state.absorb(view, n_clusters)
    return float(gain)


@inner_kernel
def _pair_gain(model, view, seats, n_clusters, a, b, saved):
    """By how much the log joint rises when clusters a and b are joined, but for the factor of their number."""
    sizes, offset = view.sizes, seats.offset
    weights = log_size_weight(sizes[a], offset) + log_size_weight(sizes[b], offset)
    weights = log_size_weight(sizes[a] + sizes[b], offset) - weights
    if view.tied:
        keep(view, seats.active, saved, a, b)
        before = log_evidence(view, seats.active, n_clusters)
        unite(model, view, seats.active, n_clusters, a, b)
        gain = log_evidence(view, seats.active, n_clusters - 1) - before
        undo(view, seats.active, saved, a, b)
        return gain + weights
    mass, statistics = view.mass[a] + view.mass[b], view.work.statistics
    gain = log_sides(model, view, view.totals[0, a] + view.totals[0, b], 0.0, 1.0 * (sizes[a] + sizes[b]))
    gain -= view.sides[a] + view.sides[b]
    for p in range(view.others.size):
        other = view.others[p]
        for s in range(view.zero.size):
            statistics[0, s] = view.blocks[a, other, s] + view.blocks[b, other, s]
        gain += log_block(model, view.side, view.work, mass, view.other_mass[other])
        gain -= view.evidence[a, other] + view.evidence[b, other]
    return gain + weights


@kernel
def _join(model, view, seats, n_clusters, at_most, gains, saved):
    """Returns the number of clusters and what was gained; ``gains`` is room for those of all pairs."""
    active, log_v = seats.active, seats.log_v
    total = 0.0
    fresh = -1  # the cluster whose gains are out of date; -1: all of them
    while n_clusters > 1:
        best, one, other = -math.inf, -1, -1
        for p in range(n_clusters):
            a = active[p]
            for q in range(p + 1, n_clusters):
                b = active[q]
                if fresh < 0 or view.tied or a == fresh or b == fresh:
                    gains[a, b] = _pair_gain(model, view, seats, n_clusters, a, b, saved)
                    gains[b, a] = gains[a, b]
                if gains[a, b] > best:
                    best, one, other = gains[a, b], a, b
        best += log_v[n_clusters - 1] - log_v[n_clusters]
        if not (best > SMALLEST_GAIN or (n_clusters > at_most and one >= 0)):
            break
        for i in range(view.labels.size):
            if view.labels[i] == other:
                view.labels[i] = one
        n_clusters = unite(model, view, active, n_clusters, one, other)
        total += best
        fresh = one
    return n_clusters, total


@inner_kernel
def _settle_halves(model, view, seats, n_clusters, own, b, members, n_members):
    """Passes in which each member goes to the better of two halves; returns whether both have any left."""
    for _ in range(3):
        moved = 0
        for m in range(n_members):
            i = members[m]
            here = view.labels[i]
            if view.sizes[here] == 1:
                continue
            take(model, view, i, n_clusters)
            odds = math.log((view.sizes[own] + seats.offset) / (view.sizes[b] + seats.offset))
            odds += log_joined(model, view, i, own, n_clusters) - log_joined(model, view, i, b, n_clusters)
            goal = own if odds > 0.0 else b
            if abs(odds) < MARGIN:
                goal = here
            moved += goal != here
            put(model, view, i, goal, n_clusters)
        if moved == 0:
            return


@kernel
def _divide_all(model, rng, view, seats, n_clusters, tries, all_members, saved, slots):
    """Returns the number of clusters and what was gained; ``slots`` are those to be divided."""
    active, offset, log_v = seats.active, seats.offset, seats.log_v
    nothing = np.empty(0, dtype=np.bool_)
    total = 0.0
    first_clusters = n_clusters
    for at in range(first_clusters):
        own = slots[at]
        for _ in range(tries):
            size = view.sizes[own]
            if size < 2 or n_clusters >= view.sizes.size - 1 or not log_v[n_clusters + 1] > -math.inf:
                break
            n_members = collect(view.labels, all_members, own, own)
            i = take_random(rng, all_members, n_members)
            j = take_random(rng, all_members, n_members - 1)
            members = all_members[: n_members - 2]
            b = active[n_clusters]
            before = log_of_two(view, active, n_clusters, own, b) + log_size_weight(size, offset)
            keep(view, active, saved, own, b)
            shuffle(rng, members, members.size)
            divide(model, rng, view, seats, n_clusters, own, b, members, i, j, nothing, True)
            _settle_halves(model, view, seats, n_clusters + 1, own, b, all_members, n_members)
            after = log_of_two(view, active, n_clusters + 1, own, b)
            after += log_size_weight(view.sizes[own], offset) + log_size_weight(view.sizes[b], offset)
            gain = log_v[n_clusters + 1] - log_v[n_clusters] + after - before
            if gain > SMALLEST_GAIN:
                n_clusters += 1
                total += gain
                continue
            for m in range(n_members):
                view.labels[all_members[m]] = own
            undo(view, active, saved, own, b)
    return n_clusters, total
