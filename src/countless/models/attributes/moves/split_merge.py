"""Two clusters of one attribute become one, or one becomes two: sequential allocation (Dahl 2005)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kernels.blocks import IntArray, draw_weights, open_blocks
from ..kernels.divide import divide
from ..laws import log_seating
from ..state import Attribute, State
from .births import NOBODY


class SplitMerge:
    """For each attribute of several objects, one proposal to split a cluster or to merge two."""

    name = "split-merge"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        for number in range(state.n_known, len(state.attributes)):
            if state.attributes[number].n_members > 1:
                split_or_merge(rng, state, number)


class Pair(NamedTuple):
    """Two random members of an attribute, and what follows from them.

    Attributes
    ----------
    divides : bool
        Whether they are in one cluster, which is to be divided; else their clusters are to be joined.
    merged : array (object,)
        Labels with all objects of their clusters in one.
    order : array
        These objects, the two members first.
    """

    divides: bool
    merged: IntArray
    order: IntArray


def random_pair(rng: np.random.Generator, labels: IntArray) -> Pair:
    """Two random members of an attribute."""
    pair = rng.choice(np.flatnonzero(labels >= 0), 2, replace=False).astype(np.int64)
    one, other = int(labels[pair[0]]), int(labels[pair[1]])
    rest = np.flatnonzero((labels >= 0) & ((labels == one) | (labels == other)))
    order = np.concatenate([pair, rng.permutation(rest[(rest != pair[0]) & (rest != pair[1])])]).astype(np.int64)
    merged = labels.copy()
    merged[order] = one
    inside = merged >= 0
    merged[inside] = np.unique(merged[inside], return_inverse=True)[1]
    return Pair(one == other, merged, order)


def divided(rng: np.random.Generator, state: State, pair: Pair, target: IntArray = NOBODY) -> tuple[IntArray, float]:
    """The merged cluster in two parts, and the log probability of dividing it so; a target is followed.

    The attribute must be taken out of the sums.
    """
    count = int(pair.merged.max()) + 1
    blocks = state.blocks(count + 1, pair.merged)
    slots = NOBODY
    if target.size:
        slots = np.where(target == target[pair.order[0]], 0, 1).astype(np.int64)
    log_probability = divide(rng, state.pairs(), blocks, count, pair.order, slots)
    return blocks.labels.copy(), log_probability


def split_or_merge(rng: np.random.Generator, state: State, number: int) -> bool:
    """Two random members: split their cluster, or merge their clusters; returns whether it happened."""
    attribute = state.attributes[number]
    state.take_out(attribute)
    pair = random_pair(rng, attribute.labels)
    parts, log_probability = divided(rng, state, pair, NOBODY if pair.divides else attribute.labels)
    split, proposed = (parts, parts) if pair.divides else (attribute.labels, pair.merged)
    log_ratio = _log_density(state, split) - _log_density(state, pair.merged) - log_probability
    taken = math.log(1.0 - rng.random()) < (log_ratio if pair.divides else -log_ratio)
    _install(rng, state, number, proposed if taken else attribute.labels)
    return taken


def _log_density(state: State, labels: IntArray) -> float:
    """Log of the prior of the clusters times the evidence of their blocks."""
    count = int(labels.max()) + 1
    blocks = state.blocks(count, labels)
    open_blocks(state.pairs(), blocks, count)
    lower = np.tril_indices(count) if not state.problem.directed else np.indices((count, count)).reshape(2, -1)
    return float(blocks.value[lower[0], lower[1]].sum()) + log_seating(
        blocks.sizes[:count], state.cluster_concentration
    )


def _install(rng: np.random.Generator, state: State, number: int, labels: IntArray) -> None:
    count = int(labels.max()) + 1
    blocks = state.blocks(count, labels)
    open_blocks(state.pairs(), blocks, count)
    weights = np.empty((count, count))
    draw_weights(rng, state.pairs(), blocks, count, weights)
    attribute = Attribute(blocks.labels.copy(), weights)
    state.attributes[number] = attribute
    state.put_in(attribute)
