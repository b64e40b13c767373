"""Density of each row given the others: against sums over all partitions, and against one partition term by term."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countless as cl
from countless.models.mixture.predictive import Predictor
from countless.posterior.held_out import leave_one_out

X = np.array([[0.0], [0.3], [0.5], [4.0], [4.4], [9.0]])
FAMILY = cl.families.DiagonalGaussian(mean=3.0, mean_strength=0.1, dof=4.0, scale=2.0)


def _partitions(n):
    if n == 0:
        yield []
        return
    for head in _partitions(n - 1):
        for label in range(max(head, default=-1) + 2):
            yield [*head, label]


def _log_evidence(rows, prior):
    """Sum over all partitions."""
    terms = []
    for labels in _partitions(len(rows)):
        members = [rows[np.array(labels) == k] for k in range(max(labels) + 1)]
        terms.append(prior.log_prob(labels) + sum(FAMILY.log_marginal(part) for part in members))
    return np.logaddexp.reduce(terms)


def test_draws_give_the_density_of_a_row_given_the_others():
    prior = cl.priors.CRP(0.7)
    engine = cl.inference.CollapsedGibbs(chains=4, draws=2000, warmup=50)
    model = cl.DPMixture(FAMILY, prior, engine, random_state=0, tune=None).fit(X)
    exact = [_log_evidence(X, prior) - _log_evidence(np.delete(X, i, axis=0), prior) for i in range(len(X))]
    problem, draws = model._description.data.problem(), model.posterior_.draws
    each = Predictor.of(problem, draws).each_left_out(draws, 2000)
    # Means of 1 / p over draws, in ten batches.
    batches = np.array([leave_one_out(part) for part in np.split(each, 10)])
    errors = batches.std(axis=0, ddof=1) / np.sqrt(10)
    assert np.all(np.abs(leave_one_out(each) - exact) < 4.0 * errors + 1e-3)
    assert errors.max() < 0.05
    np.testing.assert_allclose(model.held_out_.log_density, exact, rtol=0.0, atol=0.3)
    # The density of rows that the fit has seen is larger: the comparison has power.
    assert model.score_samples(X).mean() > np.mean(exact) + 0.3


@pytest.mark.parametrize(
    "prior", [cl.priors.CRP(0.7), cl.priors.PitmanYor(1.0, 0.3), cl.priors.FiniteDirichlet(3, 2.0)]
)
def test_at_one_partition_it_is_the_predictive_of_the_others(prior):
    labels = np.array([0, 0, 0, 1, 1, 2])
    model = cl.DPMixture(FAMILY, prior, cl.inference.MAP(start=labels), random_state=0, tune=None).fit(X)
    predictor = Predictor.of(model._description.data.problem(), model.posterior_.draws)
    found = predictor.left_out(labels, prior.resolve(6))
    for i in range(len(X)):
        rest, others = np.delete(X, i, axis=0), np.delete(labels, i)
        before = prior.resolve(6).log_prob(np.unique(others, return_inverse=True)[1])
        terms = []
        for k in [*np.unique(others), 9]:
            joint = prior.resolve(6).log_prob(np.unique([*others, k], return_inverse=True)[1])
            given = rest[others == k]
            terms.append(joint - before + FAMILY.log_predictive(X[i : i + 1], given if len(given) else None)[0])
        assert found[i] == pytest.approx(np.logaddexp.reduce(terms), abs=1e-9)


def test_missing_cells_count_for_nothing():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(40, 3)) @ np.diag([1.0, 2.0, 3.0]), columns=list("abc"))
    rows.loc[::4, "b"] = np.nan
    family = cl.families.Table({("a", "b", "c"): cl.families.Gaussian(dof=6.0)})
    model = cl.DPMixture(family, inference="gibbs", random_state=0).set_params(
        inference=cl.inference.CollapsedGibbs(chains=2, draws=40, warmup=20)
    )
    found = model.fit(rows).held_out_.log_density
    whole = rows.notna().all(axis=1).to_numpy()
    # Two cells have a density per unit of two columns: larger by that of the third, about 1.8 nats.
    assert 0.5 < found[~whole].mean() - found[whole].mean() < 4.0


def test_weighted_rows_have_none():
    model = cl.DPMixture(inference=cl.inference.Variational(restarts=1), random_state=0)
    assert model.fit(X, sample_weight=np.full(6, 2.0)).held_out_ is None
