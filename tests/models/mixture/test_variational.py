"""The variational engine: the climb never falls, weights are repetitions, structure is found from poor starts."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy.integrate import quad

import countless as cl
from countless.chains.jobs import Monitor
from countless.inference import Problem, Variational
from countless.metrics import normalized_mutual_information
from countless.models.mixture.engines.mean_field import MeanField, climb
from countless.models.mixture.engines.rearrange import seed_labels
from countless.partitions.stick_law import StickLaw
from countless.passes.passes import Passes
from countless.priors import CRP, FiniteDirichlet, PitmanYor


def _problem(X, family="gaussian", prior=None, weights=None):
    X = np.ascontiguousarray(X, dtype=np.float64)
    family = cl.families.resolve_family(family) if isinstance(family, str) else family
    return Problem.of(X, family.resolve(X), (prior or CRP()).resolve(len(X)), weights)


def _climb(problem, labels, **settings):
    law = StickLaw(problem.prior, problem.n_rows)
    with Passes(problem) as passes:
        start = MeanField.of(problem, law, passes.sums_of(labels, int(labels.max()) + 1))
        return climb(passes, start, settings.get("tolerance", 1e-9), settings.get("max_passes", 300))


@pytest.mark.parametrize("prior", [CRP(), CRP(2.0), PitmanYor(1.0, 0.3), FiniteDirichlet(6)])
@pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial", "categorical"])
def test_the_bound_never_falls(family, prior, rng):
    X = rng.poisson(3.0, size=(150, 3)) + 6 * rng.integers(0, 2, size=(150, 1))
    if family == "categorical":
        X = X % 3
    trace = _climb(_problem(X, family, prior), rng.integers(0, 6, size=150)).trace
    assert len(trace) > 3
    assert np.all(np.diff(trace) >= -1e-8 * np.abs(trace[-1]))


def test_weights_are_repetitions(rng):
    X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(7, 1, (30, 2))])
    counts = rng.integers(0, 4, size=60)
    family = cl.families.Gaussian().resolve(X)
    labels = rng.integers(0, 3, size=60)
    prior = CRP(1.0)
    weighted = _climb(_problem(X, family, prior, counts.astype(float)), labels)
    repeated = _climb(_problem(np.repeat(X, counts, axis=0), family, prior), np.repeat(labels, counts))
    # The units of the arithmetic differ with the rows, the bound in the user's units does not.
    in_units = [a.bound + a.field.problem.log_jacobian for a in (weighted, repeated)]
    assert in_units[0] == pytest.approx(in_units[1], abs=1e-6)
    fitted = cl.DPMixture(inference="variational", random_state=0).fit(X, sample_weight=counts)
    assert fitted.n_clusters_ == 2
    again = cl.DPMixture(inference="variational", random_state=0).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(fitted.score_samples(X), again.score_samples(X), atol=1e-4)


@pytest.mark.parametrize("n_seeds", [1, 40])
def test_structure_is_found_from_poor_starts(n_seeds, rng):
    """From one component, where the climb alone stays, births must work; from forty, deletions and merges."""
    truth = rng.integers(0, 8, size=2000)
    problem = _problem(6.0 * rng.standard_normal((8, 3))[truth] + rng.standard_normal((2000, 3)))
    labels = np.zeros(2000, dtype=np.int64) if n_seeds == 1 else seed_labels(problem, n_seeds, rng)
    stuck = _climb(problem, labels, tolerance=1e-6)
    best = _climb(problem, truth, tolerance=1e-6)
    engine = Variational(restarts=1)
    with Passes(problem) as passes:
        found = engine._finish(passes, engine._improve(passes, stuck.field, rng, Monitor(1, threading.Event())))
    if n_seeds == 1:
        assert stuck.bound < best.bound - 100.0
    assert found.bound > best.bound - 0.1
    assert np.all(np.diff(found.trace) >= -1e-6)


def test_the_answer_does_not_depend_on_the_truncation_or_the_threads():
    truth = cl.datasets.make_gaussian_mixture(3000, n_columns=3, n_clusters=6, random_state=2)
    settings = [{}, {"n_threads": 1}, {"truncation": 15}, {"truncation": 40}]
    fits = [
        cl.DPMixture(inference=Variational(restarts=1, draws=2, **setting), random_state=0).fit(truth.X)
        for setting in settings
    ]
    np.testing.assert_array_equal(fits[0].posterior_.objective, fits[1].posterior_.objective)
    np.testing.assert_array_equal(fits[0].posterior_.labels, fits[1].posterior_.labels)
    for fit in fits[2:]:
        assert fit.posterior_.objective[-1] == pytest.approx(fits[0].posterior_.objective[-1], abs=0.5)
    few = cl.DPMixture(inference=Variational(truncation=3), random_state=0).fit(truth.X)
    assert few.n_clusters_ <= 3


def test_a_sample_of_the_rows_leads_to_the_answer_of_all():
    truth = cl.datasets.make_gaussian_mixture(6000, n_columns=3, n_clusters=5, random_state=3)
    # One search of two finds the largest bound of these rows, from all of them or from a sample.
    full = cl.DPMixture(inference=Variational(restarts=4, draws=1), random_state=0).fit(truth.X)
    some = cl.DPMixture(inference=Variational(restarts=4, draws=1, start_rows=600), random_state=0).fit(truth.X)
    assert some.posterior_.objective[-1] == pytest.approx(full.posterior_.objective[-1], abs=0.5)
    assert normalized_mutual_information(full.labels_, some.labels_) > 0.97


def test_the_predictive_density_is_one():
    X = cl.datasets.load_galaxies().to_numpy()
    model = cl.DPMixture(inference="variational", random_state=0).fit(X)
    total = quad(lambda x: float(np.exp(model.score_samples([[x]])[0])), -300.0, 400.0, points=[10, 20, 33], limit=200)
    assert total[0] == pytest.approx(1.0, abs=1e-3)  # the tails of the prior reach further still
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.shape[1] == model.n_clusters_ + 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_the_predictive_of_one_cluster_is_that_of_its_rows(rng):
    X = rng.normal(size=(40, 2))
    family = cl.families.Gaussian(mean=[0.0, 0.0], mean_strength=0.5, scale=np.eye(2), dof=5.0)
    model = cl.DPMixture(family, FiniteDirichlet(1, 1.0), "variational", random_state=0).fit(X)
    new = rng.normal(size=(7, 2))
    np.testing.assert_allclose(model.score_samples(new), family.log_predictive(new, X), atol=1e-10)
    rows, labels = model.sample(400)
    assert set(labels) == {0}
    assert np.abs(rows.mean(axis=0)).max() < 1.0


def test_draws_come_from_the_approximation(rng):
    """Rows between two clusters waver, others do not; the log joint is prior times evidences of the drawn partition."""
    X = np.concatenate([rng.normal(0, 1, (60, 1)), rng.normal(7, 1, (60, 1)), [[3.5]]])
    prior = FiniteDirichlet(2, 1.0)
    model = cl.DPMixture(prior=prior, inference=Variational(draws=400), random_state=0, tune=None).fit(X)
    posterior = model.posterior_
    assert model.n_clusters_ == 2
    assert posterior.labels.shape == (1, 400, 121)
    together = posterior.similarity()
    assert together[:60, :60].mean() > 0.99
    assert together[:60, 60:120].mean() < 0.01
    assert 0.01 < together[120, :60].mean() < 0.99
    for draw in (0, 399):
        labels = posterior.labels[0, draw]
        evidence = sum(model.family_.log_marginal(X[labels == k]) for k in np.unique(labels))
        assert posterior.log_joint[0, draw] == pytest.approx(prior.log_prob(labels) + evidence, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"truncation": 0}, "truncation must be a whole number of at least 1, got 0"),
        ({"tolerance": 0.0}, "tolerance must be a positive number"),
        ({"restarts": -1}, "restarts must be a whole number of at least 1"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Variational(**settings)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "must hold 4 numbers, one per row"),
        ([1.0, -2.0, 1.0, 1.0], "at least 0"),
        ([0.0] * 4, "not all of them zero"),
        ([1.0, np.nan, 1.0, 1.0], "finite"),
    ],
)
def test_wrong_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        cl.DPMixture(inference="variational").fit([[0.0], [1.0], [2.0], [3.0]], sample_weight=weights)
