"""The family of docs/examples/negative_binomial.py, in one file outside the package, against oracles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

import countless as cl
from countless.inference import MAP, CollapsedGibbs, Problem, State
from countless.priors import CRP
from exact.enumeration import exact_posterior, expected_total_variation, frequencies, partitions, total_variation

from .conftest import EXAMPLE

ROWS = np.array([[0.0, 4.0], [1.0, 6.0], [0.0, 2.0], [4.0, 3.0], [11.0, 0.0], [8.0, 1.0]])


@pytest.fixture
def family(example):
    return example.NegativeBinomial(dispersion=[3.0, 1.7], a=[2.0, 1.5], b=[1.2, 2.5])


def test_the_file_is_short():
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 140


def test_evidence_against_quadrature(family):
    expected = 0.0
    for x, r, a, b in zip(ROWS.T, [3.0, 1.7], [2.0, 1.5], [1.2, 2.5], strict=True):

        def density(p, x=x, r=r, a=a, b=b):
            return stats.beta.pdf(p, a, b) * np.prod(stats.nbinom.pmf(x, r, p))

        expected += np.log(integrate.quad(density, 0.0, 1.0, epsabs=0.0, epsrel=1e-12)[0])
    assert family.log_marginal(ROWS) == pytest.approx(expected, rel=1e-9)


def test_predictive_is_the_ratio_of_evidences_and_sums_to_one(family):
    given, new = ROWS[:4], ROWS[4:]
    expected = [family.log_marginal(np.vstack([given, row])) - family.log_marginal(given) for row in new]
    np.testing.assert_allclose(family.log_predictive(new, given), expected, rtol=1e-10)
    one = type(family)(3.0, 8.0, 2.0)
    assert np.exp(one.log_predictive(np.arange(4000.0))).sum() == pytest.approx(1.0, abs=1e-9)


def test_samples_of_one_cluster(family):
    one = type(family)(3.0, 30.0, 60.0)
    rows = np.array([one.sample(1, seed)[0, 0] for seed in range(3000)])
    p = stats.beta(30.0, 60.0)
    mean = 3.0 * p.expect(lambda q: (1 - q) / q)
    second = p.expect(lambda q: 3.0 * (1 - q) / q**2 + (3.0 * (1 - q) / q) ** 2)
    assert abs(rows.mean() - mean) < 4.5 * np.sqrt((second - mean**2) / len(rows))


@pytest.mark.parametrize("split_merge", [False, True], ids=["sweeps", "split-merge"])
def test_the_sampler_visits_partitions_as_often_as_it_should(family, split_merge):
    exact = exact_posterior(family, ROWS, CRP(1.0))
    engine = CollapsedGibbs(chains=2, draws=2000, warmup=50, thin=3, split_merge=split_merge, n_threads=1)
    fitted = cl.DPMixture(family=family, prior=CRP(1.0), inference=engine, random_state=11).fit(ROWS)
    shares = frequencies(fitted.posterior_.flat_labels())
    limit = 1.5 * expected_total_variation(exact, fitted.posterior_.n_draws, np.random.default_rng(0))
    assert total_variation(shares, exact) < limit


def test_the_search_finds_the_most_probable_partition(family):
    exact = exact_posterior(family, ROWS, CRP(1.0))
    engine = MAP(restarts=4, n_threads=1)
    fitted = cl.DPMixture(family=family, prior=CRP(1.0), inference=engine, random_state=0).fit(ROWS)
    np.testing.assert_array_equal(fitted.labels_, partitions(6)[exact.argmax()])
    state = State(Problem.of(ROWS, family.resolve(ROWS), CRP(1.0)), fitted.labels_, 1.0)
    assert fitted.posterior_.log_joint[0, 0] == pytest.approx(state.log_joint(), rel=1e-12)


@pytest.mark.parametrize("by_name", [False, True], ids=["object", "name"])
@pytest.mark.parametrize(
    "inference", [CollapsedGibbs(chains=1, draws=20, warmup=20), MAP(restarts=1)], ids=["gibbs", "map"]
)
def test_two_groups_of_counts_are_told_apart(example, inference, by_name):
    rng = np.random.default_rng(4)
    groups = np.repeat([0, 1], 20)
    counts = np.where(
        groups[:, None] == 0, rng.negative_binomial(3, 0.6, (40, 3)), rng.negative_binomial(3, 0.03, (40, 3))
    )
    family = "negative-binomial" if by_name else example.NegativeBinomial(dispersion=3.0)
    fitted = cl.DPMixture(family=family, inference=inference, random_state=0).fit(counts)
    np.testing.assert_array_equal(fitted.labels_, groups)
    np.testing.assert_array_equal(fitted.predict(counts), groups)
    with pytest.raises(ValueError, match=r"^X: negative-binomial data needs whole numbers, got 0\.5$"):
        fitted.predict([[0.5, 1.0, 2.0]])


def test_the_other_verbs_of_the_example(example, family):
    """Natural parameters give the likelihood; the divergence is zero at the centre and positive elsewhere."""
    from countless.families import verbs

    hyper, clusters = family.resolve(ROWS).prepare(), family.resolve(ROWS).allocate(1)
    parameters = np.array([[0.3, 0.6]])
    for row in ROWS:
        expected = stats.nbinom.logpmf(row, [3.0, 1.7], parameters[0]).sum()
        got = verbs.log_likelihood(hyper, parameters, 0, row, clusters.work)
        assert got == pytest.approx(expected, rel=1e-12)
    natural = np.zeros(4)
    verbs.expected_natural(hyper, clusters.statistics, clusters.cache, 0, natural)
    log_p = [stats.beta(a, b).expect(np.log) for a, b in [(2.0, 1.2), (1.5, 2.5)]]
    assert natural[0] == pytest.approx(np.dot([3.0, 1.7], log_p), rel=1e-7)
    for row in ROWS:
        centre = np.concatenate([[1.0], row, [0.0]])
        assert verbs.divergence(hyper, row, centre) == pytest.approx(0.0, abs=1e-12)
        assert verbs.divergence(hyper, row + 1.0, centre) > 0.0


@pytest.mark.parametrize("prior_weight", [0.0, 1.0])
def test_the_mode_of_the_example(family, prior_weight):
    """Likelihood times prior of the log odds, by a search on a line per column."""
    from scipy.optimize import minimize_scalar

    from countless.families import verbs

    hyper, clusters = family.resolve(ROWS).prepare(), family.resolve(ROWS).allocate(1)
    for row in ROWS:
        verbs.add(hyper, clusters.statistics, clusters.cache, 0, row, clusters.work)
    parameters = np.zeros((1, 2))
    assert not verbs.estimate(hyper, clusters.statistics, clusters.cache, 0, prior_weight, parameters)
    for j, (r, a, b) in enumerate([(3.0, 2.0, 1.2), (1.7, 1.5, 2.5)]):

        def loss(p, j=j, r=r, a=a, b=b):
            prior = stats.beta.logpdf(p, a, b) + np.log(p * (1 - p))
            return -stats.nbinom.logpmf(ROWS[:, j], r, p).sum() - prior_weight * prior

        found = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-10})
        assert parameters[0, j] == pytest.approx(found.x, abs=1e-6)
    expected = sum(
        stats.beta.logpdf(p, a, b) + np.log(p * (1 - p))
        for p, a, b in zip(parameters[0], [2.0, 1.5], [1.2, 2.5], strict=True)
    )
    assert verbs.log_prior(hyper, parameters, 0) == pytest.approx(expected, rel=1e-12)
