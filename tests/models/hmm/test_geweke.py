"""Geweke's joint test: every move leaves the joint law of numbers, path and rows alone; broken ones do not."""

from __future__ import annotations

import numpy as np
import pytest

from countless.families import Poisson
from countless.models.hmm.moves.numbers import BaseUpdate
from countless.models.hmm.moves.paths import BeamPath, WholePath
from countless.models.hmm.moves.split_merge import SplitMerge
from countless.models.hmm.moves.sweeps import DirectSweep
from countless.models.hmm.problem import Problem
from countless.models.hmm.state import State
from countless.priors import Gamma
from countless.transitions import HDP, StickyHDP
from geweke.joint import collect, z_scores
from helpers import generator, with_slow, z_limit

LENGTHS = np.array([5, 3])
N_DRAWS = 2_500
FAMILY = Poisson([3.0], [1.0])
LAWS = {
    "hdp": HDP(1.3, 0.7),
    "sticky": StickyHDP(1.3, 0.7, 2.0),
    "learned": StickyHDP(Gamma(2.0, 1.5), Gamma(2.0, 2.0), Gamma(2.0, 1.0)),
}
LIMIT = z_limit(80)
CLEAR = LIMIT + 3.0


def _rows(labels, X, rng):
    """Rows of each state from parameters drawn given its present rows; without rows, from the prior."""
    out = np.empty((len(labels), 1))
    for k in range(labels.max() + 1):
        given = None if X is None else np.ascontiguousarray(X[labels == k])
        parameters = FAMILY.resolve(np.zeros((1, 1))).draw_parameters(rng, given)
        out[labels == k] = FAMILY.draw_rows(parameters, int(np.sum(labels == k)), rng)
    return out


def _start(law, X, labels, fixed, weights=None, rest=0.0):
    state = State(Problem.of(X, LENGTHS, FAMILY.resolve(X), law), labels, fixed)
    if weights is not None:
        state.weights, state.rest = weights, rest
    return state


def _describe(law, X, state):
    sizes = state.sizes
    found = {
        "states": float(state.n_states),
        "squares": float(sizes @ sizes),
        "stays": float(np.trace(state.counts[1:])),
        "same start": float(state.labels[0] == state.labels[LENGTHS[0]]),
        "mean": float(X.mean()),
        "square": float((X**2).mean()),
    }
    for name, value in law.numbers_of(state.fixed).items():
        found |= {name: float(np.log(value)), f"{name} * states": float(np.log(value)) * (state.n_states - 2.5)}
    return found


def _independent(law, rng, n_draws=N_DRAWS):
    def one():
        fixed = law.draw_fixed(rng)
        labels = fixed.sample(LENGTHS, rng)
        X = _rows(labels, None, rng)
        return _describe(law, X, _start(law, X, labels, fixed))

    return collect(one, n_draws)


def _successive(law, moves, rng, n_draws=N_DRAWS):
    fixed = law.draw_fixed(rng)
    labels = fixed.sample(LENGTHS, rng)
    X = _rows(labels, None, rng)
    state = _start(law, X, labels, fixed)
    BaseUpdate().step(rng, state)

    def one():
        nonlocal X, state
        for move in moves:
            move.step(rng, state)
        X = _rows(state.labels, X, rng)
        state = (
            _start(law, X, state.labels, state.fixed, state.weights, state.rest)
            if _ordered(state)
            else _renamed(law, X, state)
        )
        return _describe(law, X, state)

    return collect(one, n_draws)


def _ordered(state):
    return np.array_equal(state.labels, state.partition())


def _renamed(law, X, state):
    """The same with states numbered by first appearance, as a new state has them."""
    order = np.array([state.labels[np.flatnonzero(state.partition() == k)[0]] for k in range(state.n_states)])
    return _start(law, X, state.partition(), state.fixed, state.weights[order], state.rest)


def _worst(law, moves, rng):
    right = _independent(LAWS[law], generator("independent", law))
    scores = z_scores(right, _successive(LAWS[law], moves, rng))
    assert all(np.isfinite(score) for score in scores.values())
    return max((abs(score), name) for name, score in scores.items())


MOVES = {
    "direct": lambda: [DirectSweep(), BaseUpdate()],
    "whole": lambda: [WholePath(), WholePath(), BaseUpdate()],
    "beam": lambda: [BeamPath(), BeamPath(), BaseUpdate()],
    "split-merge": lambda: [SplitMerge(4), BaseUpdate()],
}


@pytest.mark.parametrize("law", ["sticky", pytest.param("hdp", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", with_slow(MOVES, ("beam", "split-merge")))
def test_every_move(name, law, rng):
    assert _worst(law, MOVES[name](), rng) < (LIMIT, "")


@pytest.mark.slow
def test_learned_numbers(rng):
    assert _worst("learned", [DirectSweep(), WholePath(), BaseUpdate()], rng) < (LIMIT, "")


class _Tilted:
    """A sweep or path that is given another concentration."""

    name = "tilted"

    def __init__(self, move):
        self._move = move

    def step(self, rng, state):
        right = state.fixed
        state.fixed = right.with_numbers({"concentration": 3.0 * right.concentration})
        self._move.step(rng, state)
        state.fixed = right


@pytest.mark.parametrize(
    "move", [WholePath, *(pytest.param(move, marks=pytest.mark.slow) for move in (DirectSweep, BeamPath))]
)
def test_a_broken_move_fails(move, rng):
    assert _worst("sticky", [_Tilted(move()), BaseUpdate()], rng) > (CLEAR, "")


@pytest.mark.slow
def test_a_broken_split_merge_fails(rng, monkeypatch):
    from countless.models.hmm.moves import split_merge

    monkeypatch.setattr(split_merge.Launch, "log_prob", lambda self, labels: 0.0)
    assert _worst("sticky", [SplitMerge(4), BaseUpdate()], rng) > (CLEAR, "")


@pytest.mark.slow
def test_numbers_that_are_drawn_from_their_prior_fail(rng):
    class Blind:
        name = "blind"

        def step(self, rng, state):
            state.fixed = state.problem.transitions.draw_fixed(rng)

    assert _worst("learned", [DirectSweep(), BaseUpdate(), Blind()], rng) > (CLEAR, "")
