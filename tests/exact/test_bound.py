"""The variational bound against the exact evidence of seven rows, by enumeration of all partitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import betaln, gammaln, logsumexp, softmax

from countless.families import Poisson
from countless.inference import Problem, Variational
from countless.models.mixture.engines.mean_field import MeanField
from countless.priors import CRP, Beta, FiniteDirichlet, Gamma, MixtureOfFinite, PitmanYor

from .enumeration import log_evidences, log_priors
from .problems import EXAMPLES, example

PRIORS = (
    CRP(1.0),
    CRP(Gamma(2.0, 1.0)),
    PitmanYor(0.8, 0.3),
    FiniteDirichlet(3, 1.5),
    PitmanYor(Gamma(1.0, 1.0), 0.2),
    PitmanYor(Gamma(2.0, 1.0), Beta(1.0, 2.0)),
)
N_PROBLEMS = 204  # 17 for each of the 12 examples
# Nats by which rounding may carry the bound above the evidence.
ROUNDING = 1e-8
# Nats within which the engine, whose climbs end at a gain of 1e-6 or so a row, must reach the best bound.
OPTIMUM = 1e-3
# Starts of the general optimiser.
N_STARTS = 12


def _bound(X, family, prior, rng, **settings):
    engine = Variational(**{"restarts": 1, "draws": 1, **settings})
    return engine.run(Problem.of(X, family, prior), rng).objective


def _evidence(X, family, prior):
    return logsumexp(log_priors(prior, len(X)) + log_evidences(family, X))


def _random_rows(family, X, rng):
    """Two clusters of the family's own."""
    return np.concatenate([family.sample(4, rng, X[:3]), family.sample(3, rng, X[4:])])


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_bound_is_below_the_evidence(name, rng):
    family, X = example(name)
    gaps = []
    for number in range(N_PROBLEMS // len(EXAMPLES)):
        rows = np.ascontiguousarray(_random_rows(family, X, rng))
        prior = PRIORS[number % len(PRIORS)]
        trace = _bound(rows, family, prior, rng)
        assert np.all(np.diff(trace) >= -ROUNDING)
        gaps.append(_evidence(rows, family, prior) - trace[-1])
    assert min(gaps) >= -ROUNDING
    assert np.mean(gaps) < 5.0  # of some ten to thirty nats of evidence


@pytest.mark.parametrize("name", EXAMPLES)
def test_one_cluster_is_exact(name, rng):
    family, X = example(name)
    trace = _bound(X, family, FiniteDirichlet(1, 1.0), rng)
    assert trace[-1] == pytest.approx(family.log_marginal(X), abs=1e-8)


@pytest.mark.parametrize("wrong", ["sticks", "parameters"])
def test_a_bound_that_forgets_a_divergence_is_caught(wrong, rng, monkeypatch):
    def penalty(field):
        value = 0.0 if wrong == "sticks" else -field.law.value(field.sticks)
        return value + (0.0 if wrong == "parameters" else float(field.divergences.sum()))

    monkeypatch.setattr(MeanField, "penalty", property(penalty))
    excess = []
    for name in ("poisson", "gaussian", "categorical"):
        family, X = example(name)
        prior = CRP(0.05)  # nearly one cluster, where the bound is tight
        excess.append(_bound(X, family, prior, rng)[-1] - _evidence(X, family, prior))
    assert max(excess) > 0.1


def test_a_prior_without_sticks_is_named(rng):
    family, X = example("poisson")
    with pytest.raises(ValueError, match="MixtureOfFinite has no stick-breaking form; choose"):
        Variational().run(Problem.of(X, family, MixtureOfFinite(1.0)), rng)


# --- the optimum of the mean field, found by another way ------------------------------------------------------


def _mean_field_bound(shares, X, prior):
    """The bound of seven Poisson counts at q(z) = shares (row, component), all else at its optimum given q(z).

    Written out from Blei & Jordan 2006: q(v), q(rate) are conjugate given the shares; nothing is asked of the engine.
    """
    shape, rate, concentration = 1.5, 0.2, prior.concentration
    counts, totals = shares.sum(axis=0), shares.T @ X[:, 0]
    later = counts.sum() - np.cumsum(counts)
    sticks = np.sum(betaln(1.0 + counts, concentration + later) - betaln(1.0, concentration))
    rates = shape * np.log(rate) - gammaln(shape) + gammaln(shape + totals) - (shape + totals) * np.log(rate + counts)
    entropy = -np.sum(shares * np.log(np.maximum(shares, 1e-300)))
    return sticks + rates.sum() - np.sum(gammaln(X[:, 0] + 1.0)) + entropy


def _best_bound(X, prior, n_components, rng):
    """The largest bound that a general optimiser finds over all shares, from many starts."""

    def negative(logits):
        return -_mean_field_bound(softmax(logits.reshape(len(X), n_components), axis=1), X, prior)

    starts = [scale * rng.standard_normal(len(X) * n_components) for scale in np.linspace(0.3, 3.0, N_STARTS)]
    options = {"maxiter": 2000, "maxfun": 50_000}
    return max(-minimize(negative, start, method="L-BFGS-B", options=options).fun for start in starts)


@pytest.mark.xfail(reason="unexplained: the optimiser finds bounds up to 0.07 nats above the engine's, or below them")
@pytest.mark.parametrize("concentration", [0.3, 1.0, 3.0])
def test_the_bound_is_the_optimum_of_the_mean_field(concentration, rng):
    family = Poisson(shape=1.5, rate=0.2)
    prior = CRP(concentration)
    for _ in range(2):
        X = np.concatenate([rng.poisson(9.0, (3, 1)), rng.poisson(2.0, (3, 1))]).astype(float)
        found = _bound(X, family.resolve(X), prior, rng, restarts=4, truncation=4)[-1]
        best = _best_bound(X, prior, 4, rng)
        assert best - OPTIMUM < found <= _evidence(X, family.resolve(X), prior) + ROUNDING
        # Components that are not told apart fall short: the comparison would show it.
        stuck = _mean_field_bound(np.full((len(X), 2), 0.5), X, prior)
        assert stuck < best - 10.0 * OPTIMUM
