"""Geweke's joint test with hyperparameters in the joint law: drawn from their prior, then by the move."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from countless.inference import Problem, State
from countless.models.mixture.moves.hyperparameters import HyperparameterUpdate
from countless.partitions.moves.sweeps import GibbsSweep
from helpers import generator, with_slow, z_limit

from .joint import Model, z_scores
from .test_geweke import FAMILIES, PRIORS

SPREAD = 0.4
N_DRAWS = 3_000
CASES = {"gaussian": ("gaussian", "crp", ("scale", "mean_strength")), "poisson": ("poisson", "pitman-yor", ("rate",))}
LIMIT = z_limit(30)
CLEAR = LIMIT + 3.0


def _tuned(case, logs):
    family, prior, _ = CASES[case]
    return Model(FAMILIES[family].resolve(np.empty((0, 2))).with_tuned(logs), PRIORS[prior])


def _describe(case, X, labels, logs):
    model = _tuned(case, logs)
    numbers = model.describe(X, model.start(X, labels, float(model.prior.concentration)))
    for name, value in logs.items():
        numbers |= {name: value, f"square of {name}": value**2, f"{name} * clusters": value * (labels.max() + 1)}
    return numbers


def _from_prior(case, rng):
    logs = {name: rng.normal(0.0, SPREAD) for name in CASES[case][2]}
    model = _tuned(case, logs)
    labels, _ = model.draw_partition(rng)
    return logs, labels, model.redraw_rows(labels, None, rng)


@cache
def _independent(case):
    rng = generator("independent hyperparameters", case)
    draws = []
    for _ in range(N_DRAWS):
        logs, labels, X = _from_prior(case, rng)
        draws.append(_describe(case, X, labels, logs))
    return {name: np.array([draw[name] for draw in draws]) for name in draws[0]}


def _successive(case, move, rng):
    logs, labels, X = _from_prior(case, rng)
    untuned = _tuned(case, {})
    draws = []
    for _ in range(N_DRAWS):
        problem = Problem.of(X, untuned.family, untuned.prior).tuned(logs)
        state = State(problem, labels, float(untuned.prior.concentration))
        GibbsSweep().step(rng, state)
        move.step(rng, state)
        logs = dict(state.log_factors)
        labels = state.partition()
        X = _tuned(case, logs).redraw_rows(labels, X, rng)
        draws.append(_describe(case, X, labels, logs))
    return {name: np.array([draw[name] for draw in draws]) for name in draws[0]}


def _worst(case, move, rng):
    scores = z_scores(_independent(case), _successive(case, move, rng))
    assert all(np.isfinite(score) for score in scores.values())
    return max((abs(score), name) for name, score in scores.items())


@pytest.mark.parametrize("case", with_slow(CASES, ["gaussian"]))
def test_the_move(case, rng):
    assert _worst(case, HyperparameterUpdate(CASES[case][2], SPREAD), rng) < (LIMIT, "")


def test_a_move_with_another_prior_fails(rng):
    assert _worst("poisson", HyperparameterUpdate(CASES["poisson"][2], 3.0 * SPREAD), rng) > (CLEAR, "")


def test_the_prior_of_the_independent_draws_is_normal():
    drawn = _independent("poisson")["rate"]
    assert abs(np.mean(drawn**2) - SPREAD**2) < norm.isf(1e-4) * np.sqrt(2.0 / N_DRAWS) * SPREAD**2
