"""Geweke's joint test for the samplers that keep parameters: rows are drawn anew from the very parameters they keep.

So the test covers labels and parameters jointly. The state lives on from round to round; only its rows change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from countless.families import Categorical, Gaussian, Poisson
from countless.inference import Problem
from countless.models.mixture.moves import blocked
from countless.models.mixture.moves.blocked import BlockedSweep
from countless.partitions.moves.concentration import ConcentrationUpdate
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import ParameterSweep, SingleSiteSweep
from countless.priors import CRP, Gamma, PitmanYor
from helpers import generator, with_slow, z_limit

from .joint import N_ROWS, Model, collect, independent, z_scores
from .test_geweke import _Tilted

N_COMPARISONS = 70
LIMIT = z_limit(N_COMPARISONS)
CLEAR = LIMIT + 3.0
N_DRAWS = 4_000
SETTLE = 50


class PlainGaussian(Gaussian):
    """Without units of its own, so that parameters mean the same from one set of rows to the next."""

    def units(self, X):
        return None


@dataclass(frozen=True)
class Truncated(Model):
    """The partition from so many sticks, the last of which takes what is left."""

    n_sticks: int = 3

    def draw_partition(self, rng):
        law = self.prior.concentration
        value = law.sample(rng) if isinstance(law, Gamma) else float(law)
        a, b = self.prior.with_concentration(value).stick_shapes(self.n_sticks)
        sticks = np.append(rng.beta(a, b)[:-1], 1.0)
        weights = sticks * np.cumprod(np.append(1.0, 1.0 - sticks[:-1]))
        labels = rng.choice(self.n_sticks, size=N_ROWS, p=weights / weights.sum())
        return np.unique(labels, return_inverse=True)[1], value


FAMILIES = {
    "gaussian": PlainGaussian([0.5, -0.5], 1.0, [[6.0, 1.0], [1.0, 4.0]], 8.0),
    "poisson": Poisson([3.0, 2.0], [1.0, 0.5]),
    "categorical": Categorical([[0.5, 0.7], [0.6, 0.5, 0.4]], [2, 3]),
}
MODELS = {
    "whole": (Model, {}, PitmanYor(0.8, 0.3)),
    "learned": (Model, {}, CRP(Gamma(2.0, 1.0))),
    "truncated": (Truncated, {"n_sticks": 3}, PitmanYor(0.8, 0.3)),
    "truncated-learned": (Truncated, {"n_sticks": 3}, CRP(Gamma(2.0, 1.0))),
}


@cache
def _model(family, kind):
    cls, settings, prior = MODELS[kind]
    return cls(FAMILIES[family].resolve(np.empty((0, 2))), prior, **settings)


@cache
def _independent(family, kind):
    return independent(_model(family, kind), generator("independent-parameters", family, kind), N_DRAWS)


def _successive(model, moves, rng):
    """The moves, then rows from the parameters of their clusters, in turn."""
    labels, concentration = model.draw_partition(rng)
    X = model.redraw_rows(labels, None, rng)
    state = model.start(X, labels, concentration)

    def one():
        for move in moves:
            move.step(rng, state)
        X = np.empty_like(state.problem.X)
        for k in state.slots():
            members = state.labels == k
            X[members] = model.family.draw_rows(state.clusters.arrays.parameters[k], int(members.sum()), rng)
        state.problem = problem = Problem.of(X, model.family, model.prior)
        state.rows, state.log_new = problem.rows, problem.log_new
        state.rebuild()
        return model.describe(X, state)

    for _ in range(SETTLE):  # parameters and the order of sticks are not drawn from the joint law at first
        one()
    return collect(one, N_DRAWS)


def _worst(family, kind, moves, rng):
    scores = z_scores(_independent(family, kind), _successive(_model(family, kind), moves, rng))
    assert all(np.isfinite(score) for score in scores.values())
    return max((abs(score), name) for name, score in scores.items())


RIGHT = {
    "clusters": ("gaussian", "whole", lambda: [ParameterSweep()]),
    "clusters-together": ("poisson", "learned", lambda: [SplitMerge(2), ConcentrationUpdate(), ParameterSweep()]),
    "rows": ("poisson", "whole", lambda: [SingleSiteSweep(), SingleSiteSweep()]),
    "rows-learned": ("categorical", "learned", lambda: [SingleSiteSweep(), ConcentrationUpdate()]),
    "sticks": ("gaussian", "truncated", lambda: [BlockedSweep(3, 3)]),
    "sticks-learned": ("poisson", "truncated-learned", lambda: [BlockedSweep(3, 3)]),
}
WRONG = {
    "clusters": ("poisson", "whole", lambda: [_Tilted(ParameterSweep(), tilt=0.5)]),
    "rows": ("categorical", "whole", lambda: [_Tilted(SingleSiteSweep(), tilt=0.5)]),
    "rows-stale": ("poisson", "whole", lambda: [SplitMerge(4), SingleSiteSweep()]),
}


@pytest.mark.parametrize("name", with_slow(RIGHT, ["clusters", "rows", "sticks"]))
def test_joint(name, rng):
    family, kind, moves = RIGHT[name]
    assert _worst(family, kind, moves(), rng) < (LIMIT, "")


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_move_fails(name, rng):
    family, kind, moves = WRONG[name]
    assert _worst(family, kind, moves(), rng) > (CLEAR, "")


def test_sticks_in_any_order_fail(rng, monkeypatch):
    monkeypatch.setattr(blocked, "switch_components", lambda rng, counts, shapes: rng.permutation(len(counts)))
    assert _worst("poisson", "truncated-learned", [BlockedSweep(3, 3)], rng) > (CLEAR, "")
