"""Geweke's joint test with the numbers of the family in the joint law: drawn from their own laws, then by the move."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from countless.families import Table
from countless.families.learnable import Law
from countless.inference import Problem, State
from countless.models.mixture.moves.blocked import BlockedSweep
from countless.models.mixture.moves.hyperparameters import LearnHyperparameters
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import GibbsSweep
from countless.priors import FiniteDirichlet
from helpers import generator, with_slow, z_limit

from .joint import Model, collect, z_scores
from .test_geweke import FAMILIES, PRIORS

N_DRAWS = 1_800
# The laws of the defaults are wide: rows from them have moments that no mean of a few thousand draws comes near.
NARROWER = 0.4
LIMIT = z_limit(60)
CLEAR = LIMIT + 3.0
# Cells that are missing in the case that has some.
MISSING = [0, 3, 6], [0, 1, 0]


class Case(NamedTuple):
    """A family with all numbers set, those that are learned, the prior, the moves and whether cells are missing."""

    family: str
    learned: tuple[str, ...]
    prior: object
    moves: tuple = (GibbsSweep(), SplitMerge(3), LearnHyperparameters())
    some_missing: bool = False


# The offset of a location is in units of the columns, which new rows would change: locations stay where they are.
CASES = {
    "gaussian": Case("gaussian", ("mean_strength", "scale", "dof"), PRIORS["crp"]),
    "missing": Case("table", ("gaussian.mean_strength", "gaussian.scale"), PRIORS["crp"], some_missing=True),
    "poisson": Case("poisson", ("shape", "rate"), PRIORS["pitman-yor"]),
    "categorical": Case("categorical", ("concentration",), PRIORS["finite-dirichlet"]),
    "blocked": Case("poisson", ("shape",), FiniteDirichlet(3, 1.5), (BlockedSweep(), LearnHyperparameters())),
}


@cache
def _family(name):
    if name == "table":  # only tables have missing cells
        return Table({(0, 1): FAMILIES["gaussian"]}).resolve(np.array([[0.0, 0.5], [0.25, 1.0], [1.5, 0.75]]))
    return FAMILIES[name].resolve(np.empty((0, 2)))


def _law(case):
    law = _family(case.family).law(case.learned)
    return Law(law.places, NARROWER * law.spreads, law.strengths, NARROWER)


def _model(case, offsets):
    return Model(_family(case.family).with_tuned(_law(case).by_name(offsets)), case.prior)


def _from_prior(case, rng):
    offsets = _law(case).sample(rng)
    model = _model(case, offsets)
    labels, _ = model.draw_partition(rng)
    return offsets, labels, model.redraw_rows(labels, None, rng)


def _describe(case, offsets, labels, X):
    model = _model(case, offsets)
    numbers = model.describe(X, model.start(X, labels, float(model.prior.concentration)))
    for name, values in _law(case).by_name(offsets).items():
        numbers |= {
            f"first of {name}": values[0],
            f"square of {name}": float(np.mean(values**2)),
            f"{name} * clusters": float(np.mean(values)) * (labels.max() + 1),
        }
    return numbers


@cache
def _independent(name):
    rng = generator("independent learning", name)
    return collect(lambda: _describe(CASES[name], *_from_prior(CASES[name], rng)), N_DRAWS)


def _fill(state, X):
    """Let the missing cells of a state hold what ``X`` holds."""
    rows, columns, places = state.problem.missing
    state.rows[rows, places] = state.problem.local(X)[rows, columns]
    state.rebuild()


def _successive(case, moves, rng):
    at_default = _model(case, np.zeros(len(_law(case).spreads)))
    offsets, labels, X = _from_prior(case, rng)

    def one():
        nonlocal offsets, labels, X
        seen = X.copy()
        if case.some_missing:
            seen[MISSING] = np.nan
        problem = Problem.of(seen, at_default.family, case.prior, left_open=case.learned).learning()
        state = State(replace(problem, law=_law(case)), labels, float(case.prior.concentration))
        _fill(state, X)
        state.set_offsets(offsets)
        for move in moves:
            move.step(rng, state)
        offsets, labels = state.offsets.copy(), state.partition()
        if case.some_missing:
            X[MISSING] = state.missing_values()
        X = _model(case, offsets).redraw_rows(labels, X, rng)
        return _describe(case, offsets, labels, X)

    return collect(one, N_DRAWS)


def _worst(name, moves, rng):
    scores = z_scores(_independent(name), _successive(CASES[name], moves, rng))
    assert all(np.isfinite(score) for score in scores.values())
    return max((abs(score), found) for found, score in scores.items())


@pytest.mark.parametrize("name", with_slow(CASES, ["missing", "poisson"]))
def test_the_moves(name, rng):
    assert _worst(name, CASES[name].moves, rng) < (LIMIT, "")


class _Wider:
    """Learns under laws that are twice as wide as those of the joint law."""

    name = "wider"

    def step(self, rng, state):
        right = state.problem
        state.problem = replace(
            right, law=Law(right.law.places, 2.0 * right.law.spreads, right.law.strengths, 2.0 * NARROWER)
        )
        LearnHyperparameters().step(rng, state)
        state.problem = right


class _Blind:
    """Draws from the laws, whatever the rows."""

    name = "blind"

    def step(self, rng, state):
        state.set_offsets(state.problem.law.sample(rng))


class _Careless:
    """Leaves the same number in all missing cells."""

    name = "careless"

    def step(self, rng, state):
        rows, _, places = state.problem.missing
        state.rows[rows, places] = 2.0
        state.rebuild()


@pytest.mark.parametrize("broken", [_Wider(), _Blind()], ids=["wider", "blind"])
def test_a_broken_move_fails(broken, rng):
    assert _worst("poisson", (GibbsSweep(), broken), rng) > (CLEAR, "")


@pytest.mark.slow
def test_missing_cells_that_are_not_drawn_fail(rng):
    assert _worst("missing", (*CASES["missing"].moves, _Careless()), rng) > (CLEAR, "")
