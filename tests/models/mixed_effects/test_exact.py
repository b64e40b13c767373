"""Evidences against scipy, and frequencies of partitions against enumeration, effects drawn and integrated out."""

from __future__ import annotations

import numpy as np
import pytest

from countless.families import DiagonalGaussian, Gaussian, GaussianKnownCovariance, SphericalGaussian
from countless.models.mixed_effects.moves.given import DrawEffects, DrawFixed, DrawNoise, DrawParameters
from countless.models.mixed_effects.moves.placing import PlaceSubjects
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import GibbsSweep
from countless.priors import CRP, FiniteDirichlet, Gamma, PitmanYor
from exact.chains import LIMIT, N_DRAWS, excess
from exact.enumeration import partitions

from .studies import (
    evidence_by_cluster,
    evidence_of_sets,
    log_inverse_gamma,
    log_normal,
    posterior_of,
    problem_of,
    run,
    visits,
)

NOISE = 9.0
KNOWN = GaussianKnownCovariance([[30.0, -0.5], [-0.5, 0.09]], [50.0, 2.0], [[90.0, 0.3], [0.3, 0.2]])
SPHERICAL = SphericalGaussian(0.5, [50.0, 2.0], 40.0)


@pytest.mark.parametrize("family", [KNOWN, SPHERICAL])
def test_the_evidence_of_a_partition_is_a_normal_density(family):
    problem = problem_of(family, CRP(1.0), NOISE)
    known = evidence_of_sets(family, NOISE)
    state = problem.state(partitions(6)[0])
    for labels in partitions(6)[::7]:
        state.relabel(labels)
        expected = sum(known[tuple(np.flatnonzero(labels == k).tolist())] for k in range(labels.max() + 1))
        assert state.log_evidence() == pytest.approx(expected, abs=1e-9, rel=0)


class Broken(PlaceSubjects):
    """Labels by the outcomes of a subject, with the effects as they were."""

    def step(self, rng, state):
        before = state.effects.copy()
        super().step(rng, state)
        state.effects[:] = before
        state.rebuild()


MOVES = {
    "integrated": (False, lambda: [GibbsSweep()], 1),
    "integrated, split-merge": (False, lambda: [SplitMerge(4), GibbsSweep()], 1),
    "drawn": (True, lambda: [PlaceSubjects(), SplitMerge(2), DrawParameters(), DrawFixed()], 3),
    "integrated, all moves": (
        False,
        lambda: [GibbsSweep(), DrawEffects(), DrawParameters(), DrawFixed(), DrawNoise()],
        1,
    ),
}


def _excess(family, prior, name, moves, thin, rng, drawn):
    problem = problem_of(family, prior, NOISE)
    problem = problem.drawing() if drawn else problem
    posterior = posterior_of(evidence_of_sets(family, NOISE), prior)
    return excess(run(problem, moves, rng, N_DRAWS, thin), posterior, rng)


PRIORS = {"crp": CRP(1.0), "pitman-yor": PitmanYor(0.7, 0.3), "finite-dirichlet": FiniteDirichlet(3, 2.0)}
CASES = [(name, prior) for name in MOVES for prior in PRIORS]
QUICK = [("integrated", "pitman-yor"), ("drawn", "crp"), ("integrated, all moves", "finite-dirichlet")]


@pytest.mark.parametrize(
    ("name", "prior"), [case if case in QUICK else pytest.param(*case, marks=pytest.mark.slow) for case in CASES]
)
def test_partitions_of_known_covariance(name, prior, rng):
    drawn, moves, thin = MOVES[name]
    prior = PRIORS[prior]
    assert _excess(KNOWN, prior, name, moves(), thin, rng, drawn) < LIMIT


@pytest.mark.slow
def test_partitions_of_a_spherical_family(rng):
    """Every second draw: one partition has two thirds of the probability, and an autocorrelation time of 1.9."""
    assert _excess(SPHERICAL, CRP(1.0), "integrated", [GibbsSweep()], 2, rng, False) < LIMIT
    assert _excess(SPHERICAL, CRP(1.0), "drawn", [PlaceSubjects()], 2, rng, True) < LIMIT


def test_a_broken_pass_fails(rng):
    assert _excess(KNOWN, CRP(1.0), "broken", [Broken(), SplitMerge(2)], 2, rng, True) > 3.0 * LIMIT


# --- a noise of each cluster: its precision by quadrature -----------------------------------------------------------

LAW = Gamma(1.5, 9.0)


def _noisy():
    """One effect, and subjects of whom some are far noisier than others."""
    X, y, subject, _ = visits()
    X, y = X[:, :1], y - 2.0 * X[:, 1]
    return X, y + 6.0 * np.sin(5.0 * np.arange(len(y))) * (subject >= 2), subject


def _excess_by_cluster(moves, rng):
    import countless as cl

    X, y, subject = _noisy()
    posterior = posterior_of(evidence_by_cluster(25.0, 55.0, 60.0, LAW, X, y, subject), CRP(1.0))
    family = GaussianKnownCovariance([[25.0]], [55.0], [[60.0]])
    problem = cl.MixedEffects(family, CRP(1.0), LAW, cluster_noise=True)._read(X, y, subject, None).problem()
    assert posterior.max() < 0.5
    return excess(run(problem, moves, rng, N_DRAWS, 3), posterior, rng)


@pytest.mark.slow
@pytest.mark.parametrize("moves", ["place", "all"])
def test_partitions_with_a_noise_of_each_cluster(moves, rng):
    more = [SplitMerge(2), DrawParameters(), DrawFixed(), DrawNoise()] if moves == "all" else []
    assert _excess_by_cluster([PlaceSubjects(), *more], rng) < LIMIT


class Stale(PlaceSubjects):
    """What effects leave of the visits is not brought up to date."""

    def step(self, rng, state):
        before = state.rows[:, -1].copy()
        super().step(rng, state)
        state.rows[:, -1] = before
        state.rebuild()


@pytest.mark.slow
def test_residuals_that_are_stale_fail(rng):
    assert _excess_by_cluster([Stale()], rng) > 2.0 * LIMIT


# --- unknown covariance: the covariance by quadrature ---------------------------------------------------------------


def _full_evidence(family, sets, X, y, subject):
    """One effect: mean integrated by normal laws, variance on a grid of logarithms."""
    strength, dof, scale = family.mean_strength, family.dof, float(np.asarray(family.scale).ravel()[0])
    grid = np.linspace(np.log(scale) - 7.0, np.log(scale) + 9.0, 300)
    found = {}
    for rows in sets:
        here = np.isin(subject, rows)
        values = [
            log_normal(y[here], X[here], subject[here], family.mean, [[s]], [[s / strength]], NOISE)
            + log_inverse_gamma(s, dof, scale)
            for s in np.exp(grid)
        ]
        found[tuple(rows)] = float(np.logaddexp.reduce(values) + np.log(grid[1] - grid[0]))
    return found


@pytest.mark.parametrize("moves", ["place", pytest.param("place, split-merge, parameters", marks=pytest.mark.slow)])
def test_partitions_of_unknown_variance(moves, rng):
    """One effect, normal-inverse-Wishart; Student-t predictives with few and many degrees of freedom."""
    import countless as cl
    from exact.enumeration import _blocks

    X, y, subject, _ = visits()
    X, y = X[:, :1], y - 2.0 * X[:, 1] + np.where(subject >= 3, 8.0, -4.0)
    family = Gaussian([60.0], 0.4, [[15.0]], 2.5)
    evidence = _full_evidence(family, _blocks(6)[0], X, y, subject)
    posterior = posterior_of(evidence, CRP(1.0))
    problem = cl.MixedEffects(family, CRP(1.0), NOISE)._read(X, y, subject, None).problem()
    chosen = [PlaceSubjects()]
    if moves != "place":
        chosen += [SplitMerge(2), DrawParameters(), DrawFixed()]
    assert excess(run(problem, chosen, rng, N_DRAWS, 3), posterior, rng) < LIMIT


@pytest.mark.slow
def test_clusters_that_are_too_cheap_fail(rng):
    """The table of the prior is tilted."""
    import countless as cl
    from exact.enumeration import _blocks

    X, y, subject, _ = visits()
    X, y = X[:, :1], y - 2.0 * X[:, 1] + np.where(subject >= 3, 8.0, -4.0)
    family = Gaussian([60.0], 0.4, [[15.0]], 2.5)
    posterior = posterior_of(_full_evidence(family, _blocks(6)[0], X, y, subject), CRP(1.0))
    problem = cl.MixedEffects(family, CRP(1.0), NOISE)._read(X, y, subject, None).problem()

    class Tilted(PlaceSubjects):
        def step(self, rng, state):
            seats = state.seats.arrays
            state.seats.arrays = seats._replace(log_v=seats.log_v + 0.4 * np.arange(len(seats.log_v)))
            super().step(rng, state)
            state.seats.arrays = state.seats.arrays._replace(log_v=seats.log_v)

    assert excess(run(problem, [Tilted()], rng, N_DRAWS, 2), posterior, rng) > 2.0 * LIMIT


@pytest.mark.slow
def test_partitions_of_independent_columns(rng):
    """Two effects with variances of their own, on a grid in both."""
    import countless as cl

    X, y, subject, _ = visits()
    keep = subject < 4
    X, y, subject = X[keep] - [0.0, 22.0], y[keep], subject[keep]
    family = DiagonalGaussian([95.0, 2.0], [0.5, 0.8], [60.0, 0.5], [2.5, 4.0])
    grids = [np.linspace(np.log(s) - 6.0, np.log(s) + 8.0, 70) for s in family.scale]
    evidence = {}
    from exact.enumeration import _blocks

    for rows in _blocks(4)[0]:
        here = np.isin(subject, rows)
        values = []
        for one in np.exp(grids[0]):
            for two in np.exp(grids[1]):
                within = np.diag([one, two])
                value = log_normal(
                    y[here], X[here], subject[here], family.mean, within, within / family.mean_strength, NOISE
                )
                value += sum(
                    log_inverse_gamma(s, dof, scale)
                    for s, dof, scale in zip((one, two), family.dof, family.scale, strict=True)
                )
                values.append(value)
        step = (grids[0][1] - grids[0][0]) * (grids[1][1] - grids[1][0])
        evidence[tuple(rows)] = float(np.logaddexp.reduce(values) + np.log(step))
    posterior = posterior_of(evidence, CRP(1.0), 4)
    problem = cl.MixedEffects(family, CRP(1.0), NOISE)._read(X, y, subject, None).problem()
    assert excess(run(problem, [PlaceSubjects()], rng, N_DRAWS, 4), posterior, rng) < LIMIT
