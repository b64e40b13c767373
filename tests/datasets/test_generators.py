"""Generators against theory: cluster counts, moments, densities. Tolerances are Monte Carlo errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import countless as cl

FAMILY = cl.families.Gaussian(mean=[1.0, -2.0], mean_strength=0.5, scale=[[2.0, 0.5], [0.5, 1.0]], dof=12.0)


def within(values, expected, n_errors=4.5):
    """Mean over the first axis within so many standard errors of the expected value."""
    values = np.asarray(values, dtype=float)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    np.testing.assert_array_less(np.abs(values.mean(axis=0) - expected), n_errors * error + 1e-12)


# --- make_mixture -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "family",
    [
        FAMILY,
        cl.families.Poisson([2.0, 3.0, 1.0], 0.1),
        cl.families.Multinomial(np.ones(4), trials=9),
        cl.families.SphericalGaussian(0.1, [0.0, 0.0], 3.0),
        cl.families.Bernoulli(np.ones(5), np.ones(5)),
    ],
    ids=lambda family: type(family).__name__,
)
@pytest.mark.parametrize(
    "prior",
    [cl.priors.CRP(1.0), cl.priors.CRP(), cl.priors.PitmanYor(1.0, 0.3), cl.priors.FiniteDirichlet(3, 1.0)],
    ids=repr,
)
def test_any_family_goes_with_any_prior(family, prior):
    sample = cl.datasets.make_mixture(40, family, prior, random_state=1)
    assert sample.X.shape[0] == len(sample.labels) == 40
    assert sample.family is family
    assert sample.prior is prior
    family.check(sample.X)
    first = [int(np.flatnonzero(sample.labels == k)[0]) for k in range(sample.labels.max() + 1)]
    assert first == sorted(first)


def test_the_same_seed_gives_the_same_rows():
    one, two = (cl.datasets.make_mixture(50, FAMILY, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.labels, two.labels)
    other = cl.datasets.make_mixture(50, FAMILY, random_state=8)
    assert not np.array_equal(one.X, other.X)


def test_the_number_of_clusters_follows_the_prior():
    prior, rng = cl.priors.CRP(2.0), np.random.default_rng(3)
    family = cl.families.Poisson(1.0, 1.0)
    counts = [cl.datasets.make_mixture(20, family, prior, rng).labels.max() + 1 for _ in range(600)]
    law = prior.n_clusters_pmf(20)
    seen = np.bincount(counts, minlength=len(law))
    likely = law * len(counts) >= 5
    observed = np.append(seen[likely], seen[~likely].sum())
    expected = np.append(law[likely], law[~likely].sum()) * len(counts)
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-3


def test_one_row_follows_the_prior_predictive():
    rng = np.random.default_rng(5)
    rows = np.array([cl.datasets.make_mixture(1, FAMILY, "crp", rng).X[0] for _ in range(800)])
    # Student-t with dof - D + 1 degrees of freedom and variance scale (c + 1) / (c (dof - D + 1)).
    for j, variance in enumerate((2.0, 1.0)):
        law = stats.t(11.0, FAMILY.mean[j], np.sqrt(variance * 1.5 / (0.5 * 11.0)))
        assert stats.kstest(rows[:, j], law.cdf).pvalue > 1e-3


def test_rows_of_one_cluster_share_its_mean():
    """Cov(x, x') = E Sigma / mean_strength within a cluster, nothing between clusters."""
    rng = np.random.default_rng(6)
    same, other = [], []
    for _ in range(1500):
        sample = cl.datasets.make_mixture(3, FAMILY, cl.priors.CRP(1.0), rng)
        centred = sample.X - FAMILY.mean
        kin = same if sample.labels[0] == sample.labels[2] else other
        kin.append(np.outer(centred[0], centred[2]))
    within(same, np.array(FAMILY.scale) / (12.0 - 3.0) / 0.5)
    within(other, np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("family", "named"), [(cl.families.Gaussian(dof=5.0), "mean, mean_strength, scale"), ("poisson", "shape, rate")]
)
def test_an_open_hyperparameter_is_one_clear_error(family, named):
    with pytest.raises(ValueError, match=f"has no value for {named}, and there are no data"):
        cl.datasets.make_mixture(10, family)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_a_number_of_rows_is_a_whole_number(n):
    with pytest.raises(ValueError, match="n must be a whole number"):
        cl.datasets.make_mixture(n, FAMILY)


# --- make_gaussian_mixture ----------------------------------------------------------------------------------


def test_gaussian_mixture_has_the_moments_of_its_parameters():
    truth = cl.datasets.make_gaussian_mixture(20_000, n_columns=3, n_clusters=4, random_state=0)
    for k in range(4):
        rows = truth.X[truth.labels == k]
        within(rows, truth.means[k])
        centred = rows - truth.means[k]
        within(centred[:, :, None] * centred[:, None, :], truth.covariances[k])
    within(truth.labels[:, None] == np.arange(4), truth.weights)


def test_gaussian_mixture_parameters_follow_their_laws():
    drawn = [cl.datasets.make_gaussian_mixture(1, 3, 5, random_state=seed) for seed in range(300)]
    within([truth.means.ravel() for truth in drawn], np.zeros(15))
    within([(truth.means**2).mean() for truth in drawn], 9.0)
    # A A' has mean D I, so that a covariance has mean 4.5 I.
    within([truth.covariances.mean(axis=0) for truth in drawn], 4.5 * np.eye(3))
    within([truth.weights.var() + 0.04 for truth in drawn], 2.0 * 3.0 / (10.0 * 11.0))  # E w^2 of a Dirichlet


def test_oracle_is_the_most_probable_component():
    truth = cl.datasets.make_gaussian_mixture(3000, n_columns=6, n_clusters=5, random_state=2)
    parts = np.array(
        [
            np.log(weight) + stats.multivariate_normal(mean, covariance).logpdf(truth.X)
            for weight, mean, covariance in zip(truth.weights, truth.means, truth.covariances, strict=True)
        ]
    )
    np.testing.assert_array_equal(truth.oracle_labels(truth.X), parts.argmax(axis=0))
    np.testing.assert_allclose(truth.score_samples(truth.X), np.logaddexp.reduce(parts, axis=0), rtol=1e-10)
    # It is right as often as it says it is.
    sure = np.exp(parts.max(axis=0) - np.logaddexp.reduce(parts, axis=0))
    within((truth.oracle_labels(truth.X) == truth.labels) - sure, 0.0)


def test_components_without_rows_keep_their_parameters():
    truth = cl.datasets.make_gaussian_mixture(3, n_columns=2, n_clusters=10, random_state=0)
    assert truth.means.shape == (10, 2)
    assert truth.labels.max() < 3
    assert truth.weights.sum() == pytest.approx(1.0)


# --- the study of Raykov et al. -----------------------------------------------------------------------------


def test_raykov_literal_rows_come_from_the_family_it_returns():
    sample = cl.datasets.make_raykov(200, separated=False, random_state=4)
    again = cl.datasets.make_mixture(200, sample.family, sample.prior, random_state=4)
    np.testing.assert_array_equal(sample.X, again.X)
    np.testing.assert_allclose(np.linalg.inv(sample.family.scale), [[2.0, 1.0], [1.0, 3.0]], rtol=1e-12)


def test_raykov_separated_moments():
    rng = np.random.default_rng(0)
    centres, spreads = [], []
    for _ in range(60):
        sample = cl.datasets.make_raykov(300, random_state=rng)
        for k in np.flatnonzero(np.bincount(sample.labels) >= 30):
            rows = sample.X[sample.labels == k]
            centres.append(rows.mean(axis=0))
            spreads.append(np.cov(rows.T))
    covariance = np.linalg.inv([[2.0, 1.0], [1.0, 3.0]]) / 27.0
    within(centres, [2.0, 3.0])
    within(spreads, covariance)
    # The mean of m rows adds a covariance / m, at most 1/30 of it here: far below the Monte Carlo error.
    squares = (np.array(centres) - [2.0, 3.0]) ** 2
    within(squares, 2.0)


def test_raykov_readings_differ_in_overlap():
    def share_between(separated):
        shares = []
        for seed in range(20):
            sample = cl.datasets.make_raykov(400, separated, random_state=seed)
            means = np.array([sample.X[sample.labels == k].mean(axis=0) for k in range(sample.labels.max() + 1)])
            shares.append(means[sample.labels].var(axis=0).sum() / sample.X.var(axis=0).sum())
        return np.mean(shares)

    assert share_between(True) > 0.9
    assert share_between(False) < 0.75


def test_raykov_clusters_follow_the_restaurant():
    counts = [cl.datasets.make_raykov(100, random_state=seed).labels.max() + 1 for seed in range(200)]
    within(counts, cl.priors.CRP(3.0).expected_clusters(100))
