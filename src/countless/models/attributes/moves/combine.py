"""Clusters of an attribute are joined or divided with bias and the weights of all attributes integrated out.

Where attributes overlap, what one cluster has too many is made up for by the weights of the others: given these weights
nothing can be joined. Here a division is proposed given the present weights (``kernels.divide``), new weights of all
attributes are drawn, and the acceptance has the evidence with all of them integrated out on both sides,

    evidence(new) prior(new) q(old | new, weights drawn) / (evidence(old) prior(old) q(new | old, present weights)).
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.blocks import IntArray
from ..laws import log_seating
from ..linear import Linear
from ..state import Attribute, State
from .births import NOBODY
from .split_merge import Pair, divided, random_pair
from .weights import MOST_UNKNOWNS


class Combine:
    """Propose to join two clusters of one attribute, or to divide one, a few times."""

    name = "combine"

    def __init__(self, proposals: int = 2) -> None:
        self.proposals = proposals

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        if 1 + len(state.all_weights()) > MOST_UNKNOWNS:
            return
        large = [at for at in range(state.n_known, len(state.attributes)) if state.attributes[at].n_members > 1]
        if not large:
            return
        before = joint_law(state, state.attributes)
        for _ in range(self.proposals):
            before = combine(rng, state, large[int(rng.integers(len(large)))], before)


def joint_law(state: State, attributes: list[Attribute]) -> Linear:
    """The normal law of bias and all weights, had the state these attributes."""
    problem = state.problem
    labels = np.array([each.labels for each in attributes]).reshape(-1, problem.n_objects)
    sizes = np.array([int(each.labels.max()) + 1 for each in attributes], dtype=np.int64)
    return Linear.of(problem, labels, sizes, state.pull, state.pairs().scale, state.weight_variance)


def too_many(state: State, attributes: list[Attribute]) -> bool:
    """Whether attributes have more weights than are worth their joint law: such states are neither left nor entered."""
    sizes = np.array([int(each.labels.max()) + 1 for each in attributes])
    counts = sizes * sizes if state.problem.directed else sizes * (sizes + 1) // 2
    return 1 + int(counts.sum()) > MOST_UNKNOWNS


def adopt(state: State, attributes: list[Attribute], law: Linear, rng: np.random.Generator) -> None:
    """Use other attributes, with bias and weights drawn from their law."""
    state.bias, weights = law.split(law.draw(rng))
    state.attributes = [Attribute(each.labels, square) for each, square in zip(attributes, weights, strict=True)]
    state.rebuild()


def combine(rng: np.random.Generator, state: State, number: int, before: Linear) -> Linear:
    """Two random members of an attribute: divide their cluster or join their clusters; returns the law in force."""
    old, numbers = state.attributes, (state.bias, state.rest)
    labels = old[number].labels
    pair = random_pair(rng, labels)
    new, log_forward, log_back = pair.merged, 0.0, 0.0
    if pair.divides:
        new, log_forward = _divide(rng, state, number, pair, NOBODY)
    attributes = [*old[:number], Attribute(new, old[number].weights), *old[number + 1 :]]
    if too_many(state, attributes):
        return before
    after = joint_law(state, attributes)
    adopt(state, attributes, after, rng)
    if not pair.divides:
        _, log_back = _divide(rng, state, number, pair, labels)
    log_ratio = after.log_evidence - before.log_evidence + log_back - log_forward
    log_ratio += _log_prior(new, state.cluster_concentration) - _log_prior(labels, state.cluster_concentration)
    if math.log(1.0 - rng.random()) < log_ratio:
        return after
    state.attributes = old
    state.bias, state.rest = numbers
    return before


def _divide(
    rng: np.random.Generator, state: State, number: int, pair: Pair, target: IntArray
) -> tuple[IntArray, float]:
    """Divide a cluster given the weights of the other attributes; the rest is as before afterwards."""
    kept, state.rest = state.rest, state.rest.copy()
    state.take_out(state.attributes[number])
    found = divided(rng, state, pair, target)
    state.rest = kept
    return found


def _log_prior(labels: IntArray, concentration: float) -> float:
    return log_seating(np.bincount(labels[labels >= 0]).astype(np.int64), concentration)
