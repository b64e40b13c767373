"""A whole cluster leaves an attribute, or one of objects without the attribute joins it, all weights integrated out.

An attribute that everybody has, with one cluster that it means nothing for, is an attribute of fewer objects: no object
of that cluster can leave alone. A cluster is grown from a random object that lacks the attribute: each other one joins
it or not, given those before it. New weights are drawn and the way back is followed as in ``moves.combine``.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.blocks import IntArray
from ..kernels.join import join
from ..linear import Linear
from ..state import Attribute, State
from .births import NOBODY
from .combine import adopt, joint_law, too_many
from .exchange import log_rate
from .weights import MOST_UNKNOWNS


class Enlarge:
    """Propose that a cluster joins or leaves an attribute, a few times."""

    name = "enlarge"

    def __init__(self, proposals: int = 2) -> None:
        self.proposals = proposals

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        if not state.free or 1 + len(state.all_weights()) > MOST_UNKNOWNS:
            return
        before = joint_law(state, state.attributes)
        for _ in range(self.proposals):
            number = state.n_known + int(rng.integers(len(state.free)))
            propose = enlarge if rng.random() < 0.5 else lessen
            before = propose(rng, state, number, before)


def enlarge(rng: np.random.Generator, state: State, number: int, before: Linear) -> Linear:
    """Propose a further cluster; returns the law of the weights in force."""
    labels = state.attributes[number].labels
    outside = np.flatnonzero(labels < 0)
    if not outside.size:
        return before
    first = int(rng.choice(outside))
    new, log_forward = _joined(rng, state, number, labels, first, NOBODY)
    size, count = int(np.count_nonzero((new >= 0) & (labels < 0))), int(new.max()) + 1
    choices = math.log(outside.size) - math.log(size) - math.log(count)
    return _propose(rng, state, number, new, before, choices - log_forward)


def lessen(rng: np.random.Generator, state: State, number: int, before: Linear) -> Linear:
    """Propose that a cluster leaves; returns the law of the weights in force."""
    attribute = state.attributes[number]
    labels, count = attribute.labels, attribute.n_clusters
    if count < 2:
        return before
    gone = int(rng.integers(count))
    members = np.flatnonzero(labels == gone)
    new = np.where(labels == gone, -1, np.where(labels > gone, labels - 1, labels))
    choices = math.log(members.size) + math.log(count) - math.log(np.count_nonzero(new < 0))
    # The cluster that would come back has the last number.
    target = np.where(labels == gone, count - 1, new)
    return _propose(rng, state, number, new, before, choices, (int(rng.choice(members)), target))


def _propose(
    rng: np.random.Generator,
    state: State,
    number: int,
    new: IntArray,
    before: Linear,
    log_ratio: float,
    back: tuple[int, IntArray] | None = None,
) -> Linear:
    """Accept or refuse other labels of an attribute; ``back`` is the first object and the labels of the way back."""
    old, numbers = state.attributes, (state.bias, state.rest)
    attributes = [*old[:number], Attribute(new, old[number].weights), *old[number + 1 :]]
    if too_many(state, attributes):
        return before
    after = joint_law(state, attributes)
    adopt(state, attributes, after, rng)
    if back is not None:
        log_ratio += _joined(rng, state, number, new, back[0], back[1])[1]
    log_ratio += after.log_evidence - before.log_evidence + log_rate(state, new) - log_rate(state, old[number].labels)
    if math.log(1.0 - rng.random()) < log_ratio:
        return after
    state.attributes = old
    state.bias, state.rest = numbers
    return before


def _joined(
    rng: np.random.Generator, state: State, number: int, labels: IntArray, first: int, target: IntArray
) -> tuple[IntArray, float]:
    """Labels with a further cluster grown from an object, and its log probability given the weights of the others."""
    kept, state.rest = state.rest, state.rest.copy()
    state.take_out(state.attributes[number])
    others = np.flatnonzero(labels < 0)
    order = np.concatenate([[first], rng.permutation(others[others != first])]).astype(np.int64)
    count = int(labels.max()) + 1
    blocks = state.blocks(count + 1, labels)
    total = state.seating(number).total + 1.0
    log_probability = join(rng, state.pairs(), blocks, count, total, order, target)
    state.rest = kept
    return blocks.labels.copy(), log_probability
