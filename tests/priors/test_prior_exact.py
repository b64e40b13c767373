"""Partition probabilities against complete enumeration, rational arithmetic and known limits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from countless.priors import CRP, FiniteDirichlet, Gamma, GeometricCount, MixtureOfFinite, PitmanYor, PoissonCount
from countless.priors.numerics.component_sums import log_component_sums
from countless.priors.numerics.ratios import digamma_difference, log_gamma_ratio, log_gamma_ratio_short


def _sums_to_one(prior, size_counts, n):
    total = sum(many * math.exp(prior.log_prob_sizes(sizes)) for sizes, many in size_counts[n].items())
    return total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_probabilities_of_all_partitions_sum_to_one(fixed_prior, size_counts, n):
    assert _sums_to_one(fixed_prior, size_counts, n)


@pytest.mark.parametrize("n", [1, 3, pytest.param(8, marks=pytest.mark.slow)])
def test_where_numbers_are_integrated_too(learned_prior, size_counts, n):
    """Their sums over five rows are compared with the law of the number of clusters, which sums to one."""
    assert _sums_to_one(learned_prior, size_counts, n)


def test_labels_and_sizes_agree_whatever_the_names_and_the_order(fixed_prior):
    labels = np.array([0, 0, 1, 0, 1, 2, 0])
    expected = fixed_prior.log_prob_sizes([4, 2, 1])
    rng = np.random.default_rng(0)
    for _ in range(5):
        names = np.array(["x", "b", "q"])[rng.permutation(3)]
        assert fixed_prior.log_prob(rng.permutation(names[labels])) == pytest.approx(expected, rel=1e-14)
    assert fixed_prior.log_prob_sizes([2, 0, 1, 4, 0]) == pytest.approx(expected, rel=1e-14)


def test_table_gives_the_conditional_weights_of_the_last_row(fixed_prior, all_partitions):
    n = 6
    table = fixed_prior.table(n, n)
    assert table.log_v.shape == (n + 2,)
    assert table.log_v.flags.c_contiguous
    assert table.log_v.dtype == np.float64
    for labels in all_partitions[n - 1]:
        t, sizes = max(labels) + 1, np.bincount(labels)
        joint = np.array([fixed_prior.log_prob([*labels, label]) for label in range(t + 1)])
        if not np.isfinite(joint).any():
            continue
        weights = np.append(sizes + table.offset, np.exp(table.log_v[t + 1] - table.log_v[t]))
        conditional = np.exp(joint - np.logaddexp.reduce(joint))
        np.testing.assert_allclose(conditional, weights / weights.sum(), rtol=1e-11, atol=1e-300)


def test_product_of_sequential_weights_is_the_probability(fixed_prior):
    labels = [0, 0, 1, 0, 1] if fixed_prior.max_clusters(5) > 1 else [0] * 5
    sizes: list[int] = []
    log_product = 0.0
    for i, label in enumerate(labels):
        table = fixed_prior.table(i + 1, i + 1)
        t = len(sizes)
        weights = [size + table.offset for size in sizes] + [math.exp(table.log_v[t + 1] - table.log_v[t])]
        log_product += math.log(weights[label] / sum(weights))
        sizes = [*sizes, 0] if label == t else sizes
        sizes[label] += 1
    assert log_product == pytest.approx(fixed_prior.log_prob(labels), rel=1e-12)


def test_first_cluster_weight_of_the_restaurant():
    table = CRP(2.5).table(7, 7)
    t = np.arange(9)
    np.testing.assert_allclose(table.log_v, t * np.log(2.5) + gammaln(2.5) - gammaln(9.5), rtol=1e-13)


def test_pitman_yor_formula_of_the_literature():
    a, d, sizes = 0.7, 0.3, [5, 2, 1]
    expected = math.log((a + d) * (a + 2 * d)) - (gammaln(a + 8) - gammaln(a + 1))
    expected += sum(gammaln(m - d) - gammaln(1 - d) for m in sizes)
    assert PitmanYor(a, d).log_prob_sizes(sizes) == pytest.approx(expected, rel=1e-14)


def test_limits_to_the_restaurant():
    sizes = [10, 7, 2, 1]
    crp = CRP(1.7).log_prob_sizes(sizes)
    assert PitmanYor(1.7, 0.0).log_prob_sizes(sizes) == pytest.approx(crp, rel=1e-14)
    assert FiniteDirichlet(10**6, 1.7).log_prob_sizes(sizes) == pytest.approx(crp, abs=2e-5)
    assert FiniteDirichlet(10**9, 1.7).log_prob_sizes(sizes) == pytest.approx(crp, abs=2e-8)


def test_finite_dirichlet_cannot_have_more_clusters_than_components():
    assert FiniteDirichlet(2, 1.0).log_prob([0, 1, 2]) == -np.inf
    assert FiniteDirichlet(2).log_prob([0, 1, 2]) == -np.inf
    assert FiniteDirichlet(2, 1.0).table(5, 4).log_v[3] == -np.inf


def test_learned_concentration_is_integrated(learned_prior):
    sizes, gamma = [4, 2, 1], learned_prior.resolve(7).concentration
    if not isinstance(gamma, Gamma):
        pytest.skip("the concentration is fixed; another number is learned")

    # In the log of the concentration the integrand has no singularity at zero.
    def integrand(log_value):
        value = math.exp(log_value)
        log_prob = learned_prior.with_concentration(value).log_prob_sizes(sizes)
        return math.exp(log_prob + float(gamma.log_density(value)) + log_value)

    # A second learned number is integrated by the inner call, to 1e-12.
    expected, _ = quad(integrand, -60.0, 6.0, epsabs=0.0, epsrel=1e-10, limit=400, points=[-20, -5, 0, 2])
    assert learned_prior.log_prob_sizes(sizes) == pytest.approx(math.log(expected), abs=1e-9)


# -- the coefficients of the mixture of finite mixtures -------------------------------------------------


def exact_v(n: int, t: int, gamma: Fraction, success: Fraction, n_terms: int) -> Fraction:
    total = Fraction(0)
    for k in range(max(t, 1), n_terms):
        term = success * (1 - success) ** (k - 1)
        for i in range(t):
            term *= k - i
        for i in range(n):
            term /= gamma * k + i
        total += term
    return total


@pytest.mark.parametrize(("n", "t"), [(1, 0), (1, 1), (4, 2), (6, 6), (7, 8), (12, 1)])
@pytest.mark.parametrize("gamma", [Fraction(1), Fraction(1, 4)])
def test_v_against_rational_arithmetic(n, t, gamma):
    expected = exact_v(n, t, gamma, Fraction(1, 2), 160)
    prior = MixtureOfFinite(float(gamma), GeometricCount(0.5))
    found = prior.table(n, t).log_v[t] - t * math.log(gamma)
    assert found == pytest.approx(math.log(expected.numerator) - math.log(expected.denominator), abs=1e-12)


@pytest.mark.parametrize("law", [GeometricCount(0.1), GeometricCount(0.01), PoissonCount(9.0), PoissonCount(300.0)])
@pytest.mark.parametrize("n", [3, 50, 1000])
def test_thinned_sums_equal_full_sums(law, n):
    counts = np.unique(np.linspace(1, n + 1, 12).astype(int)).astype(float)
    k = np.arange(1.0, 60_000.0)
    for gamma in (0.2, 1.0, 5.0):
        full = [
            np.logaddexp.reduce(
                log_gamma_ratio(k[k >= t] - t + 1, t) - log_gamma_ratio(gamma * k[k >= t], n) + law.log_pmf(k[k >= t])
            )
            for t in counts
        ]
        np.testing.assert_allclose(log_component_sums(n, counts, gamma, law.log_pmf), full, rtol=0, atol=1e-10)


def test_v_recursion_holds_for_a_million_rows():
    # V_n(t) = (n + gamma t) V_{n+1}(t) + gamma V_{n+1}(t+1): Miller & Harrison 2018, proposition 3.3.
    n, gamma = 10**6, 1.0
    t = np.array([1, 2, 10, 100, 300])
    prior = MixtureOfFinite(gamma)
    now, after = prior.table(n, 300).log_v, prior.table(n + 1, 301).log_v
    both = np.logaddexp(np.log(n + gamma * t) + after[t], after[t + 1])
    np.testing.assert_allclose(now[t], both, rtol=1e-15, atol=2e-8)  # a log near -1e7 has no more digits


def test_long_table_satisfies_the_recursion_everywhere():
    n, gamma = 3000, 0.7
    prior = MixtureOfFinite(gamma)
    t = np.arange(0, n + 1)
    now, after = prior.table(n, n).log_v, prior.table(n + 1, n + 1).log_v
    np.testing.assert_allclose(now[t], np.logaddexp(np.log(n + gamma * t) + after[t], after[t + 1]), atol=2e-10)


# -- gamma ratios -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [1e-3, 0.5, 3.0, 19.9, 20.1, 1e6, 1e12])
def test_gamma_ratio_is_a_rising_factorial(x):
    for shift in (0, 1, 2, 7):
        exact = math.fsum(math.log(x + i) for i in range(shift))
        assert float(log_gamma_ratio(x, shift)) == pytest.approx(exact, rel=1e-13, abs=1e-13)
    exact = math.fsum(1.0 / (x + i) for i in range(50))
    assert digamma_difference(x, 50) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("shift", [0.01, 0.75, 1.0, 1.6])
def test_short_and_small_shifts(shift):
    x = np.arange(0.3, 200.0)
    np.testing.assert_allclose(log_gamma_ratio(x, shift), gammaln(x + shift) - gammaln(x), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(log_gamma_ratio_short(x, shift), log_gamma_ratio(x, shift), rtol=1e-13, atol=1e-14)
    one_by_one = [float(log_gamma_ratio(float(point), shift)) for point in x]
    np.testing.assert_allclose(one_by_one, log_gamma_ratio(x, shift), rtol=1e-13, atol=1e-14)
    # The derivative at a vanishing shift is the digamma function, which a plain difference would lose.
    assert float(log_gamma_ratio(3.0, 1e-9)) == pytest.approx(1e-9 * 0.9227843350984671, rel=1e-8)


def test_gamma_law():
    gamma = Gamma(2.5, 0.5)
    assert gamma.mean == 5.0
    assert quad(lambda c: np.exp(gamma.log_density(c)), 0, np.inf)[0] == pytest.approx(1.0, abs=1e-9)
    nodes, weights = gamma.quadrature(1000)
    assert weights.sum() == pytest.approx(1.0, abs=1e-13)
    assert weights @ nodes == pytest.approx(5.0, rel=1e-12)
    assert weights @ np.log(nodes) == pytest.approx(0.7031566406452432 - math.log(0.5), rel=1e-12)
