"""Geweke's joint test of the whole model with unknown covariances: two ways to draw everything must agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import countless as cl
from countless.chains import Schedule
from countless.families import DiagonalGaussian, Gaussian, GaussianKnownCovariance
from countless.models.mixed_effects.engines.gibbs import MixedEffectsGibbs
from countless.models.mixed_effects.moves.given import DrawNoise, DrawParameters
from countless.priors import CRP, Gamma
from geweke.joint import collect, z_scores
from helpers import z_limit

N_DRAWS, SWEEPS = 2_000, 2
LIMIT = z_limit(40)
FAMILIES = {
    "gaussian": Gaussian([0.5, -0.5], 1.0, [[6.0, 1.0], [1.0, 4.0]], 9.0),
    "diagonal": DiagonalGaussian([0.5, -0.5], [1.0, 1.0], [6.0, 4.0], [8.0, 8.0]),
    "known": GaussianKnownCovariance([[1.0, 0.2], [0.2, 0.5]], [0.5, -0.5], [[2.0, 0.0], [0.0, 1.0]]),
}


class Model:
    """Some subjects with one to four visits; noise and one fixed effect have strong laws, so that moments exist."""

    def __init__(self, family, visits=(1, 2, 3, 4, 2, 3, 1), cluster_noise=False):
        rng = np.random.default_rng(2)
        self.n_subjects = len(visits)
        self.subject = np.repeat(np.arange(self.n_subjects), visits)
        n = len(self.subject)
        self.X, self.shared = np.column_stack([np.ones(n), rng.normal(size=n)]), rng.normal(size=(n, 1))
        self.family, self.cluster_noise = family, cluster_noise
        law = Gamma(6.0, 6.0)
        estimator = cl.MixedEffects(family, CRP(1.0), law, fixed_variance=2.0, cluster_noise=cluster_noise)
        self.data = estimator._read(self.X, rng.normal(size=n), self.subject, self.shared)
        self.schedule = MixedEffectsGibbs(split_merge=2).schedule

    def outcomes(self, effects, fixed, precision, rng):
        mean = np.einsum("nj,nj->n", self.X, effects[self.subject]) + self.shared[:, 0] * fixed
        return mean + rng.normal(size=len(mean)) / np.sqrt(precision[self.subject])

    def problem(self, y):
        return replace(self.data, y=y).problem()

    def prior(self, rng):
        """Everything from the prior."""
        labels = CRP(1.0).sample(self.n_subjects, rng)
        effects = np.empty((self.n_subjects, 2))
        for k in range(labels.max() + 1):
            parameters = self.family.draw_parameters(rng)
            effects[labels == k] = self.family.draw_rows(parameters, int(np.sum(labels == k)), rng)
        precision = rng.gamma(6.0, 1.0 / 6.0, size=labels.max() + 1 if self.cluster_noise else 1)
        precision = precision[labels if self.cluster_noise else np.zeros_like(labels)]
        return labels, effects, rng.normal() * np.sqrt(2.0), precision

    @staticmethod
    def describe(labels, effects, fixed, precision, y):
        """``precision`` is that of the noise of each subject."""
        sizes = np.bincount(labels)
        together = labels[3] == labels[4]
        return {
            "clusters": float(len(sizes)),
            "squared sizes": float(sizes @ sizes),
            "fixed": fixed,
            "fixed squared": fixed**2,
            "log noise": float(np.log(precision).mean()),
            "noise squared": float(np.mean(np.log(precision) ** 2)),
            "noise of a pair": float(np.log(precision[3]) * np.log(precision[4])),
            "noise * sizes": float(np.log(precision) @ sizes[labels]),
            "noise * outcomes": float(np.log(precision[3]) * np.mean(y[6:10] ** 2)),
            "effects": float(effects.mean()),
            "effects squared": float(np.mean(effects**2)),
            "effects of a pair": float(np.sum(effects[3] * effects[4])),
            "together and alike": float(together * np.exp(-np.sum((effects[3] - effects[4]) ** 2) / 4.0)),
            "outcomes": float(np.mean(y**2)),
            "fixed * outcomes": float(fixed * y[0]),
        }


def independent(model, rng):
    def one():
        drawn = model.prior(rng)
        return model.describe(*drawn, model.outcomes(*drawn[1:], rng))

    return collect(one, N_DRAWS)


def successive(model, rng, change=lambda moves: moves):
    """New outcomes given everything, then sweeps given the outcomes."""
    labels, effects, fixed, precision = model.prior(rng)
    y = model.outcomes(effects, fixed, precision, rng)

    def one():
        nonlocal y, labels, effects, fixed, precision
        problem = model.problem(y)
        units = problem.units
        state = problem.state(labels)
        state.effects[:] = np.linalg.solve(units.basis, (effects - units.centre).T).T
        state.set_fixed((np.array([fixed]) - units.fixed_centre) / units.fixed_scale)
        state.noise_precision = float(precision[0] * units.noise**2)
        state.changed()
        state.begin(rng) if not problem.integrates else state.draw_theta(rng)
        schedule = Schedule(change(model.schedule().moves))
        for _ in range(SWEEPS):
            schedule.step(rng, state)
        labels = state.partition()
        effects = units.means(state.effects)
        fixed = float((state.fixed * units.fixed_scale + units.fixed_centre)[0])
        precision = state.laws.taus[labels] / units.noise**2
        y = model.outcomes(effects, fixed, precision, rng)
        return model.describe(labels, effects, fixed, precision, y)

    return collect(one, N_DRAWS)


def _worst(name, rng, change=lambda moves: moves, cluster_noise=False):
    model = Model(FAMILIES[name], cluster_noise=cluster_noise)
    scores = z_scores(independent(model, rng), successive(model, rng, change))
    assert all(np.isfinite(score) for score in scores.values())
    return max((abs(score), which) for which, score in scores.items())


@pytest.mark.parametrize(
    "name", ["gaussian", *(pytest.param(each, marks=pytest.mark.slow) for each in ("diagonal", "known"))]
)
def test_all_moves_together(name, rng):
    assert _worst(name, rng) < (LIMIT, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_all_moves_with_a_noise_of_each_cluster(name, rng):
    assert _worst(name, rng, cluster_noise=True) < (LIMIT, "")


class BySubjectsOfACluster(DrawParameters):
    """The noise of a cluster as if each of its subjects had one visit."""

    def step(self, rng, state):
        super().step(rng, state)
        law, labels = state.problem.noise, state.partition()
        shape = law.shape + 0.5 * np.bincount(labels)
        rate = law.rate + 0.5 * np.bincount(labels, state.squared_residuals())
        parameters = state.theta.parameters.copy()
        parameters[:, -1] = rng.gamma(shape) / rate
        state._set_theta(parameters, state.theta.fresh, state.theta.log_prior)


@pytest.mark.slow
def test_a_broken_noise_of_each_cluster_fails(rng):
    def change(moves):
        return [BySubjectsOfACluster() if isinstance(move, DrawParameters) else move for move in moves]

    assert _worst("gaussian", rng, change, cluster_noise=True) > (LIMIT + 3.0, "")


class BySubjects(DrawNoise):
    """The gamma law as the paper prints it: its shape grows by the number of subjects, not of visits."""

    def step(self, rng, state):
        problem = state.problem
        short = problem.noise.shape - 0.5 * (problem.sums.n_visits - problem.n_subjects)
        object.__setattr__(problem, "noise", replace(problem.noise, shape=max(short, 0.1)))
        super().step(rng, state)


def test_a_broken_move_fails(rng):
    def change(moves):
        return [BySubjects() if isinstance(move, DrawNoise) else move for move in moves]

    assert _worst("gaussian", rng, change) > (LIMIT + 3.0, "")
