"""Hyperparameters drawn with the partition: both against enumeration times quadrature."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from countless.chains.schedule import Schedule
from countless.inference import Problem, State
from countless.models.mixture.moves.hyperparameters import HyperparameterUpdate
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import GibbsSweep
from countless.priors import CRP
from helpers import batch_error

from ..chains import LIMIT, WARMUP, excess
from ..enumeration import log_evidences, log_priors
from ..problems import EXAMPLES, PRIORS, example

SPREAD = 0.8
N_DRAWS = 2_500
N_ROWS = 6
# example, hyperparameters, prior: a scale, a strength, one that the statistics depend on, and two that are coupled.
CASES = {
    "gaussian-scale": ("gaussian", ("scale",), "crp"),
    "gaussian-mean_strength": ("gaussian", ("mean_strength",), "pitman-yor"),
    "known-covariance": ("gaussian-known-covariance", ("covariance",), "crp"),
    "poisson-both": ("poisson", ("shape", "rate"), "finite-dirichlet"),
}


@cache
def _exact(case):
    """Posterior of the partitions; mean and variance of the first log factor: the trapezoid rule in log factors."""
    family, X, prior, names = _example(case)
    axis = np.linspace(-4.2 * SPREAD, 4.2 * SPREAD, 31 if len(names) == 1 else 15)
    points = np.array(list(product(axis, repeat=len(names))))
    heights = norm(0.0, SPREAD).logpdf(points).sum(axis=1)
    table = np.array([log_evidences(family.with_tuned(dict(zip(names, p, strict=True))), X) for p in points.tolist()])
    log_joint = table + heights[:, None] + log_priors(prior, len(X))
    joint = np.exp(log_joint - logsumexp(log_joint))
    factor = joint.sum(axis=1)
    mean = factor @ points[:, 0]
    return joint.sum(axis=0), mean, factor @ (points[:, 0] - mean) ** 2


def _draws(family, X, prior, move, rng):
    problem = Problem.of(X, family, prior)
    state = State(problem, np.zeros(len(X), dtype=np.int64), prior.concentration)
    schedule = Schedule([GibbsSweep(), SplitMerge(3), move])
    labels, logs = np.empty((N_DRAWS, len(X)), dtype=np.int64), np.empty(N_DRAWS)
    for draw in range(-WARMUP, N_DRAWS):
        schedule.step(rng, state)
        if draw >= 0:
            labels[draw] = state.labels
            logs[draw] = state.log_factors[move.names[0]]
    return labels, logs


def _example(case):
    name, names, prior = CASES[case]
    family, X = example(name)
    return family, np.ascontiguousarray(X[:N_ROWS]), PRIORS[prior], names


def _agrees(labels, logs, exact, rng):
    posterior, mean, variance = exact
    squares = (logs - mean) ** 2
    return (
        excess(labels, posterior, rng) <= LIMIT
        and abs(logs.mean() - mean) <= 4.0 * batch_error(logs)
        and abs(squares.mean() - variance) <= 4.0 * batch_error(squares)
    )


@pytest.mark.parametrize("case", CASES)
def test_partitions_and_hyperparameters(case, rng):
    family, X, prior, names = _example(case)
    labels, logs = _draws(family, X, prior, HyperparameterUpdate(names, SPREAD), rng)
    assert _agrees(labels, logs, _exact(case), rng)


class _Loose(HyperparameterUpdate):
    """The move with a prior three times as wide as that of the model."""

    def step(self, rng, state):
        HyperparameterUpdate(self.names, 3.0 * self.spread).step(rng, state)


class _Blind(HyperparameterUpdate):
    """Draws hyperparameters from their prior, whatever the clusters."""

    def step(self, rng, state):
        state.set_hyperparameters({name: rng.normal(0.0, self.spread) for name in self.names}, 0.0)


@pytest.mark.parametrize("broken", [_Loose, _Blind])
def test_a_broken_move_fails(broken, rng):
    family, X, prior, names = _example("gaussian-scale")
    labels, logs = _draws(family, X, prior, broken(names, SPREAD), rng)
    assert not _agrees(labels, logs, _exact("gaussian-scale"), rng)


def test_the_log_joint_counts_the_density_of_the_hyperparameters(rng):
    family, X, _, names = _example("poisson-both")
    problem = Problem.of(X, family, CRP(1.0))
    state = State(problem, np.array([0, 0, 1, 1, 2, 2]), 1.0)
    before = state.log_joint()
    HyperparameterUpdate(names, SPREAD).step(rng, state)
    plain = State(Problem.of(X, family.with_tuned(state.log_factors), CRP(1.0)), state.partition(), 1.0)
    density = norm(0.0, SPREAD).logpdf(list(state.log_factors.values())).sum()
    assert state.log_joint() == pytest.approx(plain.log_joint() + density, rel=1e-10)
    assert before == pytest.approx(State(problem, state.partition(), 1.0).log_joint(), rel=1e-12)


@pytest.mark.parametrize("name", EXAMPLES)
def test_clusters_are_those_of_the_new_family(name, rng):
    """After the move everything kept for the clusters is what a state built afresh would have."""
    family, X = example(name)
    problem = Problem.of(X, family, CRP(1.0))
    state = State(problem, np.array([0, 0, 1, 1, 0, 2, 2]), 1.0)
    HyperparameterUpdate().step(rng, state)
    fresh = State(problem.tuned(state.log_factors, state.log_hyperprior), state.partition(), 1.0)
    assert state.log_factors
    np.testing.assert_allclose(state.clusters.arrays.cache[:3], fresh.clusters.arrays.cache[:3], rtol=1e-12)
    np.testing.assert_allclose(state.log_new, fresh.log_new, rtol=1e-12)
    assert state.log_joint() == pytest.approx(fresh.log_joint(), rel=1e-12)
