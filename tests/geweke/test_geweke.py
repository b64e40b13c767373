"""Geweke's joint test for every move, and for moves that are broken on purpose, which must fail it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from countless.families import Categorical, Gaussian, Poisson
from countless.partitions.moves.concentration import ConcentrationUpdate
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import GibbsSweep
from countless.priors import CRP, Beta, DynamicMixtureOfFinite, FiniteDirichlet, Gamma, GeometricCount, PitmanYor
from helpers import generator, z_limit

from .joint import N_DRAWS, Model, independent, successive, z_scores

# Strong enough priors that all the moments compared have a variance.
FAMILIES = {
    "gaussian": Gaussian([0.5, -0.5], 1.0, [[6.0, 1.0], [1.0, 4.0]], 8.0),
    "poisson": Poisson([3.0, 2.0], [1.0, 0.5]),
    "categorical": Categorical([[0.5, 0.7], [0.6, 0.5, 0.4]], [2, 3]),
}
PRIORS = {
    "crp": CRP(1.0),
    "pitman-yor": PitmanYor(0.8, 0.3),
    "finite-dirichlet": FiniteDirichlet(3, 1.5),
    "crp-learned": CRP(Gamma(2.0, 1.0)),
    "pitman-yor-learned": PitmanYor(Gamma(2.0, 1.0), 0.3),
    "pitman-yor-both": PitmanYor(Gamma(2.0, 1.0), Beta(1.5, 2.0)),
    "dynamic": DynamicMixtureOfFinite(Gamma(2.0, 1.0), GeometricCount(0.3)),
}
PAIRS = [("gaussian", "crp"), ("poisson", "finite-dirichlet"), ("categorical", "pitman-yor")]
# Comparisons in the whole file: the limit on |z| allows for all of them.
N_COMPARISONS = 60
LIMIT = z_limit(N_COMPARISONS)
# A broken move must be this far beyond the limit, so that its failure is no accident either.
CLEAR = LIMIT + 3.0


@cache
def _model(family, prior):
    return Model(FAMILIES[family].resolve(np.empty((0, 2))), PRIORS[prior])


@cache
def _independent(family, prior, n_draws):
    return independent(_model(family, prior), generator("independent", family, prior), n_draws)


def _worst(family, prior, moves, rng, n_draws=N_DRAWS):
    """Name and size of the largest |z|."""
    tried = successive(_model(family, prior), moves, rng, n_draws)
    scores = z_scores(_independent(family, prior, n_draws), tried)
    assert all(np.isfinite(score) for score in scores.values())
    return max((abs(score), name) for name, score in scores.items())


@pytest.mark.parametrize(("family", "prior"), PAIRS)
def test_sweep(family, prior, rng):
    assert _worst(family, prior, [GibbsSweep()], rng) < (LIMIT, "")


@pytest.mark.parametrize(("family", "prior"), PAIRS)
def test_split_merge_alone(family, prior, rng):
    assert _worst(family, prior, [SplitMerge(8)], rng) < (LIMIT, "")


@pytest.mark.parametrize(
    ("family", "prior"),
    [
        ("gaussian", "crp-learned"),
        ("poisson", "pitman-yor-learned"),
        ("poisson", "pitman-yor-both"),
        ("poisson", "dynamic"),
    ],
)
def test_concentration(family, prior, rng):
    assert _worst(family, prior, [GibbsSweep(), ConcentrationUpdate()], rng) < (LIMIT, "")


@pytest.mark.parametrize("n_draws", [N_DRAWS, pytest.param(4 * N_DRAWS, marks=pytest.mark.slow)])
def test_the_moves_together(n_draws, rng):
    moves = [GibbsSweep(), SplitMerge(3), ConcentrationUpdate()]
    assert _worst("categorical", "crp-learned", moves, rng, n_draws) < (LIMIT, "")


class _Tilted:
    """A move that is given a table in which further clusters are too cheap, or clusters count as larger."""

    def __init__(self, move, tilt=0.0, offset=0.0):
        self.name = move.name
        self._move, self._tilt, self._offset = move, tilt, offset

    def step(self, rng, state):
        right = state.seats.arrays
        tilted = right.log_v + self._tilt * np.arange(len(right.log_v))
        state.seats.arrays = right._replace(offset=right.offset + self._offset, log_v=tilted)
        self._move.step(rng, state)
        state.seats.arrays = state.seats.arrays._replace(offset=right.offset, log_v=right.log_v)


class _BlindConcentration:
    """Draws the concentration from its prior, whatever the partition."""

    name = "concentration"

    def step(self, rng, state):
        state.set_concentration(state.seats.prior.concentration.sample(rng))


BROKEN = {
    "sweep-offset": ("poisson", "pitman-yor", [_Tilted(GibbsSweep(), offset=0.8)]),
    "sweep-log_v": ("categorical", "pitman-yor", [_Tilted(GibbsSweep(), tilt=0.4)]),
    "split-merge-offset": ("poisson", "pitman-yor", [_Tilted(SplitMerge(8), offset=0.8)]),
    "split-merge-log_v": ("categorical", "pitman-yor", [_Tilted(SplitMerge(8), tilt=0.4)]),
    "concentration": ("poisson", "pitman-yor-learned", [GibbsSweep(), _BlindConcentration()]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_move_fails(name, rng):
    family, prior, moves = BROKEN[name]
    assert _worst(family, prior, moves, rng) > (CLEAR, "")
