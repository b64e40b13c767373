"""One attribute becomes two along its clusters, or two become the one whose clusters are where theirs meet.

Two attributes and their product explain the same matrix; the product needs more weights, and objects that move one by
one do not lead from it to the two (von Looz 2013, 4.3.1, merges them afterwards). The product of two is one attribute;
the way back is drawn cluster by cluster (``kernels.factor``). Bias and all weights are integrated out as in
``moves.combine``.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.blocks import IntArray, open_blocks
from ..kernels.factor import factor
from ..linear import Linear
from ..state import Attribute, State
from .combine import adopt, joint_law, too_many
from .exchange import log_rate
from .weights import MOST_UNKNOWNS

# Clusters that an attribute may have that becomes two.
MOST_CLUSTERS = 8


class Factors:
    """Propose that one attribute becomes two or two become one, a few times."""

    name = "factors"

    def __init__(self, proposals: int = 2) -> None:
        self.proposals = proposals

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        if not state.free or 1 + len(state.all_weights()) > MOST_UNKNOWNS:
            return
        before = joint_law(state, state.attributes)
        for _ in range(self.proposals):
            if rng.random() < 0.5:
                before = divide(rng, state, before)
            elif len(state.free) > 1:
                before = multiply(rng, state, before)


def product(one: IntArray, other: IntArray) -> IntArray:
    """The attribute of all objects that have one of two, in a cluster for each pair of clusters, by first object."""
    inside = (one >= 0) | (other >= 0)
    codes = (one + 1) * (int(other.max()) + 2) + other + 1
    values, first, inverse = np.unique(codes[inside], return_index=True, return_inverse=True)
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(values))
    found = np.full(len(one), -1, dtype=np.int64)
    found[inside] = rank[inverse.reshape(-1)]
    return found


def divide(rng: np.random.Generator, state: State, before: Linear) -> Linear:
    """Propose two attributes in the place of one; returns the law of the weights in force."""
    count = len(state.free)
    number = state.n_known + int(rng.integers(count))
    attribute = state.attributes[number].tidy()
    if attribute.n_clusters > MOST_CLUSTERS:
        return before
    kept, state.rest = state.rest, state.rest.copy()
    state.take_out(attribute)
    one, other, log_probability = _places(rng, state, attribute.labels)
    state.rest = kept
    if one.max() < 0 or other.max() < 0:
        return before
    lines = [np.where(attribute.labels >= 0, part[attribute.labels], -1) for part in (one, other)]
    log_ratio = -math.log(count + 1.0) - log_probability
    return _propose(rng, state, [number], lines, before, log_ratio)


def multiply(rng: np.random.Generator, state: State, before: Linear) -> Linear:
    """Propose the product of two attributes in their place; returns the law of the weights in force."""
    count = len(state.free)
    chosen = [state.n_known + int(at) for at in rng.choice(count, 2, replace=False)]
    lines = [state.attributes[number].labels for number in chosen]
    whole = product(*lines)
    if int(whole.max()) >= MOST_CLUSTERS:
        return before
    return _propose(rng, state, chosen, [whole], before, math.log(count))


def _propose(
    rng: np.random.Generator, state: State, chosen: list[int], lines: list[IntArray], before: Linear, log_ratio: float
) -> Linear:
    """Accept or refuse attributes with these labels in the place of some."""
    old, numbers = state.attributes, (state.bias, state.rest)
    gone = [old[number] for number in chosen]
    stay = [each for at, each in enumerate(old) if at not in chosen]
    attributes = [*stay, *(Attribute(line, gone[0].weights) for line in lines)]
    if too_many(state, attributes):
        return before
    after = joint_law(state, attributes)
    adopt(state, attributes, after, rng)
    if len(lines) == 1:
        kept, state.rest = state.rest, state.rest.copy()
        state.take_out(state.attributes[-1])
        log_ratio += _places(rng, state, lines[0], [each.labels for each in gone])[2]
        state.rest = kept
    log_ratio += after.log_evidence - before.log_evidence
    log_ratio += sum(log_rate(state, line) for line in lines) - sum(log_rate(state, each.labels) for each in gone)
    if math.log(1.0 - rng.random()) < log_ratio:
        return after
    state.attributes = old
    state.bias, state.rest = numbers
    return before


def _places(
    rng: np.random.Generator, state: State, labels: IntArray, target: list[IntArray] | None = None
) -> tuple[IntArray, IntArray, float]:
    """A place in two attributes for each cluster of one, which is taken out of the sums, and its log probability."""
    count = int(labels.max()) + 1
    blocks, pairs, problem = state.blocks(count, labels), state.pairs(), state.problem
    open_blocks(pairs, blocks, count)
    one, other = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    if target is not None:
        firsts = [int((labels == c).argmax()) for c in range(count)]
        one, other = (_renumbered(line[firsts]) for line in target)
    rest, pull = (np.ascontiguousarray(each[:count, :count]) for each in (blocks.rest, blocks.pull))
    sizes = blocks.sizes[:count].astype(np.float64)
    laws = problem.laws
    log_probability = factor(
        rng,
        rest,
        pull,
        pairs.mean,
        pairs.variance,
        pairs.directed,
        sizes,
        float(problem.n_objects),
        laws.breadth,
        state.cluster_concentration,
        target is not None,
        one,
        other,
    )
    return one, other, float(log_probability)


def _renumbered(codes: IntArray) -> IntArray:
    """Places numbered by first appearance; -1 stays."""
    number: dict[int, int] = {}
    return np.array([-1 if c < 0 else number.setdefault(int(c), len(number)) for c in codes], dtype=np.int64)
