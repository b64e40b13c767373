"""Modes: ``estimate`` against a search by scipy.optimize and closed forms, ``log_prior`` against scipy's densities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from cases import FAMILY_CASES
from cases.oracles import precision_of
from countless.core.jit import kernel
from countless.families import FAMILIES, verbs
from countless.families.base import SMALLEST

from .cases import CASES, EXAMPLES, every, statistics_of


@kernel
def _compiled(family, statistics, cache, prior_weight, parameters):
    bounded = verbs.estimate(family, statistics, cache, 0, prior_weight, parameters)
    return bounded, verbs.log_prior(family, parameters, 0)


def _weighted(case):
    """Rows with uneven weights, as EM hands them in."""
    weights = np.random.default_rng(3).uniform(0.1, 1.5, len(case.rows))
    hyper, clusters = case.filled()
    clusters.statistics[0] = weights @ statistics_of(hyper, case.rows, clusters.statistics.shape[1])
    verbs.refresh(hyper, clusters.statistics, clusters.cache, 0, clusters.work)
    return hyper, clusters, weights


def _estimate(hyper, clusters, prior_weight, width):
    parameters = np.full((1, width), np.nan)
    bounded = verbs.estimate(hyper, clusters.statistics, clusters.cache, 0, prior_weight, parameters)
    return bounded, parameters


@every()
def test_log_prior_is_scipys_density_in_the_free_basis(case):
    family = case.resolved()
    for seed in range(5):
        parameters = family.draw_parameters(seed, case.rows[:2])
        expected = case.oracle.log_prior(family, parameters)
        assert verbs.log_prior(family.prepare(), parameters[None], 0) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def _objective(case, weights, prior_weight, parameters):
    family = case.resolved()
    density = case.oracle.density
    likelihood = sum(w * density(family, parameters, row) for w, row in zip(weights, case.rows, strict=True))
    return likelihood + prior_weight * (case.oracle.log_prior(family, parameters) if prior_weight else 0.0)


@every()
@pytest.mark.parametrize("prior_weight", [0.0, 1.0, 0.4])
def test_estimate_is_what_a_search_finds(case, prior_weight):
    hyper, clusters, weights = _weighted(case)
    family = case.resolved()
    bounded, parameters = _estimate(hyper, clusters, prior_weight, family.layout().parameters)
    assert not bounded
    best = _objective(case, weights, prior_weight, parameters[0])

    def loss(free):
        return -_objective(case, weights, prior_weight, case.oracle.from_free(family, free))

    found = optimize.minimize(loss, np.zeros(case.n_parameters), method="BFGS", options={"gtol": 1e-5})
    assert best == pytest.approx(-found.fun, abs=2e-6 * (1 + abs(best)))
    assert best >= -found.fun - 1e-7 * (1 + abs(best))


@every()
def test_the_search_notices_another_mode(case):
    """Negative control: the mode of likelihood alone is not that of the posterior, nor the other way round."""
    hyper, clusters, weights = _weighted(case)
    width = case.resolved().layout().parameters
    values = np.array(
        [
            [
                _objective(case, weights, prior_weight, _estimate(hyper, clusters, used, width)[1][0])
                for used in (0.0, 1.0)
            ]
            for prior_weight in (0.0, 1.0)
        ]
    )
    assert values[0, 0] > values[0, 1] + 1e-4
    assert values[1, 1] > values[1, 0] + 1e-4


@pytest.mark.parametrize("label", ["gaussian-3d", "diagonal-3d"])
def test_maximum_likelihood_of_a_gaussian_is_the_sample_mean_and_covariance(label):
    case = next(case for case in CASES if case.label == label)
    hyper, clusters, weights = _weighted(case)
    _, parameters = _estimate(hyper, clusters, 0.0, case.resolved().layout().parameters)
    mean = np.average(case.rows, axis=0, weights=weights)
    covariance = np.cov(case.rows, rowvar=False, aweights=weights, ddof=0)
    np.testing.assert_allclose(parameters[0, :3], mean, rtol=1e-10)
    if label == "gaussian-3d":
        np.testing.assert_allclose(np.linalg.inv(precision_of(parameters[0], 3)), covariance, rtol=1e-8)
    else:
        np.testing.assert_allclose(1 / parameters[0, 3:], np.diag(covariance), rtol=1e-10)


@every()
def test_a_cluster_without_rows_takes_the_mode_of_the_prior_and_says_so(case):
    hyper, clusters = case.filled(case.rows[:0])
    width = case.resolved().layout().parameters
    bounded, parameters = _estimate(hyper, clusters, 0.0, width)
    assert bounded
    bounded, same = _estimate(hyper, clusters, 1.0, width)
    assert bounded
    np.testing.assert_array_equal(parameters, same)
    assert np.isfinite(verbs.log_prior(hyper, parameters, 0))


@every()
def test_compiled_and_plain_agree(case):
    hyper, clusters, _ = _weighted(case)
    width = case.resolved().layout().parameters
    for prior_weight in (0.0, 1.0):
        parameters = np.full((1, width), np.nan)
        bounded, log_prior = _compiled(hyper, clusters.statistics, clusters.cache, prior_weight, parameters)
        expected_bounded, expected = _estimate(hyper, clusters, prior_weight, width)
        assert bounded == expected_bounded
        np.testing.assert_allclose(parameters, expected, rtol=1e-10)
        assert log_prior == pytest.approx(verbs.log_prior(hyper, expected, 0), rel=1e-9, abs=1e-9)


def _clusters(name, rows, **options):
    family = FAMILIES[name](**options).resolve(rows)
    hyper, clusters = family.prepare(), family.allocate(1)
    clusters.statistics[0] = statistics_of(hyper, rows, clusters.statistics.shape[1]).sum(axis=0)
    verbs.refresh(hyper, clusters.statistics, clusters.cache, 0, clusters.work)
    return hyper, clusters, family.layout().parameters


def test_the_spread_of_a_flat_gaussian_is_bounded_from_below():
    """Of all covariances with no eigenvalue below the floor, the one with lifted eigenvalues is the most likely."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 3))
    hyper, clusters, width = _clusters("gaussian", rows)
    bounded, parameters = _estimate(hyper, clusters, 0.0, width)
    assert bounded
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False, bias=True))
    expected = vectors * np.maximum(values, SMALLEST) @ vectors.T
    np.testing.assert_allclose(np.linalg.inv(precision_of(parameters[0], 3)), expected, rtol=1e-5, atol=1e-9)
    bounded, parameters = _estimate(hyper, clusters, 1.0, width)
    assert not bounded


@pytest.mark.parametrize(("name", "value"), [("gaussian", 0.7), ("diagonal-gaussian", 0.7), ("exponential", 0.0)])
def test_the_spread_of_equal_rows_is_bounded_and_reported(name, value):
    hyper, clusters, width = _clusters(name, np.full((4, 1), value))
    bounded, parameters = _estimate(hyper, clusters, 0.0, width)
    assert bounded
    spread = 1 / parameters[0, -1] if name != "gaussian" else parameters[0, -1] ** -2
    assert spread == pytest.approx(SMALLEST, rel=1e-9)
    assert not _estimate(hyper, clusters, 1.0, width)[0]


@pytest.mark.parametrize("name", [name for name, case in FAMILY_CASES.items() if case.cells in ("counts", "codes")])
def test_counts_that_are_all_zero_have_a_finite_likelihood(name):
    options = {"trials": 2} if name == "binomial" else {"n_levels": 2} if name == "categorical" else {}
    rows = np.zeros((4, 2))
    hyper, clusters, width = _clusters(name, rows, **options)
    bounded, parameters = _estimate(hyper, clusters, 0.0, width)
    assert not bounded
    value = verbs.log_likelihood(hyper, parameters, 0, rows[0], clusters.work)
    assert value == pytest.approx(0.0, abs=1e-12)


def test_the_mode_on_the_simplex_is_another_one():
    """Negative control for the basis: pseudo-counts less one, the mode in the probabilities, loses here."""
    case = EXAMPLES["multinomial"][-1]
    hyper, clusters, weights = _weighted(case)
    counts = clusters.statistics[0, 1:-1] + np.asarray(case.resolved().concentration)
    _, parameters = _estimate(hyper, clusters, 1.0, len(counts))
    np.testing.assert_allclose(parameters[0], counts / counts.sum(), rtol=1e-12)
    simplex = (counts - 1) / (counts - 1).sum()
    assert _objective(case, weights, 1.0, parameters[0]) > _objective(case, weights, 1.0, simplex) + 1e-4


@every()
def test_free_parameters_are_counted(case):
    assert case.resolved().n_parameters() == case.n_parameters
