"""Whole paths at once, given parameters and transition probabilities that are drawn for the occasion.

Given the path and the base weights, draw the parameters of all states and the transition probabilities; then a path
from its conditional by filtering forward and sampling backward; then forget what was drawn. What makes the number of
states finite is

- *WholePath*: a slice under the base weights. With m the least base weight of a state in use, s is drawn from a density
  f on (0, m); states whose base weight is above s are listed (there are finitely many), the path is drawn among them,
  and accepted with probability F(m) / F(m') with F the distribution function of f, as f(s) / F(m) is what the path has
  to do with s (compare Kalli, Griffin and Walker 2011). Laws with a bound on the number of states need no slice;
- *BeamPath*: slices under the transition probabilities of the path (Van Gael, Saatci, Teh and Ghahramani 2008).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....core.jit import kernel
from ....partitions.clusters import clear
from ....partitions.seats import FloatArray
from ..kernels.forward import NO_SLICES, NOBODY, draw_path, forward
from ..kernels.simplices import draw_simplices
from ..state import BLOCK, State, naturals_of_slots

# The density f: uniform below KNEE, with this mass; uniform in the log above it.
KNEE, BELOW = 3e-3, 0.25
# States that a slice may ask for; a smaller slice would ask for more.
MOST_STATES = 500


def slice_mass(least: float) -> float:
    """F: probability of a slice below ``least``."""
    if least <= KNEE:
        return BELOW * least / KNEE
    return BELOW + (1.0 - BELOW) * math.log(least / KNEE) / -math.log(KNEE)


def draw_slice(rng: np.random.Generator, least: float) -> float:
    """A slice below ``least``."""
    mass = rng.random() * slice_mass(least)
    if mass <= BELOW:
        return KNEE * mass / BELOW
    return KNEE * math.exp((mass - BELOW) / (1.0 - BELOW) * -math.log(KNEE))


class Listed(NamedTuple):
    """States that a path is drawn among: those in use come first."""

    weights: FloatArray
    rest: float
    start: FloatArray
    transition: FloatArray
    scores: FloatArray


class WholePath:
    """Draw the whole path anew."""

    name = "whole path"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        least = float(state.weights.min())
        bounded = state.fixed.most is not None
        level = 0.0 if bounded else draw_slice(rng, least)
        weights, rest = _list_states(rng, state, level)
        start, transition = draw_transitions(rng, state, weights, rest)
        scores = draw_scores(rng, state, len(weights))
        forward(scores, state.problem.first, start, transition, NO_SLICES, NOBODY)
        labels = np.empty(state.n_rows, dtype=np.int64)
        draw_path(rng, scores, state.problem.first, transition, NO_SLICES, labels)
        if not bounded:
            new = float(weights[np.unique(labels)].min())
            if rng.random() * slice_mass(new) > slice_mass(least):
                return
        state.set_path(labels, weights, rest)


class BeamPath:
    """Draw the whole path anew among transitions that are above a slice under each of those of the path."""

    name = "beam"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        first, labels = state.problem.first, state.labels
        weights, rest = state.weights, state.rest
        start, transition = draw_transitions(rng, state, weights, rest, with_rest=True)
        before = np.append(0, labels[:-1])
        taken = np.where(first, start[labels], transition[before, labels])
        slices = taken * (1.0 - rng.random(state.n_rows))
        least = slices.min()
        weights, rest, start, transition = _extend(rng, state, weights, rest, start, transition, least)
        scores = draw_scores(rng, state, len(weights))
        forward(scores, first, start, transition, slices, NOBODY)
        drawn = np.empty(state.n_rows, dtype=np.int64)
        draw_path(rng, scores, first, transition, slices, drawn)
        state.set_path(drawn, weights, rest)


def _list_states(rng: np.random.Generator, state: State, level: float) -> tuple[FloatArray, float]:
    """Base weights of the states in use and of further ones above ``level``; what all others have together."""
    fixed, weights, rest = state.fixed, list(state.weights), state.rest
    n, left = state.n_states, 0.0
    while rest > level:
        opened, rest = fixed.open_weights(rng, n, rest, 1)
        n += 1
        if opened[0] > level:
            weights.append(opened[0])
        else:
            left += float(opened[0])
    return np.array(weights), rest + left


def draw_transitions(
    rng: np.random.Generator, state: State, weights: FloatArray, rest: float, with_rest: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Probabilities of first states, and transition probabilities (state, state), given the path and base weights.

    What goes to states that are not listed is left out; ``with_rest`` adds it as a last column.
    """
    n, k = len(weights), state.n_states
    shapes = np.zeros((n + 1, n + 1))
    shapes[: k + 1, :k] = state.counts
    shapes[:, :n] += state.fixed.concentration * weights
    shapes[:, n] = state.fixed.concentration * rest
    shapes[np.arange(1, n + 1), np.arange(n)] += state.fixed.stay
    draw_simplices(rng, shapes)
    drawn = shapes if with_rest else shapes[:, :n]
    return np.ascontiguousarray(drawn[0]), np.ascontiguousarray(drawn[1:])


def _extend(
    rng: np.random.Generator,
    state: State,
    weights: FloatArray,
    rest: float,
    start: FloatArray,
    transition: FloatArray,
    least: float,
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """Break sticks of the rest, and of what each row has left for it, until nothing that is left exceeds ``least``."""
    fixed = state.fixed
    rows = np.concatenate([start[None], transition])
    while rest > 0.0 and rows[:, -1].max() > least and len(weights) < state.n_states + MOST_STATES:
        opened, after = fixed.open_weights(rng, len(weights), rest, 1)
        mass = np.maximum(fixed.concentration * np.array([opened[0], after]), 1e-290)
        weights, rest = np.append(weights, opened), after
        shares = np.ones(len(rows)) if after == 0.0 else rng.beta(mass[0], mass[1], size=len(rows))
        rows = np.concatenate(
            [rows[:, :-1], (rows[:, -1] * shares)[:, None], (rows[:, -1] * (1.0 - shares))[:, None]], 1
        )
        fresh = np.zeros((1, len(weights) + 1))
        fresh[0, :-1], fresh[0, -1] = fixed.concentration * weights, fixed.concentration * rest
        fresh[0, len(weights) - 1] += fixed.stay
        draw_simplices(rng, fresh)
        rows = np.concatenate([rows, fresh])
    return weights, rest, np.ascontiguousarray(rows[0, :-1]), np.ascontiguousarray(rows[1:, :-1])


def draw_scores(rng: np.random.Generator, state: State, n_states: int) -> FloatArray:
    """Log density of each step under parameters that are drawn for each state; states not in use have the prior."""
    state.reserve(n_states)
    clusters = state.clusters.arrays
    _clear(state.hyper, clusters, state.n_states, n_states)
    naturals = np.zeros((n_states, clusters.statistics.shape[1]))
    naturals_of_slots(state.hyper, rng, clusters, n_states, naturals)
    return scores_of(state, naturals)


def scores_of(steps: Any, naturals: FloatArray) -> FloatArray:
    """Scores of all steps (step, state), a block at a time, of a state or a problem."""
    n = steps.n_rows
    scores = np.empty((n, len(naturals)))
    for begin in range(0, n, BLOCK):
        which = slice(begin, min(begin + BLOCK, n))
        np.matmul(steps.statistics(which), naturals.T, out=scores[which])
    return scores


@kernel
def _clear(family, clusters, begin, end):
    for k in range(begin, end):
        clear(family, clusters, k)
