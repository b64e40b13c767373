"""None, one or two attributes become one or two others or none, bias and the weights of all attributes integrated out.

What goes is taken out of the sums, and what comes is grown given the present weights of the attributes that stay: the
first in what they leave, then weights for it are drawn, then the second in what is left by both. New weights of all
attributes are drawn; given these the way back is followed, so that the acceptance has the evidence with bias and all
weights integrated out on both sides, as in ``moves.combine``. Growth begins at random objects of what goes (anywhere,
where nothing goes), and the way back at random objects of what came: each attribute of m objects gives a factor m.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.blocks import IntArray
from ..laws import log_seating
from ..linear import Linear
from ..state import Attribute, State
from .births import grown, growth_order, install
from .combine import adopt, joint_law, too_many
from .weights import MOST_UNKNOWNS

# How many attributes go, and how many come.
KINDS = ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2))


class Exchanges:
    """Propose such exchanges, a few times."""

    name = "exchange"

    def __init__(self, proposals: int = 2, kinds: tuple[tuple[int, int], ...] = KINDS) -> None:
        self.proposals, self.kinds = proposals, kinds

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        if 1 + len(state.all_weights()) > MOST_UNKNOWNS:
            return
        before = joint_law(state, state.attributes)
        for _ in range(self.proposals):
            n_old, n_new = self.kinds[int(rng.integers(len(self.kinds)))]
            if len(state.free) >= n_old:
                before = exchange(rng, state, n_old, n_new, before)


def exchange(rng: np.random.Generator, state: State, n_old: int, n_new: int, before: Linear) -> Linear:
    """Propose so many attributes in the place of so many random ones; returns the law of the weights in force."""
    everything, numbers, count = state.attributes, (state.bias, state.rest), len(state.free)
    chosen = state.n_known + rng.choice(count, n_old, replace=False) if n_old else np.empty(0, dtype=np.int64)
    old = [everything[number] for number in chosen]
    stay = [each for at, each in enumerate(everything) if at not in chosen]
    starts = _starts(rng, old, n_new, state.problem.n_objects)
    state.rest = state.rest.copy()
    for attribute in old:
        state.take_out(attribute)
    new, forward = _grow(rng, state, starts[:n_new])
    log_ratio = _log_choices(old, new, starts, count, state.problem.n_objects) - forward
    attributes = [*stay, *new]
    if not math.isfinite(log_ratio) or too_many(state, attributes):
        state.bias, state.rest = numbers
        return before
    after = joint_law(state, attributes)
    adopt(state, attributes, after, rng)
    log_ratio += after.log_evidence - before.log_evidence + _log_prior(state, new) - _log_prior(state, old)
    log_ratio += _back(rng, state, old, starts, len(stay))
    if math.log(1.0 - rng.random()) < log_ratio:
        return after
    state.attributes = everything
    state.bias, state.rest = numbers
    return before


def _starts(rng: np.random.Generator, old: list[Attribute], n_new: int, n: int) -> list[int]:
    """First objects: of what goes, or any where nothing does."""
    if not old:
        return [int(rng.integers(n))]
    homes = old if len(old) == 2 else old * max(1, n_new)
    return [int(rng.choice(np.flatnonzero(each.labels >= 0))) for each in homes]


def _grow(rng: np.random.Generator, state: State, starts: list[int]) -> tuple[list[Attribute], float]:
    """Grow attributes one after the other, and the log probability of it; they are taken out of the rest."""
    found, log_probability = [], 0.0
    for first in starts:
        one = grown(rng, state, growth_order(rng, state, first))
        log_probability += one.log_probability
        found.append(install(rng, state, one))
    return found, log_probability


def _back(rng: np.random.Generator, state: State, old: list[Attribute], starts: list[int], n_stay: int) -> float:
    """Log probability of growing what went, given new weights of what stays; the rest is as before afterwards."""
    kept, state.rest = state.rest, state.rest.copy()
    for attribute in state.attributes[n_stay:]:
        state.take_out(attribute)
    log_probability = 0.0
    for attribute, first in zip(old, starts, strict=False):
        one = grown(rng, state, growth_order(rng, state, first), attribute.labels)
        log_probability += one.log_probability
        install(rng, state, one)
    state.rest = kept
    return log_probability


def _log_choices(old: list[Attribute], new: list[Attribute], starts: list[int], count: int, n: int) -> float:
    """Log ratio of the choices of attributes and first objects on the way back and here."""
    value = sum(math.log(each.n_members) for each in old) - sum(math.log(each.n_members) for each in new)
    match len(old), len(new):
        case 0, 1:
            return value + math.log(n) - math.log(count + 1.0)
        case 1, 0:
            return value - math.log(n) + math.log(count)
        case 1, 2:
            return value + math.log(old[0].n_members) - math.log(count + 1.0)
        case 2, 1:
            if new[0].labels[starts[1]] < 0:
                return -math.inf
            return value - math.log(new[0].n_members) + math.log(count)
    return value


def _log_prior(state: State, attributes: list[Attribute]) -> float:
    """Log of the rates of attributes with their clusters."""
    return sum(log_rate(state, each.labels) for each in attributes)


def log_rate(state: State, labels: IntArray) -> float:
    """Log of the rate of an attribute with these clusters."""
    sizes = np.bincount(labels[labels >= 0]).astype(np.int64)
    rate = state.problem.laws.log_rate(sizes.sum(), state.problem.n_objects, state.concentration)
    return float(rate) + log_seating(sizes, state.cluster_concentration)
