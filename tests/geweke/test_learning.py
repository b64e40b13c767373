"""Geweke's joint test with the numbers of the family in the joint law: drawn from their own laws, then by the move."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from countless.families.learnable import Law
from countless.inference import Problem, State
from countless.models.mixture.moves.blocked import BlockedSweep
from countless.models.mixture.moves.hyperparameters import LearnHyperparameters
from countless.models.mixture.moves.split_merge import SplitMerge
from countless.models.mixture.moves.sweeps import GibbsSweep
from countless.priors import FiniteDirichlet
from helpers import generator, z_limit

from .joint import Model, collect, z_scores
from .test_geweke import FAMILIES, PRIORS

N_DRAWS = 1_800
# The laws of the defaults are wide: rows from them have moments that no mean of a few thousand draws comes near.
NARROWER = 0.4
LIMIT = z_limit(60)
CLEAR = LIMIT + 3.0


class Case(NamedTuple):
    """A family with all numbers set, those that are learned, the prior and the moves."""

    family: str
    learned: tuple[str, ...]
    prior: object
    moves: tuple = (GibbsSweep(), SplitMerge(3), LearnHyperparameters())


# The offset of a location is in units of the columns, which new rows would change: locations stay where they are.
CASES = {
    "gaussian": Case("gaussian", ("mean_strength", "scale", "dof"), PRIORS["crp"]),
    "poisson": Case("poisson", ("shape", "rate"), PRIORS["pitman-yor"]),
    "categorical": Case("categorical", ("concentration",), PRIORS["finite-dirichlet"]),
    "blocked": Case("poisson", ("shape",), FiniteDirichlet(3, 1.5), (BlockedSweep(), LearnHyperparameters())),
}


def _law(case):
    law = FAMILIES[case.family].resolve(np.empty((0, 2))).law(case.learned)
    return Law(law.places, NARROWER * law.spreads, law.strengths, NARROWER)


def _model(case, offsets):
    family = FAMILIES[case.family].resolve(np.empty((0, 2))).with_tuned(_law(case).by_name(offsets))
    return Model(family, case.prior)


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


def _successive(case, moves, rng):
    at_default = _model(case, np.zeros(len(_law(case).spreads)))
    offsets, labels, X = _from_prior(case, rng)

    def one():
        nonlocal offsets, labels, X
        problem = Problem.of(X, at_default.family, case.prior, left_open=case.learned).learning()
        state = State(replace(problem, law=_law(case)), labels, float(case.prior.concentration))
        state.set_offsets(offsets)
        for move in moves:
            move.step(rng, state)
        offsets, labels = state.offsets.copy(), state.partition()
        X = _model(case, offsets).redraw_rows(labels, X, rng)
        return _describe(case, offsets, labels, X)

    return collect(one, N_DRAWS)


def _worst(name, moves, rng):
    scores = z_scores(_independent(name), _successive(CASES[name], moves, rng))
    assert all(np.isfinite(score) for score in scores.values())
    return max((abs(score), found) for found, score in scores.items())


@pytest.mark.parametrize("name", CASES)
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


@pytest.mark.parametrize("broken", [_Wider(), _Blind()], ids=["wider", "blind"])
def test_a_broken_move_fails(broken, rng):
    assert _worst("poisson", (GibbsSweep(), broken), rng) > (CLEAR, "")
