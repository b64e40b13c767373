"""What people get by default: nothing in one Gaussian population, both of two; beside MixedLM of statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import countless as cl
from countless.experiments.mixed_effects import Visits, _maximum_likelihood

SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))]
N_SUBJECTS, N_VISITS, GAP = 200, 5, 3.0
MEAN = np.array([2.0, 1.0])


def _study(seed, gap):
    """Intercepts and slopes with deviation 1, apart by ``gap``; noise of variance 1. Visits, and groups of subjects."""
    rng = np.random.default_rng(seed)
    subject, time = np.repeat(np.arange(N_SUBJECTS), N_VISITS), np.tile(np.arange(float(N_VISITS)), N_SUBJECTS)
    groups = rng.integers(2, size=N_SUBJECTS)
    effects = MEAN + gap * groups[:, None] + rng.normal(size=(N_SUBJECTS, 2))
    y = effects[subject, 0] + effects[subject, 1] * time + rng.normal(size=len(subject))
    X = np.column_stack([np.ones(len(subject)), time])
    return Visits(X, np.empty((len(X), 0)), y, subject), groups


def _oracle(visits):
    """Groups by the law that has made the data."""
    X, y = visits.X[:N_VISITS], visits.y.reshape(N_SUBJECTS, N_VISITS)
    covariance = X @ X.T + np.eye(N_VISITS)
    scores = [multivariate_normal(X @ (MEAN + gap), covariance).logpdf(y) for gap in (0.0, GAP)]
    return np.argmax(scores, axis=0)


def _two_components(visits):
    """Groups by maximum likelihood, from the truth: two components with means, covariances and one noise of their own.

    As much as can be known without the parameters: with a few subjects between the groups it may be less than the
    oracle's by some of them.
    """
    X, y = visits.X[:N_VISITS], visits.y.reshape(N_SUBJECTS, N_VISITS)
    means, covariances, noise, shares = [MEAN, MEAN + GAP], [np.eye(2)] * 2, 1.0, np.full(2, 0.5)
    for _ in range(120):
        laws = [
            (X @ mean, X @ cov @ X.T + noise * np.eye(N_VISITS)) for mean, cov in zip(means, covariances, strict=True)
        ]
        scores = np.log(shares) + np.column_stack([multivariate_normal(*law).logpdf(y) for law in laws])
        weights = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
        shares, left = weights.mean(axis=0), 0.0
        for k, weight in enumerate(weights.T):
            spread = np.linalg.inv(np.linalg.inv(covariances[k]) + X.T @ X / noise)
            effects = means[k] + (y - X @ means[k]) @ X @ spread / noise
            means[k] = weight @ effects / weight.sum()
            away = effects - means[k]
            covariances[k] = (away.T * weight) @ away / weight.sum() + spread
            left += weight @ (np.sum((y - effects @ X.T) ** 2, axis=1) + np.trace(X @ spread @ X.T))
        noise = left / y.size
    return np.argmax(scores, axis=1)


def _nmi(labels, groups):
    return cl.metrics.compare(labels, groups, metrics=("nmi",))["nmi"]


def _held_out(model, seed, gap):
    """Log density of a visit of as many new subjects, under the model and under MixedLM."""
    pytest.importorskip("statsmodels")
    new = _study(1000 + seed, gap)[0]
    theirs = _maximum_likelihood(_study(seed, gap)[0], new)
    return model.score(new.X, new.y, new.subject + N_SUBJECTS), theirs


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_one_population_is_one_cluster(seed):
    visits = _study(seed, 0.0)[0]
    model = cl.MixedEffects(random_state=seed).fit(visits.X, visits.y, visits.subject)
    assert model.n_clusters_ == 1
    ours, theirs = _held_out(model, seed, 0.0)
    assert ours > theirs - 0.01


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")
@pytest.mark.parametrize("seed", SEEDS[:10])
def test_two_populations_are_found(seed):
    visits, groups = _study(seed, GAP)
    model = cl.MixedEffects(random_state=seed).fit(visits.X, visits.y, visits.subject)
    assert model.n_clusters_ == 2
    enough = min(0.9 * _nmi(_oracle(visits), groups), _nmi(_two_components(visits), groups))
    assert _nmi(model.labels_, groups) >= enough - 1e-9
    ours, theirs = _held_out(model, seed, GAP)
    assert ours > theirs
