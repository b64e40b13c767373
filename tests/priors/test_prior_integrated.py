"""A learned concentration that is integrated out, and drawn again given the number of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import kstest

from countless.priors import CRP, FiniteDirichlet, Gamma, MixtureOfFinite, PitmanYor

LAWS = {"default": Gamma(1.0, 1.0), "narrow": Gamma(20.0, 4.0), "wide": Gamma(2.0, 0.05)}


def _log_density(law, n, t, logs):
    """Log of p(t clusters of n rows, log concentration), but for what does not depend on the concentration."""
    c = np.exp(logs)
    prior = law.shape * np.log(law.rate) - gammaln(law.shape) + law.shape * logs - law.rate * c
    return t * logs + gammaln(c) - gammaln(c + n) + prior


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "t"), [(7, 1), (7, 7), (300, 3), (20_000, 40)])
def test_the_table_is_the_integral(law, n, t):
    logs = np.linspace(-45.0, 9.0, 200_001)
    heights = _log_density(LAWS[law], n, t, logs)
    exact = heights.max() + np.log(np.trapezoid(np.exp(heights - heights.max()), logs))
    assert CRP(LAWS[law]).integrated(n, t + 1).log_v[t] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(("n", "t"), [(7, 1), (7, 6), (300, 3), (20_000, 40)])
def test_draws_have_the_law_of_the_concentration_given_the_clusters(n, t, rng):
    """Kolmogorov and Smirnov, 20,000 draws; a p-value below 1e-4 is no chance."""
    integrated = CRP(Gamma(1.0, 1.0)).integrated(n, t + 1)
    drawn = np.log([integrated.draw(rng, t).concentration for _ in range(20_000)])
    logs = np.linspace(-45.0, 9.0, 200_001)
    heights = _log_density(Gamma(1.0, 1.0), n, t, logs)
    cumulative = np.cumsum(np.exp(heights - heights.max()))
    assert kstest(drawn, lambda x: np.interp(x, logs, cumulative / cumulative[-1])).pvalue > 1e-4
    # The same test sees a law for one cluster more.
    heights = _log_density(Gamma(1.0, 1.0), n, t + 1, logs)
    cumulative = np.cumsum(np.exp(heights - heights.max()))
    assert kstest(drawn, lambda x: np.interp(x, logs, cumulative / cumulative[-1])).pvalue < 1e-4


def test_a_discount_that_is_given_stays():
    prior = PitmanYor(Gamma(2.0, 1.0), 0.3)
    integrated = prior.integrated(6, 6)
    assert integrated.offset == -0.3
    sizes = np.array([3, 2, 1])
    weights = gammaln(sizes - 0.3).sum() - 3 * gammaln(0.7)
    assert integrated.log_v[3] + weights == pytest.approx(prior.log_prob_sizes(sizes), abs=1e-9)


@pytest.mark.parametrize(
    "prior",
    [CRP(1.0), PitmanYor(), FiniteDirichlet(3), MixtureOfFinite(), CRP(Gamma(0.1, 1.0))],
    ids=["fixed", "two numbers", "moves the offset", "no number", "next to zero"],
)
def test_priors_without_such_a_table(prior):
    assert prior.integrated(50, 10) is None
