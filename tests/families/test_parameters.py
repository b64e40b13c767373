"""Parameters: natural form against scipy's densities, draws against predictive and expectations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from countless.families import FAMILIES, verbs

from .cases import every, statistics_of
from .drivers import draw_many

N_DRAWS = 20_000
LIMIT = 5.0  # standard errors


def _draws(case, rows, n_draws=N_DRAWS, seed=5):
    """Parameters, natural parameters and log likelihoods of the new rows, drawn given ``rows``."""
    layout = case.resolved().layout()
    hyper, clusters = case.filled(rows)
    out = [np.empty((n_draws, width)) for width in (layout.parameters, layout.statistics, len(case.new))]
    parameters = np.zeros((1, layout.parameters))
    draw_many(hyper, *clusters, np.random.default_rng(seed), parameters, case.new, *out)
    return out


def _errors_in_mean(values, expected):
    """Distance of the sample means from what is expected, in standard errors; a constant must be exact."""
    standard_error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    gap = np.abs(values.mean(axis=0) - expected)
    constant = standard_error <= 1e-12 * np.abs(expected)
    return np.where(constant, np.where(gap <= 1e-9 * (1 + np.abs(expected)), 0.0, np.inf), 0.0) + np.where(
        constant, 0.0, gap / np.where(constant, 1.0, standard_error)
    )


@every()
def test_natural_parameter_gives_scipys_density(case):
    family = case.resolved()
    density = case.oracle.density
    draws, naturals, likelihoods = _draws(case, case.rows, n_draws=20)
    statistics = statistics_of(family.prepare(), case.new, naturals.shape[1])
    expected = np.array([[density(family, parameters, row) for row in case.new] for parameters in draws])
    np.testing.assert_allclose(naturals @ statistics.T, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(likelihoods, expected, rtol=1e-9, atol=1e-11)


@every()
def test_natural_parameter_writes_every_entry(case):
    layout = case.resolved().layout()
    hyper, clusters = case.filled()
    parameters = case.resolved().draw_parameters(1, case.rows)[None]
    for verb, arguments in (
        (verbs.natural, (parameters,)),
        (verbs.expected_natural, (clusters.statistics, clusters.cache)),
    ):
        out = np.full(layout.statistics, np.nan)
        verb(hyper, *arguments, 0, out)
        assert np.isfinite(out).all()


@every()
@pytest.mark.parametrize("n", [2, 8])
def test_expected_natural_parameter_is_the_mean_over_draws(case, n):
    rows = case.rows[:n]
    hyper, clusters = case.filled(rows)
    _, naturals, _ = _draws(case, rows)
    expected = np.full(naturals.shape[1], np.nan)
    verbs.expected_natural(hyper, clusters.statistics, clusters.cache, 0, expected)
    assert _errors_in_mean(naturals, expected).max() < LIMIT


@every()
def test_expected_log_likelihood_is_below_the_predictive(case):
    """Jensen's inequality: the mean of a logarithm against the logarithm of the mean."""
    hyper, clusters = case.filled()
    width = clusters.statistics.shape[1]
    expected = np.full(width, np.nan)
    verbs.expected_natural(hyper, clusters.statistics, clusters.cache, 0, expected)
    for row, statistics in zip(case.new, statistics_of(hyper, case.new, width), strict=True):
        predictive = verbs.log_predictive(hyper, clusters.statistics, clusters.cache, 0, row, clusters.work)
        assert statistics @ expected <= predictive


@every()
@pytest.mark.parametrize("n", [0, 2, 8])
def test_mean_likelihood_over_draws_is_the_predictive(case, n):
    rows = case.rows[:n]
    predictive = case.family.log_predictive(case.new, rows if n else None)
    _, _, likelihoods = _draws(case, rows)
    assert _errors_in_mean(np.exp(likelihoods - predictive), np.ones(len(predictive))).max() < LIMIT


@every()
def test_the_check_notices_a_wrong_posterior(case):
    """Negative control: draws that ignore the rows must fail the test above."""
    predictive = case.family.log_predictive(case.new, case.rows)
    _, _, likelihoods = _draws(case, case.rows[:0])
    assert _errors_in_mean(np.exp(likelihoods - predictive), np.ones(len(predictive))).max() > 2 * LIMIT


@pytest.mark.parametrize("name", ["binomial", "geometric", "bernoulli"])
def test_draws_under_a_prior_that_expects_extremes(name):
    """With a = b = 0.001 a chance of success is almost surely next to 0 or 1, and never not a number."""
    options = {"trials": 5} if name == "binomial" else {}
    family = FAMILIES[name](a=1e-3, b=1e-3, **options).resolve(np.empty((0, 1)))
    rng = np.random.default_rng(0)
    draws = np.array([family.draw_parameters(rng)[-1] for _ in range(400)])
    assert np.isfinite(draws).all()
    law = stats.beta(1e-3, 1e-3)
    between = stats.binom(len(draws), law.cdf(0.999) - law.cdf(0.001))
    assert np.sum((draws > 0.001) & (draws < 0.999)) <= between.ppf(1 - 1e-6)
    assert abs(np.mean(draws > 0.5) - 0.5) < LIMIT * 0.5 / np.sqrt(len(draws))
