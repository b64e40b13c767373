"""Geweke's joint test of every move: matrices and partitions drawn in two ways must agree.

Marginal-conditional: hyperparameters and partitions from the prior, a matrix from the model. Successive-conditional: in
turn, the moves under test, and a new matrix whose parameters are drawn given the present one. They are looked at
between the two, where a move that leaves the matrix out of account shows: hyperparameters have nothing to do with it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import countless as cl
from countless.models.biclustering.block_models import Asymmetric, Factorized, Frequency, Relational, Symmetric
from countless.models.biclustering.block_models.base import Drawing
from countless.models.biclustering.cells import as_matrix
from countless.models.biclustering.moves.hyperparameters import LearnHyperparameters
from countless.models.biclustering.moves.items import Concentrations, ForgetConcentrations, SplitMerge, Sweeps
from countless.models.biclustering.problem import Problem
from helpers import batch_error, generator, z_limit

SHAPE, N_DRAWS = (5, 4), 2_000
MODELS = {
    "symmetric": Symmetric(None, open=("strength",)),
    "symmetric-popular": Symmetric(None, True, open=("strength", "popularity")),
    "asymmetric": Asymmetric(None, open=("strength",)),
    "factorized": Factorized(None, open=("strength",)),
    "frequency": Frequency(None, None, open=("strength", "draws")),
    "bernoulli": Relational(cl.families.Bernoulli()),
    "poisson": Relational(cl.families.Poisson(2.0, 1.0)),
    "poisson-popular": Relational(cl.families.Poisson(2.0, 1.0), True),
    "gaussian": Relational(cl.families.Gaussian(0.5, 0.5, 1.0, 5.0)),
}
QUICK = ("asymmetric",)
PRIOR = cl.priors.CRP(cl.priors.Gamma(2.0, 1.0))
LIMIT = z_limit(12 * len(MODELS) * 3)


def _first():
    """Any matrix of the right kind: it only fixes margins, and what hyperparameters start from.

    With few counts in a row matrices say next to nothing of hyperparameters, and a blind draw of these passes.
    """
    X = np.zeros(SHAPE)
    X[np.arange(5), np.arange(5) % 4] = [15, 10, 15, 10, 10]
    return X


def _spec(name):
    X = _first()
    if name == "bernoulli":
        X = (X > 0).astype(float)
    spec = MODELS[name]
    matrix = as_matrix(X)
    model = spec.resolve(matrix)
    # Units of the arithmetic would move with the data: they are none of the model's business here.
    return model._with(units=None) if name == "gaussian" else model


def _problem(model, X):
    problem = Problem.of(as_matrix(X), model, *[PRIOR.resolve(n) for n in SHAPE])
    if isinstance(model, Frequency):
        # Rows and columns are drawn with given probabilities, which a fit takes from the margins.
        weights = model.cells(as_matrix(_first())).weights
        prepared = problem.table.prepared._replace(weights=weights)
        return replace(problem, table=replace(problem.table, prepared=prepared))
    return problem


def _margins(X):
    return (X.sum(axis=1), X.sum(axis=0))


def _redraw(model, state, X, rng):
    problem = state.problem
    labels = [seats.labels.copy() for seats in state.seats]
    now = problem.model.at(problem.law, state.offsets)
    margins = _margins(_first() if isinstance(model, Frequency) else X)
    return now.draw(rng, Drawing(*labels, state.counts(), margins))


def _prior_draw(model, rng):
    problem = _problem(model, _first() if not isinstance(model, Relational) else np.eye(*SHAPE))
    fixed = [PRIOR.resolve(n).draw_fixed(rng) for n in SHAPE]
    labels = [each.sample(n, rng) for each, n in zip(fixed, SHAPE, strict=True)]
    offsets = problem.law.sample(rng)
    now = problem.model.at(problem.law, offsets)
    X = now.draw(rng, Drawing(*labels, None, _margins(_first())))
    return X, labels, fixed, offsets


def _state(model, X, labels, fixed, offsets):
    return _problem(model, X).state(*labels, offsets=offsets, at=fixed)


def _describe(X, state):
    sizes = [seats.cluster_sizes() for seats in state.seats]
    found = {
        "row clusters": float(state.shape[0]),
        "column clusters": float(state.shape[1]),
        "squared sizes": float(sizes[0] @ sizes[0]),
        "product": float(state.shape[0] * state.shape[1]),
        "cells": float(np.sum(X == 0)),
        "mean square": float(np.mean(np.minimum(np.abs(X), 6.0) ** 2)),
        "largest block": float(np.sqrt(np.abs(state.blocks[:, :, -1]).max())),
    }
    block = found["largest block"]
    for at, offset in enumerate(state.offsets):
        found[f"offset {at} by largest block"] = float(offset * block)
        found[f"offset {at} by zeros"] = float(offset * found["cells"])
        found[f"offset {at}"] = float(offset)
        found[f"offset {at} squared"] = float(offset**2)
    return found


def _independent(model, rng):
    def one():
        X, labels, fixed, offsets = _prior_draw(model, rng)
        return _describe(X, _state(model, X, labels, fixed, offsets))

    draws = [one() for _ in range(N_DRAWS)]
    return {name: np.array([draw[name] for draw in draws]) for name in draws[0]}


def _successive(model, moves, rng):
    X, labels, fixed, offsets = _prior_draw(model, rng)
    state = _state(model, X, labels, fixed, offsets)
    draws = []
    for _ in range(N_DRAWS):
        for move in moves:
            move.step(rng, state)
        draws.append(_describe(X, state))
        X = _redraw(model, state, X, rng)
        state = _state(
            model,
            X,
            [seats.labels.copy() for seats in state.seats],
            [seats.fixed for seats in state.seats],
            state.offsets,
        )
    return {name: np.array([draw[name] for draw in draws]) for name in draws[0]}


def _worst(name, moves, rng):
    model = _spec(name)
    right, tried = _independent(model, generator("independent", name)), _successive(model, moves, rng)
    scores = []
    for key in right:
        error = float(np.hypot(batch_error(right[key]), batch_error(tried[key])))
        scores.append((abs(tried[key].mean() - right[key].mean()) / max(error, 1e-12), key))
    return max(scores)


ALL = [ForgetConcentrations(), Sweeps(), SplitMerge(3), Concentrations(), LearnHyperparameters()]
NUMBERS = [Concentrations(), LearnHyperparameters()]


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in MODELS]
)
def test_all_moves(name, rng):
    assert _worst(name, ALL, rng) < (LIMIT, "")


@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.slow) for each in MODELS])
@pytest.mark.parametrize("items", [Sweeps(), SplitMerge(6)], ids=["sweep", "split-merge"])
def test_each_move(name, items, rng):
    assert _worst(name, [items, *NUMBERS], rng) < (LIMIT, "")


class _BlindStrength(LearnHyperparameters):
    """Draws hyperparameters from their law, whatever the matrix."""

    def step(self, rng, state):
        state.set_offsets(state.problem.law.sample(rng))


class _TimidStrength(LearnHyperparameters):
    """Draws hyperparameters as it should, then goes a third of the way back to where they began."""

    def step(self, rng, state):
        super().step(rng, state)
        state.set_offsets(2.0 / 3.0 * state.offsets)


@pytest.mark.parametrize("broken", [_BlindStrength(), _TimidStrength()], ids=["blind", "timid"])
def test_a_broken_move_fails(broken, rng):
    assert _worst("asymmetric", [Sweeps(), Concentrations(), broken], rng) > (LIMIT + 3.0, "")
