"""Every sampler draws all partitions of six or seven steps as often as the exact posterior says; broken ones do not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from countless.models.hmm.moves import paths, split_merge
from countless.models.hmm.moves.numbers import BaseUpdate
from countless.models.hmm.moves.paths import BeamPath, WholePath
from countless.models.hmm.moves.split_merge import SplitMerge
from countless.models.hmm.moves.sweeps import DirectSweep
from countless.priors import Gamma
from countless.transitions import HDP, FiniteDirichlet, StickyHDP, WeakLimitHDP
from exact.chains import Rarely
from exact.enumeration import log_evidences, partitions
from exact.problems import EXAMPLES, example
from helpers import batch_error, with_slow, z_limit

from .exact_paths import (
    LIMIT,
    N_DRAWS,
    dirichlet,
    equal,
    exact_posterior,
    excess,
    gem,
    prior_of_partitions,
    run_chain,
)

LENGTHS = {"one": (6,), "two": (4, 3)}
LAWS = {
    "hdp": (HDP(1.3, 0.7), (1.3, gem(0.7), 0.0)),
    "sticky-hdp": (StickyHDP(1.3, 0.7, 2.0), (1.3, gem(0.7), 2.0)),
    "weak-limit": (WeakLimitHDP(4, 1.3, 0.7, 1.0), (1.3, dirichlet(4, 0.7), 1.0)),
    "finite-dirichlet": (FiniteDirichlet(3, 2.0), (2.0, equal(3), 0.0)),
}
BOUNDED = ("weak-limit", "finite-dirichlet")
# Moves, some with a sweep now and then, and rounds per draw that make draws nearly independent.
MOVES = {
    "direct": (lambda: [DirectSweep(), BaseUpdate()], 2),
    "whole": (lambda: [WholePath(), BaseUpdate()], 3),
    "beam": (lambda: [Rarely(DirectSweep(), 5), BeamPath(), BeamPath(), BaseUpdate()], 2),
    "split-merge": (lambda: [Rarely(DirectSweep(), 5), SplitMerge(3), BaseUpdate()], 2),
    "all": (lambda: [DirectSweep(), WholePath(), SplitMerge(1), BaseUpdate()], 1),
}
QUICK = (
    ("poisson", "sticky-hdp", "two", "direct"),
    ("gaussian", "sticky-hdp", "one", "direct"),
    ("poisson", "hdp", "one", "beam"),
    ("poisson", "weak-limit", "two", "whole"),
    ("poisson", "finite-dirichlet", "two", "all"),
)


@cache
def _prior(law, lengths):
    alpha, base, kappa = LAWS[law][1]
    return prior_of_partitions(sum(LENGTHS[lengths]), LENGTHS[lengths], alpha, base, kappa)


def _problem(name, law, lengths):
    family, X = example(name)
    X = np.ascontiguousarray(X[: sum(LENGTHS[lengths])])
    return X, family, exact_posterior(family, X, _prior(law, lengths))


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("law", LAWS)
def test_the_law_sums_over_tables_as_plain_python_does(law, lengths):
    prior = _prior(law, lengths)
    assert prior.sum() == pytest.approx(1.0, rel=1e-12)
    found = [LAWS[law][0].log_prob(z, LENGTHS[lengths]) for z in partitions(sum(LENGTHS[lengths]))]
    np.testing.assert_allclose(np.exp(found), prior, rtol=1e-10, atol=1e-300)


def _cases():
    """Family by family, as each has kernels of its own.

    Laws with a bound say nothing to moves that others do not: each family has whole paths under them, what the engine
    of the weak limit does, and one family every move.
    """
    for name in EXAMPLES:
        for lengths in LENGTHS:
            for law in LAWS:
                for moves in MOVES:
                    if law in BOUNDED and moves != "whole" and name != "poisson":
                        continue
                    yield name, law, lengths, moves


def _excess(name, law, lengths, moves, rng, n_draws):
    X, family, posterior = _problem(name, law, lengths)
    make, thin = MOVES[moves]
    labels, _ = run_chain(X, LENGTHS[lengths], family, LAWS[law][0], make(), rng, thin, n_draws)
    return excess(labels, posterior, rng)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "law", "lengths", "moves"), list(_cases()))
def test_partitions_are_drawn_as_often_as_they_should(name, law, lengths, moves, rng):
    assert _excess(name, law, lengths, moves, rng, N_DRAWS) <= LIMIT


@pytest.mark.parametrize(("name", "law", "lengths", "moves"), QUICK)
def test_some_partitions_are_drawn_as_often_as_they_should(name, law, lengths, moves, rng):
    assert _excess(name, law, lengths, moves, rng, N_DRAWS // 4) <= LIMIT


@pytest.mark.slow
def test_split_merge_alone(rng):
    """Merges lead to one state and splits from there to any partition, so no sweep is needed at all."""
    X, family, posterior = _problem("poisson", "sticky-hdp", "two")
    moves = [SplitMerge(6), BaseUpdate()]
    labels, _ = run_chain(X, LENGTHS["two"], family, LAWS["sticky-hdp"][0], moves, rng, n_draws=10_000)
    assert excess(labels, posterior, rng) <= LIMIT


# --- broken moves must fail ---------------------------------------------------------------------------------------


def _fails(moves, rng, law="sticky-hdp", thin=1, n_draws=10_000):
    X, family, posterior = _problem("poisson", law, "one")
    labels, _ = run_chain(X, (6,), family, LAWS[law][0], moves, rng, thin, n_draws)
    assert excess(labels, posterior, rng) > LIMIT


def test_a_sweep_with_another_concentration_fails(rng, monkeypatch):
    from countless.models.hmm.state import State

    right = State.arrays
    monkeypatch.setattr(State, "arrays", lambda self: right(self)._replace(concentration=2.0))
    _fails([DirectSweep(), BaseUpdate()], rng)


def test_a_whole_path_that_is_always_accepted_fails(rng, monkeypatch):
    """Slices are drawn as before, but the ratio of their masses is left out."""
    draw = paths.draw_slice

    def always(least):
        return 1.0

    mass = paths.slice_mass

    def draw_with_mass(rng, least):
        monkeypatch.setattr(paths, "slice_mass", mass)
        level = draw(rng, least)
        monkeypatch.setattr(paths, "slice_mass", always)
        return level

    monkeypatch.setattr(paths, "draw_slice", draw_with_mass)
    _fails([WholePath(), BaseUpdate()], rng, "hdp", 5)


@pytest.mark.slow
def test_a_beam_with_slices_of_the_wrong_transitions_fails(rng, monkeypatch):
    right = paths.draw_transitions

    def tempered(*args, **options):
        start, transition = right(*args, **options)
        return start, np.sqrt(transition)

    monkeypatch.setattr(paths, "draw_transitions", tempered)
    _fails([BeamPath(), BaseUpdate()], rng, thin=5)


@pytest.mark.parametrize("term", with_slow(["division", "share"], ["share"]))
def test_a_split_merge_without_a_term_of_its_ratio_fails(term, rng, monkeypatch):
    if term == "division":
        monkeypatch.setattr(split_merge.Launch, "log_prob", lambda self, labels: 0.0)
    else:
        monkeypatch.setattr(split_merge, "_log_share", lambda v, shapes: 2.0)
    _fails([SplitMerge(4), BaseUpdate()], rng)


@pytest.mark.slow
def test_tables_of_stays_that_are_never_overridden_fail(rng, monkeypatch):
    from countless.models.hmm.moves import numbers

    right = numbers.draw_tables
    monkeypatch.setattr(numbers, "draw_tables", lambda r, c, w, a, stay, t: right(r, c, w, a + stay, 0.0, t))
    _fails([DirectSweep(), BaseUpdate()], rng, thin=2)


# --- numbers of the law that are learned ------------------------------------------------------------------------------


@pytest.mark.slow
def test_learned_numbers_have_their_posterior(rng):
    """Four steps; alpha, gamma and kappa integrated on a grid, each with the sum over all partitions."""
    family, X = example("poisson")
    X = np.ascontiguousarray(X[[0, 1, 4, 5]])
    prior = Gamma(2.0, 2.0)
    nodes = np.exp(np.linspace(np.log(0.02), np.log(6.0), 13))
    weights = np.array([np.exp(prior.log_density_on_line(x)) for x in nodes])
    evidence = np.exp(log_evidences(family, X))
    table = np.array(
        [[[prior_of_partitions(4, (4,), a, gem(g), k) * evidence for k in nodes] for g in nodes] for a in nodes]
    )
    joint = table * (weights[:, None, None] * weights[:, None] * weights)[..., None]
    joint /= joint.sum()
    law = StickyHDP(prior, prior, prior)

    def numbers(state):
        return [np.log(state.fixed.concentration), np.log(state.fixed.base_concentration), np.log(state.fixed.stay)]

    moves = [DirectSweep(), WholePath(), BaseUpdate()]
    labels, kept = run_chain(X, (4,), family, law, moves, rng, 2, 12_000, numbers)
    assert excess(labels, joint.sum(axis=(0, 1, 2)), rng) <= LIMIT
    kept = np.array(kept)
    for at in range(3):
        axes = tuple(other for other in range(4) if other != at)
        share = joint.sum(axis=axes)
        mean, square = share @ np.log(nodes), share @ np.log(nodes) ** 2
        for values, right in ((kept[:, at], mean), (kept[:, at] ** 2, square)):
            assert abs(values.mean() - right) < z_limit(6) * batch_error(values) + 0.01
