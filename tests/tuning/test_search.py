"""Empirical Bayes, greedy restarts and cross-validation: objectives that never fall, and better candidates chosen."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import ShuffleSplit

import countless as cl
from countless.families import FAMILIES
from countless.inference import MAP, CollapsedGibbs, Problem
from countless.priors import CRP
from countless.tuning import CrossValidation, EmpiricalBayes, Greedy
from estimators.cases import FAMILY_NAMES, GIBBS, SEARCH, two_groups

every_family = pytest.mark.parametrize("name", FAMILY_NAMES)

# Priors that learn the concentration alone, which is all that the log joint by hand below knows.
ONE_NUMBER = ("crp", "finite-dirichlet", "mixture-of-finite")


def _log_joint(model, X):
    """Log joint of what was fitted, from evidences of clusters and the probability of the partition."""
    labels, prior = model.labels_, model.prior_
    value = (
        prior.with_concentration(model.concentration_).log_prob(labels) if prior.is_learned else prior.log_prob(labels)
    )
    if prior.is_learned:
        value += prior.log_concentration_prior(model.concentration_)
    return value + sum(model.family_.log_marginal(X[labels == k]) for k in range(model.n_clusters_))


@every_family
@pytest.mark.parametrize("tune", ["empirical-bayes", "greedy"])
def test_the_objective_never_falls_and_is_the_log_joint(name, tune):
    X = two_groups(name)
    prior = ONE_NUMBER[FAMILY_NAMES.index(name) % 3]
    fixed = cl.DPMixture(name, prior, SEARCH, random_state=0, tune=None).fit(X)
    tuned = cl.DPMixture(name, prior, SEARCH, tune=tune, random_state=0).fit(X)
    objective = tuned.posterior_.objective
    assert np.all(np.diff(objective) >= -1e-9 * np.abs(objective[:-1]))
    assert tuned.posterior_.log_joint[0, 0] == pytest.approx(_log_joint(tuned, X), rel=1e-8, abs=1e-7)
    assert objective[-1] == pytest.approx(tuned.posterior_.log_joint[0, 0], rel=1e-12)
    assert objective[-1] > fixed.posterior_.log_joint[0, 0]
    assert set(tuned.posterior_.hyperparameters) == set(tuned.family_.tunable())


def test_with_a_spread_the_density_of_the_factors_is_part_of_the_objective():
    X = two_groups("gaussian")
    tune = EmpiricalBayes(spread=0.5)
    tuned = cl.DPMixture(prior=CRP(1.0), inference=SEARCH, tune=tune, random_state=0).fit(X)
    logs = np.array([values[0, 0] for values in tuned.posterior_.log_factors.values()])
    density = norm(0.0, 0.5).logpdf(logs).sum()
    assert tuned.posterior_.log_joint[0, 0] == pytest.approx(_log_joint(tuned, X) + density, rel=1e-8)
    assert np.all(np.diff(tuned.posterior_.objective) >= -1e-9)


def test_empirical_bayes_of_a_sampler_ends_where_the_mean_evidence_is_largest():
    """The last draws are a sample for the M-step: it would move the factors by little more than their noise."""
    X = two_groups("poisson", 15)
    engine = CollapsedGibbs(chains=2, draws=100, warmup=20, n_threads=1)
    model = cl.DPMixture("poisson", CRP(1.0), engine, tune=EmpiricalBayes(spread=2.0), random_state=0).fit(X)
    assert len(np.unique(model.posterior_.log_factors["rate"])) == 1
    family = FAMILIES["poisson"]().resolve(X)
    problem = Problem.of(X, family, CRP(1.0))
    evidence = problem.evidence(model.posterior_.draws, model.posterior_.spaced(40))
    logs = {name: values[0, 0] for name, values in model.posterior_.log_factors.items()}
    height = evidence(logs) + norm(0.0, 2.0).logpdf(list(logs.values())).sum()
    for name in logs:
        for step in (-0.5, 0.5):
            moved = {**logs, name: logs[name] + step}
            assert evidence(moved) + norm(0.0, 2.0).logpdf(list(moved.values())).sum() < height


@pytest.mark.parametrize("engine", [GIBBS, SEARCH], ids=["gibbs", "map"])
def test_cross_validation_takes_the_better_of_two(engine):
    """Two groups of variance 1: a scale a million times too large, or the default."""
    X = two_groups("gaussian", 15)
    for candidates in ([{"scale": 1e6}, {"scale": 1.0}], [{}, {"scale": 1e6}], {"scale": [1e6, 1.0]}):
        tune = CrossValidation(candidates, cv=ShuffleSplit(2, test_size=0.3, random_state=0))
        model = cl.DPMixture(inference=engine, tune=tune, random_state=0).fit(X)
        assert model.posterior_.log_factors["scale"][0, 0] == 0.0


def test_cross_validation_scores_what_the_estimator_scores():
    """The candidate chosen is the one that separate fits on the same folds rank first."""
    X = two_groups("poisson", 12)
    factors = [0.03, 1.0, 30.0]
    folds = ShuffleSplit(2, test_size=0.4, random_state=1)
    resolved = FAMILIES["poisson"]().resolve(X)
    scores = []
    for factor in factors:
        family = resolved.with_tuned({"shape": math.log(factor), "rate": math.log(factor)})
        parts = [cl.DPMixture(family, CRP(1.0), MAP(), random_state=0).fit(X[a]).score(X[b]) for a, b in folds.split(X)]
        scores.append(np.mean(parts))
    assert np.diff(np.sort(scores))[-1] > 0.01
    tune = CrossValidation([{"shape": factor, "rate": factor} for factor in factors], cv=folds)
    model = cl.DPMixture("poisson", CRP(1.0), MAP(), tune=tune, random_state=0).fit(X)
    assert math.exp(model.posterior_.log_factors["rate"][0, 0]) == pytest.approx(factors[int(np.argmax(scores))])


def test_random_candidates_begin_with_the_default():
    X = two_groups("exponential")
    problem = Problem.of(X, FAMILIES["exponential"]().resolve(X), CRP(1.0))
    listed = list(CrossValidation(5, spread=1.0)._listed(problem, np.random.default_rng(0)))
    assert listed[0] == {"shape": 0.0, "rate": 0.0}
    assert len(listed) == 5
    assert len({tuple(one.values()) for one in listed}) == 5
    assert all(abs(value) < 6.0 for one in listed for value in one.values())


def _small_clusters(seed, n_clusters=8, size=20, d=4):
    """Clusters of full covariance, their centres 2.5 apart in each direction, and 100 new rows of each."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0.0, 2.5, (n_clusters, d))
    factors = [np.linalg.cholesky(a @ a.T / (d + 2)) for a in rng.normal(size=(n_clusters, d, d + 2))]

    def draw(n):
        return np.concatenate([c + rng.normal(size=(n, d)) @ f.T for c, f in zip(centres, factors, strict=True)])

    return draw(size), np.repeat(np.arange(n_clusters), size), draw(100)


def test_small_clusters_of_full_covariance_are_told_apart():
    """Twenty rows for fourteen parameters: the default prior mean strength asks for fewer clusters than there are."""
    engine, prior = CollapsedGibbs(chains=2, draws=60, warmup=60), cl.priors.CRP(cl.priors.Gamma(1.0, 1.0))
    gains = []
    for seed in range(3):
        X, truth, new = _small_clusters(seed)
        fixed, drawn = (
            cl.DPMixture(prior=prior, inference=engine, tune=tune, random_state=0).fit(X) for tune in (None, "sample")
        )
        agreement = [cl.metrics.normalized_mutual_information(truth, model.labels_) for model in (fixed, drawn)]
        gains.append((agreement[1] - agreement[0], drawn.score(new) - fixed.score(new)))
    assert np.all(np.mean(gains, axis=0) > 0.02)


@pytest.mark.parametrize("tune", [EmpiricalBayes(), Greedy()])
def test_eruptions_lose_nothing(tune):
    """Old Faithful, every third row held out: within two standard errors of what the default predicts, or better."""
    X = np.asarray(cl.datasets.load_faithful(), dtype=np.float64)
    held = np.arange(len(X)) % 3 == 0
    fixed, tuned = (
        cl.DPMixture(inference="map", tune=how, random_state=0).fit(X[~held]).score_samples(X[held])
        for how in (None, tune)
    )
    difference = tuned - fixed
    assert difference.mean() > -2.0 * difference.std() / np.sqrt(held.sum())


class _Stopped(MAP):
    """A search that is interrupted, as by Ctrl-C, in its second run."""

    runs: ClassVar[list[int]] = []

    def run(self, problem, rng, watch=None):
        self.runs.append(1)
        return super().run(problem, rng, watch).replaced(interrupted=len(self.runs) >= 2)


@pytest.mark.parametrize("tune", ["empirical-bayes", "greedy"])
def test_an_interrupt_ends_the_search_and_keeps_what_was_found(tune):
    _Stopped.runs.clear()
    with pytest.warns(UserWarning, match="interrupted"):
        model = cl.DPMixture(inference=_Stopped(n_threads=1), tune=tune, random_state=0).fit(two_groups("gaussian"))
    assert len(_Stopped.runs) == 2
    assert model.posterior_.interrupted
    assert np.isfinite(model.score(two_groups("gaussian")))


def test_an_interrupt_before_all_candidates_are_compared_ends_the_fit():
    _Stopped.runs.clear()
    with pytest.raises(KeyboardInterrupt):
        cl.DPMixture(inference=_Stopped(n_threads=1), tune="cross-validation").fit(two_groups("gaussian"))
