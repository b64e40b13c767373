"""The variational bound against the exact evidence of seven rows, by enumeration of all partitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from countless.inference import Problem, Variational
from countless.models.mixture.engines.mean_field import MeanField
from countless.priors import CRP, Beta, FiniteDirichlet, Gamma, MixtureOfFinite, PitmanYor

from .enumeration import log_evidences, log_priors
from .learned.integrated import moments_of_partitions
from .problems import EXAMPLES, example

PRIORS = (
    CRP(1.0),
    CRP(Gamma(2.0, 1.0)),
    PitmanYor(0.8, 0.3),
    FiniteDirichlet(3, 1.5),
    PitmanYor(Gamma(1.0, 1.0), 0.2),
    PitmanYor(Gamma(2.0, 1.0), Beta(1.0, 2.0)),
)
N_PROBLEMS = 6  # of each example, one under each prior
# Nats by which rounding may carry the bound above the evidence.
ROUNDING = 1e-8


def _bound(X, family, prior, rng, **settings):
    engine = Variational(**{"restarts": 1, "draws": 1, **settings})
    return engine.run(Problem.of(X, family, prior), rng).objective


def _evidence(X, family, prior):
    """A learned concentration and discount are integrated out by the sums written out for that: they are faster."""
    both = set(prior.learned_names) == {"concentration", "discount"}
    log_prior = np.log(moments_of_partitions(prior, len(X))[:, 0]) if both else log_priors(prior, len(X))
    return logsumexp(log_prior + log_evidences(family, X))


def _random_rows(family, X, rng):
    """Two clusters of the family's own."""
    return np.concatenate([family.sample(4, rng, X[:3]), family.sample(3, rng, X[4:])])


@pytest.mark.parametrize("n_problems", [N_PROBLEMS, pytest.param(3 * N_PROBLEMS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_bound_is_below_the_evidence(name, n_problems, rng):
    family, X = example(name)
    gaps = []
    for number in range(n_problems):
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
