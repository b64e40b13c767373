"""The distribution and the mean of the number of clusters: enumeration, closed forms, large n; and the samplers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import chisquare

from countless.priors import (
    CRP,
    BetaNegativeBinomialCount,
    DynamicMixtureOfFinite,
    FiniteDirichlet,
    Gamma,
    GeometricCount,
    MixtureOfFinite,
    PitmanYor,
    polya_urn,
    restaurant,
    stick_breaking,
)
from countless.priors.numerics.component_sums import expected_occupied, mean_over_components


def _check_law_and_mean(prior, size_counts, n):
    expected = np.zeros(n + 1)
    for sizes, many in size_counts[n].items():
        expected[len(sizes)] += many * np.exp(prior.log_prob_sizes(sizes))
    law = prior.n_clusters_pmf(n)
    np.testing.assert_allclose(np.pad(law, (0, n + 1 - law.size)), expected, rtol=0, atol=1e-12)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert prior.expected_clusters(n) == pytest.approx(expected @ np.arange(n + 1), rel=1e-11)


@pytest.mark.parametrize("n", [1, 6])
def test_law_and_mean_against_enumeration(fixed_prior, size_counts, n):
    _check_law_and_mean(fixed_prior, size_counts, n)


@pytest.mark.parametrize("n", [1, 6])
def test_law_and_mean_where_numbers_are_integrated(learned_prior, size_counts, n):
    _check_law_and_mean(learned_prior, size_counts, n)


@pytest.mark.parametrize("mass", [0.01, 3.0, 2000.0])
@pytest.mark.parametrize("n", [2, 50, 3000])
def test_the_mean_over_a_heavy_tail_of_components_is_its_sum(n, mass):
    """Term by term, against the few nodes that the prior asks for."""
    law = BetaNegativeBinomialCount()
    total = mean_over_components(law, n, lambda k: expected_occupied(n, k, mass / k))
    assert DynamicMixtureOfFinite(mass, law).expected_clusters(n) == pytest.approx(total, rel=1e-11)


def test_no_rows(prior):
    assert prior.expected_clusters(0) == 0.0
    assert prior.n_clusters_pmf(0).tolist() == [1.0]
    assert prior.sample(0, 0).shape == (0,)
    assert prior.log_prob([]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "prior",
    [
        CRP(1.0),
        CRP(1000.0),
        PitmanYor(1.0, 0.25),
        PitmanYor(-0.3, 0.5),
        FiniteDirichlet(10, 1.0),
        FiniteDirichlet(10**6, 5.0),
        MixtureOfFinite(),
        CRP(),
    ],
    ids=repr,
)
def test_a_hundred_thousand_rows(prior):
    n = 100_000
    law = prior.n_clusters_pmf(n)
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.all(law >= 0.0)
    assert np.arange(law.size) @ law == pytest.approx(prior.expected_clusters(n), rel=1e-8)


def test_generic_law_equals_the_chain():
    for prior in (CRP(2.0), PitmanYor(1.0, 0.4), FiniteDirichlet(20, 4.0)):
        chain = prior.n_clusters_pmf(500)
        generic = super(type(prior).__mro__[1], prior)._n_clusters_pmf(500, [prior], np.ones(1))
        size = min(chain.size, generic.size)
        np.testing.assert_allclose(generic[:size], chain[:size], rtol=1e-9, atol=1e-13)


def test_law_of_a_learned_concentration_is_the_mixture():
    n, rng = 200, np.random.default_rng(3)
    draws = rng.gamma(2.0, 1.0, size=4000)
    for make in (CRP, lambda c: PitmanYor(c, 0.3), lambda c: FiniteDirichlet(8, c)):
        law = make(Gamma(2.0, 1.0)).n_clusters_pmf(n)
        means = np.array([make(c).expected_clusters(n) for c in draws])
        error = means.std() / np.sqrt(draws.size)
        assert abs(np.arange(law.size) @ law - means.mean()) < 4 * error


def test_closed_forms_where_a_difference_would_cancel():
    rows = np.arange(1000)
    assert CRP(1e10).expected_clusters(1000) == pytest.approx((1 / (1 + rows / 1e10)).sum(), rel=1e-13)
    crp = CRP(2.0).expected_clusters(1000)
    assert PitmanYor(2.0, 1e-9).expected_clusters(1000) == pytest.approx(crp, rel=1e-7)
    assert FiniteDirichlet(10**9, 2.0).expected_clusters(1000) == pytest.approx(crp, rel=1e-7)
    assert MixtureOfFinite(1.0, GeometricCount(0.001)).expected_clusters(10**6) == pytest.approx(999.0, rel=0.02)


# -- expecting --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "others"),
    [
        (CRP, {}),
        (PitmanYor, {"discount": 0.5}),
        (PitmanYor, {"discount": 0.0}),
        (FiniteDirichlet, {"n_components": 20}),
        (MixtureOfFinite, {"components": GeometricCount(0.05)}),
    ],
)
@pytest.mark.parametrize("wanted", [1.5, 7.0])
def test_expecting_round_trip(cls, others, wanted):
    prior = cls.expecting(wanted, 200, **others)
    assert prior.expected_clusters(200) == pytest.approx(wanted, rel=1e-9)


def test_expecting_says_what_is_possible():
    with pytest.raises(ValueError, match=r"no concentration gives 12 expected .* FiniteDirichlet; .* below 10"):
        FiniteDirichlet.expecting(12, 1000)
    with pytest.raises(ValueError, match=r"gives 0\.5 expected clusters among 10 rows under CRP"):
        CRP.expecting(0.5, 10)


# -- samples ----------------------------------------------------------------------------------------------


def check_counts(counts, law):
    """Chi-square of observed cluster counts; cells of small expectation are pooled."""
    expected = law * len(counts)
    observed = np.bincount(counts, minlength=law.size)[: law.size]
    big = expected >= 5
    expected = np.append(expected[big], len(counts) - expected[big].sum())
    observed = np.append(observed[big], len(counts) - observed[big].sum())
    if expected[-1] < 1e-6:
        assert observed[-1] == 0
        expected, observed = expected[:-1], observed[:-1]
    assert expected.size == 1 or chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-4


def test_sampled_counts_follow_the_law(prior):
    rng = np.random.default_rng(11)
    counts = np.array([prior.sample(20, rng).max() + 1 for _ in range(2000)])
    check_counts(counts, prior.n_clusters_pmf(20))


def test_sampled_partitions_follow_the_probabilities(fixed_prior, all_partitions):
    rng = np.random.default_rng(5)
    index = {labels: i for i, labels in enumerate(all_partitions[4])}
    law = np.exp([fixed_prior.log_prob(labels) for labels in all_partitions[4]])
    counts = np.array([index[tuple(fixed_prior.sample(4, rng).tolist())] for _ in range(3000)])
    check_counts(counts, law)


def test_generic_seating_follows_the_law():
    prior, rng = MixtureOfFinite(0.5), np.random.default_rng(2)
    counts = np.array([super(MixtureOfFinite, prior)._sample(8, rng).max() + 1 for _ in range(200)])
    check_counts(counts, prior.n_clusters_pmf(8))


def test_samples_are_reproducible_and_ordered(prior):
    labels = prior.sample(300, 7)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, prior.sample(300, np.random.default_rng(7)))
    first = np.unique(labels, return_index=True)[1]
    assert np.all(np.diff(first) > 0)
    assert labels[0] == 0
    assert prior.sample(100_000, 1).size == 100_000


# -- simulators -------------------------------------------------------------------------------------------


def test_polya_urn_is_a_restaurant_with_exact_ties():
    rng = np.random.default_rng(8)
    counts = np.array([len(set(polya_urn(15, 1.5, lambda g: g.normal(), rng))) for _ in range(2000)])
    check_counts(counts, CRP(1.5).n_clusters_pmf(15))
    # Two rows share a value with probability 1 / (1 + concentration), whatever their places.
    same = np.array([(v := polya_urn(6, 1.5, lambda g: g.normal(), rng))[0] == v[5] for _ in range(4000)])
    assert abs(same.mean() - 1 / 2.5) < 4 * same.std() / np.sqrt(same.size)


def test_restaurant_takes_names_and_objects():
    np.testing.assert_array_equal(restaurant(50, CRP(2.0), rng=1), CRP(2.0).sample(50, rng=1))
    assert restaurant(50, "pitman-yor", rng=np.random.RandomState(0)).shape == (50,)


@pytest.mark.parametrize(("concentration", "discount"), [(2.0, 0.0), (0.5, 0.4)])
def test_stick_breaking_means(concentration, discount):
    rng = np.random.default_rng(4)
    draws = [stick_breaking(concentration, rng, n_sticks=5, discount=discount) for _ in range(4000)]
    weights = np.array([draw.weights for draw in draws])
    remainder = np.array([draw.remainder for draw in draws])
    np.testing.assert_allclose(weights.sum(axis=1) + remainder, 1.0, rtol=1e-12)
    k = np.arange(1, 6)
    mean = (1 - discount) / (1 + concentration + (k - 1) * discount)
    left = np.cumprod(np.append(1.0, 1 - mean))
    error = weights.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(weights.mean(axis=0) - mean * left[:-1]) < 4 * error)
    assert abs(remainder.mean() - left[-1]) < 4 * remainder.std() / np.sqrt(len(draws))


def test_stick_shapes_give_the_probability_that_two_rows_meet():
    # Sum over sticks of E[w^2] is the prior probability of two rows in one cluster.
    for prior in (CRP(1.5), PitmanYor(0.5, 0.3), FiniteDirichlet(4, 2.0)):
        a, b = prior.stick_shapes(4000)
        square = a * (a + 1) / ((a + b) * (a + b + 1))
        left = b * (b + 1) / ((a + b) * (a + b + 1))
        together = square @ np.cumprod(np.append(1.0, left[:-1]))
        assert together == pytest.approx(np.exp(prior.log_prob([0, 0])), rel=1e-3)
    with pytest.raises(ValueError, match="MixtureOfFinite has no stick-breaking form"):
        MixtureOfFinite().stick_shapes(3)


@pytest.mark.parametrize("n", [100, 1000, pytest.param(10**6, marks=pytest.mark.slow)])
def test_one_cluster_is_an_even_chance_by_default(n):
    """The rows decide where clusters can be told apart; where they cannot, one cluster must not be unlikely."""

    def of_one(concentration):
        log_density = -0.75 * np.log(concentration) - concentration - gammaln(0.25)
        return np.exp(log_density + gammaln(n) + gammaln(concentration + 1.0) - gammaln(n + concentration))

    expected = quad(lambda root: 4.0 * root**3 * of_one(root**4), 0.0, 3.0, epsabs=1e-12)[0]
    assert 0.5 < expected < 0.65
    assert CRP().resolve(n).n_clusters_pmf(n)[1] == pytest.approx(expected, rel=1e-6)
