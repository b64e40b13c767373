"""Blocked Gibbs against the exact posterior of its truncated prior and, where sticks may grow, of the prior itself."""

from __future__ import annotations

import numpy as np
import pytest

from countless.inference import Problem
from countless.models.mixture.moves import blocked
from countless.models.mixture.moves.blocked import BlockedSweep
from countless.priors import CRP, FiniteDirichlet, Gamma, PitmanYor
from helpers import batch_error

from .chains import LIMIT, excess, run_chain
from .chains import N_DRAWS as LONG
from .enumeration import exact_posterior, log_priors
from .problems import EXAMPLES, PRIORS, example
from .truncated import learned_posterior, log_truncated_priors, truncated_posterior

N_DRAWS = 3_000
STICKS = ("crp", "pitman-yor", "finite-dirichlet")
# With fourteen columns a new component hardly ever meets rows that suit it: draws 150 sweeps apart are still correlated
# (1.55 times the variation of independent ones), so that this criterion does not apply there.
WIDE = "gaussian-14-columns"
NAMES = [name for name in EXAMPLES if name != WIDE]
# A sweep asks a family for parameters and for scores given them, as the sweep with parameters does, which is tried with
# every family. Here one of each kind, and each of the priors.
PAIRS = [("gaussian", "crp"), ("categorical", "pitman-yor"), ("multinomial", "finite-dirichlet"), ("poisson", "crp")]
slow = pytest.mark.slow


def _draws(name, prior, rng, truncation, limit, n_draws=N_DRAWS, thin=2):
    family, X = example(name)
    return run_chain(Problem.of(X, family, prior), [BlockedSweep(truncation, limit)], rng, thin=thin, n_draws=n_draws)


@pytest.mark.parametrize("prior", STICKS)
def test_the_truncated_prior_is_a_law_and_tends_to_the_prior(prior):
    few, more = (np.exp(log_truncated_priors(PRIORS[prior], 5, n)) for n in (2, 3))
    whole = np.exp(log_priors(PRIORS[prior], 5))
    assert few.sum() == pytest.approx(1.0, rel=1e-12)
    assert more.sum() == pytest.approx(1.0, rel=1e-12)
    assert np.abs(few - whole).sum() > np.abs(more - whole).sum()
    if prior == "finite-dirichlet":  # three components: with three sticks nothing is cut off
        np.testing.assert_allclose(more, whole, rtol=1e-10)


@pytest.mark.parametrize("prior", [CRP(0.7), PitmanYor(0.8, 0.3), FiniteDirichlet(3, 1.5)], ids=str)
def test_labels_of_components_against_the_law_of_partitions(prior):
    """Labels of two rows: summed over the sticks, they are together as often as the truncated prior says."""
    for n_sticks in (1, 2, 3):
        together = sum(np.exp(prior.log_prob_components(2 * row)) for row in np.eye(n_sticks, dtype=int))
        assert together == pytest.approx(np.exp(log_truncated_priors(prior, 2, n_sticks)[0]), rel=1e-12)


def test_components_beyond_the_last_stick():
    prior = FiniteDirichlet(2, 1.0)
    assert prior.log_prob_components([1, 2, 0, 0]) == prior.log_prob_components([1, 2])
    assert prior.log_prob_components([1, 2, 1]) == -np.inf


@pytest.mark.parametrize("prior", [CRP(0.2), CRP(1.0), CRP(5.0), PitmanYor(0.8, 0.3)], ids=str)
@pytest.mark.parametrize("n_sticks", [2, 4])
def test_the_bound_bounds(prior, n_sticks):
    gap = np.abs(np.exp(log_truncated_priors(prior, 5, n_sticks)) - np.exp(log_priors(prior, 5))).sum()
    assert 0.0 < gap <= prior.truncation_bound(5, n_sticks)


def test_the_formula_of_the_literature_is_no_bound_for_small_concentrations():
    prior = CRP(0.2)
    gap = np.abs(np.exp(log_truncated_priors(prior, 5, 3)) - np.exp(log_priors(prior, 5))).sum()
    assert prior.truncation_formula(5, 3) < gap <= prior.truncation_bound(5, 3)


@pytest.mark.parametrize(("name", "prior"), PAIRS)
def test_four_sticks(name, prior, rng):
    """For the finite Dirichlet of three components the truncated prior is the prior."""
    family, X = example(name)
    if prior == "finite-dirichlet":
        exact = exact_posterior(family, X, PRIORS[prior])
    else:
        exact = truncated_posterior(family, X, PRIORS[prior], 4)
    draws = _draws(name, PRIORS[prior], rng, 4, 4)
    assert excess(draws.labels, exact, rng) <= LIMIT


@slow
@pytest.mark.parametrize("prior", STICKS)
@pytest.mark.parametrize("name", NAMES)
def test_four_sticks_at_length(name, prior, rng):
    """Every pair, with as many draws as the collapsed sampler is tested with."""
    family, X = example(name)
    exact = truncated_posterior(family, X, PRIORS[prior], min(4, PRIORS[prior].max_clusters(7)))
    draws = _draws(name, PRIORS[prior], rng, 4, 4, n_draws=LONG, thin=4)
    assert excess(draws.labels, exact, rng) <= LIMIT


@pytest.mark.parametrize(
    ("name", "prior", "truncation", "limit"),
    [
        ("gaussian", "crp", 2, 1000),
        ("poisson", "crp", None, 1000),
        ("poisson", "pitman-yor", 5, 80),
        pytest.param("poisson", "crp", 2, 1000, marks=slow),
        pytest.param("gaussian", "crp", None, 1000, marks=slow),
        pytest.param("gaussian", "pitman-yor", 5, 80, marks=slow),
    ],
)
def test_growing_sticks(name, prior, truncation, limit, rng):
    family, X = example(name)
    draws = _draws(name, PRIORS[prior], rng, truncation, limit)
    assert excess(draws.labels, exact_posterior(family, X, PRIORS[prior]), rng) <= LIMIT


def test_a_finite_dirichlet_may_have_fewer_sticks_than_components(rng):
    family, X = example("poisson")
    prior = FiniteDirichlet(5, 2.0)
    assert excess(_draws("poisson", prior, rng, 3, 3).labels, truncated_posterior(family, X, prior, 3), rng) <= LIMIT
    assert excess(_draws("poisson", prior, rng, 2, 99).labels, exact_posterior(family, X, prior), rng) <= LIMIT


@pytest.mark.parametrize(
    "prior",
    [CRP(Gamma(2.0, 1.0)), PitmanYor(Gamma(2.0, 1.0), 0.3), FiniteDirichlet(4, Gamma(2.0, 1.0))],
    ids=["crp", "pitman-yor", "finite-dirichlet"],
)
def test_a_learned_concentration(prior, rng):
    family, X = example("poisson")
    exact, mean = learned_posterior(family, X, prior, 3)
    draws = _draws("poisson", prior, rng, 3, 3, n_draws=5_000, thin=1)
    assert excess(draws.labels[::2], exact, rng) <= LIMIT
    assert abs(draws.concentration.mean() - mean) <= 4.0 * batch_error(draws.concentration)


# --- what is wrong on purpose must fail --------------------------------------------------------------------------


def test_three_sticks_are_not_the_whole_prior(rng):
    family, X = example("poisson")
    draws = _draws("poisson", PRIORS["crp"], rng, 3, 3)
    assert excess(draws.labels, truncated_posterior(family, X, PRIORS["crp"], 3), rng) <= LIMIT
    assert excess(draws.labels, exact_posterior(family, X, PRIORS["crp"]), rng) > LIMIT


def test_components_in_any_order_fail(rng, monkeypatch):
    monkeypatch.setattr(blocked, "switch_components", lambda rng, counts, shapes: rng.permutation(len(counts)))
    family, X = example("poisson")
    draws = _draws("poisson", PRIORS["crp"], rng, 4, 4)
    assert excess(draws.labels, truncated_posterior(family, X, PRIORS["crp"], 4), rng) > LIMIT


def test_weights_that_do_not_see_the_labels_fail(rng, monkeypatch):
    right = blocked.draw_log_weights
    monkeypatch.setattr(
        blocked, "draw_log_weights", lambda rng, counts, shapes: right(rng, np.zeros_like(counts), shapes)
    )
    family, X = example("poisson")
    draws = _draws("poisson", PRIORS["crp"], rng, 4, 4, n_draws=15_000, thin=1)
    assert excess(draws.labels, truncated_posterior(family, X, PRIORS["crp"], 4), rng) > LIMIT


def test_a_concentration_given_the_sizes_alone_fails(rng, monkeypatch):
    """Right for the whole prior, not for three sticks."""
    monkeypatch.setattr(CRP, "draw_concentration_of_components", CRP.draw_concentration)
    family, X = example("poisson")
    prior = CRP(Gamma(2.0, 1.0))
    _, mean = learned_posterior(family, X, prior, 2)
    draws = _draws("poisson", prior, rng, 2, 2, n_draws=5_000, thin=1)
    assert abs(draws.concentration.mean() - mean) > 8.0 * batch_error(draws.concentration)
