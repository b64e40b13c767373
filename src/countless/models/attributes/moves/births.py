"""A whole attribute comes or goes, or is grown again: proposals by growth from one object, weights integrated out.

A birth takes a random object, an order of the others, grows an attribute A along it in what the present attributes
leave of the matrix, and is accepted with

    rate(A) evidence(A) / q(A | order) x n / |A| / (number of attributes after it),

n / |A| because a death begins at one of the members of A. Orders depend on the first object and on what is left without
A, so that their probability is the same on both ways. A regrowth is a death and a birth in one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kernels.blocks import Blocks, FloatArray, IntArray, draw_weights
from ..kernels.grow import grow
from ..kernels.sweep import Seating
from ..laws import log_seating
from ..state import Attribute, State

NOBODY = np.empty(0, dtype=np.int64)


class Grown(NamedTuple):
    """A grown attribute, not yet a part of the state.

    Attributes
    ----------
    blocks : Blocks
        With its labels.
    n_clusters : int
    score : float
        Log of rate times evidence over the probability of growing like this, and over the number of members.
    log_probability : float
        Of growing like this.
    """

    blocks: Blocks
    n_clusters: int
    score: float
    log_probability: float


class Births:
    """Propose new attributes, or the end of one, a few times."""

    name = "births"

    def __init__(self, proposals: int = 4) -> None:
        self.proposals = proposals

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        for _ in range(self.proposals):
            if rng.random() < 0.5:
                birth(rng, state)
            else:
                death(rng, state)


class Regrowths:
    """Take one attribute out and grow another one from one of its objects."""

    name = "regrowth"

    def __init__(self, proposals: int = 2) -> None:
        self.proposals = proposals

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        for _ in range(self.proposals):
            if state.free:
                regrow(rng, state, state.n_known + int(rng.integers(len(state.free))))


def growth_order(rng: np.random.Generator, state: State, first: int) -> IntArray:
    """The first object and all others: by chance, or those first whose pair with it is farthest from explained."""
    n = state.problem.n_objects
    others = rng.permutation(n)
    others = others[others != first]
    if rng.random() < 0.7:
        strength = np.abs(state.rest[first, others])
        if state.problem.directed:
            strength = strength + np.abs(state.rest[others, first])
        others = others[np.argsort(-strength, kind="stable")]
    return np.concatenate([[first], others]).astype(np.int64)


def grown(rng: np.random.Generator, state: State, order: IntArray, target: IntArray = NOBODY) -> Grown:
    """Grow an attribute along an order, or follow one."""
    problem, pairs = state.problem, state.pairs()
    seating = Seating(problem.laws.breadth, state.cluster_concentration, False)
    # A growth that runs out of room begins anew with the same numbers.
    room, stream = 8, rng.bit_generator.state
    while True:
        blocks = state.blocks(room)
        rng.bit_generator.state = stream
        n_clusters, n_members, log_probability, value = grow(rng, pairs, blocks, seating, order, target)
        if n_clusters >= 0:
            break
        room *= 3
    sizes = blocks.sizes[:n_clusters]
    rate = float(problem.laws.log_rate(n_members, problem.n_objects, state.concentration))
    score = rate + log_seating(sizes, state.cluster_concentration) + value - log_probability
    return Grown(blocks, n_clusters, score - math.log(n_members), log_probability)


def install(rng: np.random.Generator, state: State, found: Grown) -> Attribute:
    """The grown attribute with weights, taken out of the rest."""
    weights: FloatArray = np.empty((found.n_clusters, found.n_clusters))
    draw_weights(rng, state.pairs(), found.blocks, found.n_clusters, weights)
    attribute = Attribute(found.blocks.labels.copy(), weights)
    state.put_in(attribute)
    return attribute


def birth(rng: np.random.Generator, state: State) -> bool:
    """Propose a new attribute; returns whether it came."""
    n = state.problem.n_objects
    found = grown(rng, state, growth_order(rng, state, int(rng.integers(n))))
    log_ratio = found.score + math.log(n) - math.log(len(state.free) + 1.0)
    if math.log(1.0 - rng.random()) >= log_ratio:
        return False
    state.attributes.append(install(rng, state, found))
    return True


def death(rng: np.random.Generator, state: State) -> bool:
    """Propose that an attribute goes; returns whether it went."""
    if not state.free:
        return False
    number = state.n_known + int(rng.integers(len(state.free)))
    attribute = state.attributes[number]
    first = int(rng.choice(np.flatnonzero(attribute.labels >= 0)))
    state.take_out(attribute)
    found = grown(rng, state, growth_order(rng, state, first), attribute.labels)
    log_ratio = math.log(len(state.free)) - math.log(state.problem.n_objects) - found.score
    if math.log(1.0 - rng.random()) < log_ratio:
        del state.attributes[number]
        return True
    # Its weights were integrated out: they are drawn anew.
    state.attributes[number] = install(rng, state, found)
    return False


def regrow(rng: np.random.Generator, state: State, number: int) -> bool:
    """Propose another attribute in the place of one; returns whether it was taken."""
    attribute = state.attributes[number]
    first = int(rng.choice(np.flatnonzero(attribute.labels >= 0)))
    state.take_out(attribute)
    order = growth_order(rng, state, first)
    before, after = grown(rng, state, order, attribute.labels), grown(rng, state, order)
    taken = math.log(1.0 - rng.random()) < after.score - before.score
    state.attributes[number] = install(rng, state, after if taken else before)
    return taken
