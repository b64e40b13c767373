"""Geweke's joint test: matrices and attributes drawn in two ways must agree.

Marginal-conditional: numbers and attributes from the prior, a matrix from the model. Successive-conditional: in turn,
the moves under test, and a new matrix given the present state.
"""

from __future__ import annotations

import numpy as np
import pytest

from countless.models.attributes.engines.gibbs import AttributesGibbs
from countless.models.attributes.laws import Laws
from countless.models.attributes.moves.alone import Alone
from countless.models.attributes.moves.numbers import Numbers
from countless.models.attributes.moves.refresh import Refresh
from countless.models.attributes.moves.sweeps import Sweeps
from countless.models.attributes.problem import Problem
from countless.models.attributes.sampling import sample_attributes, sample_matrix
from countless.models.attributes.state import NUMBERS, State
from countless.priors import Gamma
from helpers import batch_error, z_limit

N, N_DRAWS = 5, 2_000
LAWS = Laws(Gamma(2.0, 2.0), Gamma(2.0, 2.0), 1.0, 0.5, Gamma(6.0, 6.0), 0.0, 1.0, Gamma(6.0, 3.0))
LIMIT = z_limit(60)


def _prior_draw(binary, rng):
    problem = Problem(np.zeros((N, N)), LAWS, binary, not binary)
    numbers = {name: LAWS.sampled(name, rng) for name in NUMBERS if name != "bias"}
    if binary:
        numbers["noise"] = 1.0
    numbers["bias"] = rng.normal(LAWS.bias_mean, np.sqrt(LAWS.bias_variance))
    state = State(problem, sample_attributes(problem, numbers, rng), numbers)
    return _with(state, sample_matrix(state, rng))


def _with(state, matrix):
    """The same state beside another matrix."""
    old = state.problem
    problem = Problem(matrix, old.laws, old.binary, old.diagonal)
    return State(problem, state.attributes, {name: getattr(state, name) for name in NUMBERS})


def _describe(state):
    shared = [each for each in state.attributes if each.n_members > 1]
    weights = state.all_weights()
    found = {
        "attributes": float(len(state.attributes)),
        "members": float(sum(each.n_members for each in state.attributes)),
        "clusters": float(sum(each.n_clusters for each in state.attributes)),
        "shared": float(len(shared)),
        "pairs": float(sum(each.n_members**2 for each in shared)),
        "weights": float(np.clip(weights, -4.0, 4.0).sum()),
        "mean": float(np.clip(state.problem.filled, -6.0, 6.0).mean()),
        "square": float(np.clip(state.problem.filled**2, 0.0, 30.0).mean()),
        "bias": state.bias,
        "bias squared": state.bias**2,
    }
    for name in ("concentration", "cluster_concentration", "weight_variance"):
        found[name] = float(np.log(getattr(state, name)))
    if not state.problem.binary:
        found["noise"] = float(np.log(state.noise))
    return found


def _worst(binary, moves, rng):
    right = [_describe(_prior_draw(binary, rng)) for _ in range(2 * N_DRAWS)]
    state, tried = _prior_draw(binary, rng), []
    for _ in range(N_DRAWS):
        for move in moves:
            move.step(rng, state)
        state = _with(state, sample_matrix(state, rng))
        tried.append(_describe(state))
    scores = []
    for name in right[0]:
        one, other = (np.array([each[name] for each in draws]) for draws in (right, tried))
        error = float(np.hypot(batch_error(one), batch_error(other)))
        scores.append((abs(one.mean() - other.mean()) / error, name))
    return max(scores)


@pytest.mark.parametrize("binary", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_all_moves(binary, rng):
    assert _worst(binary, AttributesGibbs(proposals=2).moves(), rng) < (LIMIT, "")


@pytest.mark.slow
@pytest.mark.parametrize("binary", [False, True])
def test_plain_moves(binary, rng):
    assert _worst(binary, AttributesGibbs(proposals=0).moves(), rng) < (LIMIT, "")


class _Uneven(Numbers):
    """Counts every pair twice where it draws the noise, as the source does."""

    def step(self, rng, state):
        super().step(rng, state)
        law = state.problem.laws.noise
        squares = float((state.rest**2).sum())
        state.noise = (law.rate + 0.5 * squares) / rng.gamma(law.shape + 0.5 * N * N)


def test_a_broken_move_fails(rng):
    assert _worst(False, [Refresh(), Sweeps(), Alone(), _Uneven()], rng) > (LIMIT + 1.0, "")
