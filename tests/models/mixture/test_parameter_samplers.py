"""Gibbs, SingleSiteGibbs and BlockedGibbs as engines: the parameters they keep, sticks, seeds, threads, errors."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import countless as cl
from chains.test_run import _interrupt_at
from core.test_kernels import _python, _rows
from countless.chains.sampler import Sampler
from countless.inference import BlockedGibbs, CollapsedGibbs, Gibbs, Problem, SingleSiteGibbs, State, Watch
from countless.models.mixture.moves.blocked import BlockedSweep
from countless.models.mixture.posterior import MixturePosterior
from countless.partitions.sticks import draw_log_weights, switch_components
from countless.posterior.data import Data
from countless.priors import CRP, FiniteDirichlet, Gamma, MixtureOfFinite, PitmanYor
from helpers import batch_error

ENGINES = {
    "uncollapsed": Gibbs(chains=2, draws=12, warmup=8),
    "single-site": SingleSiteGibbs(chains=2, draws=12, warmup=8),
    "blocked": BlockedGibbs(chains=2, draws=12, warmup=8),
}
every_engine = pytest.mark.parametrize("name", ENGINES)


def _problem(kind="poisson", n=40, prior=None):
    X = _rows(kind, n, 2, 3)
    return Problem.of(X, cl.families.resolve_family(kind).resolve(X), prior or CRP(Gamma(1.0, 1.0)))


def _run(engine, problem, seed=0, **changes):
    return _posterior(type(engine)(**{**vars(engine), **changes}), problem, seed)


def _posterior(engine, problem, seed=0):
    draws = engine.run(problem, np.random.default_rng(seed), Watch(progress=False))
    return MixturePosterior(draws, Data(problem.X, (), problem.family, problem.prior))


# --- what is kept ----------------------------------------------------------------------------------------------------


@every_engine
def test_every_draw_has_its_parameters(name):
    posterior = _run(ENGINES[name], _problem("gaussian"))
    total = posterior.n_clusters.sum()
    assert posterior.parameters["mean"].shape == (total, 2)
    assert posterior.parameters["covariance"].shape == (total, 2, 2)
    assert np.linalg.eigvalsh(posterior.parameters["covariance"]).min() > 0.0
    assert (posterior.weights is None) == (name != "blocked")
    found = [posterior.parameters_of(c, d)["mean"] for c in range(2) for d in range(12)]
    np.testing.assert_array_equal(np.concatenate(found), posterior.parameters["mean"])
    np.testing.assert_array_equal([len(part) for part in found], posterior.n_clusters.ravel())
    np.testing.assert_array_equal(posterior.parameters_of(-1, -1)["mean"], found[-1])


@every_engine
def test_parameters_follow_the_labels(name):
    """Two groups far apart: the parameters of a label are within a few deviations of the rows that have it."""
    X = np.repeat([[0.0, 100.0], [1000.0, 0.0]], 15, axis=0) + np.random.default_rng(0).normal(size=(30, 2))
    X = X[np.random.default_rng(1).permutation(30)]
    family = cl.families.SphericalGaussian(variance=1.0, mean_variance=1e6)
    model = cl.DPMixture(family, inference=ENGINES[name], random_state=0).fit(X)
    for chain in range(2):
        labels = model.posterior_.labels[chain, -1]
        means = model.posterior_.parameters_of(chain, -1)["mean"]
        for k in range(labels.max() + 1):
            assert np.abs(X[labels == k].mean(axis=0) - means[k]).max() < 8.0


@every_engine
def test_parameters_may_be_left_out(name):
    problem = _problem()
    without, kept = (_run(ENGINES[name], problem, keep_parameters=keep) for keep in (False, True))
    assert without.parameters is None
    np.testing.assert_array_equal(without.labels, kept.labels)
    with pytest.raises(ValueError, match=r"^parameters_of: this fit kept no parameters; .*'uncollapsed'.*'blocked'"):
        without.parameters_of(0, 0)
    with pytest.raises(ValueError, match=r"^parameters_of: there are 2 chains of 12 draws, got chain 2 and draw 0$"):
        kept.parameters_of(2, 0)


def test_the_collapsed_sampler_has_none():
    draws = _posterior(CollapsedGibbs(chains=1, draws=3, warmup=2), _problem())
    assert draws.parameters is None
    assert draws.weights is None
    assert draws.truncation is None


@every_engine
def test_parameters_of_one_cluster_follow_their_posterior(name, rng):
    """A concentration of nearly zero leaves one cluster, whose rate is gamma given all rows."""
    X = rng.poisson(4.0, size=(20, 1)).astype(float)
    family = cl.families.Poisson(2.0, 0.5)
    exact = stats.gamma(2.0 + X.sum(), scale=1.0 / 20.5)
    problem = Problem.of(X, family.resolve(X), CRP(1e-12))
    # One value per chain for the single-site sampler: a value that rows share is never refreshed.
    shape = {"chains": 300, "draws": 1, "warmup": 0, "n_threads": 1} if name == "single-site" else {"draws": 1500}
    draws = _run(ENGINES[name], problem, **shape, start="one")
    assert draws.n_clusters.max() == 1
    rates = draws.parameters["rate"][:, 0]
    error = batch_error(rates, 20)
    assert abs(rates.mean() - exact.mean()) < 4.5 * error
    assert stats.kstest(rates, exact.cdf).pvalue > 1e-4


def test_weights_of_all_components_sum_to_one():
    """Two components of a finite Dirichlet: all of the weight is theirs, and nothing is cut off."""
    X = np.ones((20, 1))
    problem = Problem.of(X, cl.families.Poisson(2000.0, 2000.0).resolve(X), FiniteDirichlet(2, 1.0))
    engine = BlockedGibbs(chains=1, draws=200, warmup=20, start="one")
    draws = _posterior(engine, problem)
    sizes = [np.bincount(labels) for labels in draws.labels[0]]
    sums = np.array([part.sum() for part in np.split(draws.weights, np.cumsum(draws.n_clusters[0])[:-1])])
    assert np.all(sums <= 1.0 + 1e-12)
    both = np.array([len(size) == 2 for size in sizes])
    assert both.any()
    np.testing.assert_allclose(sums[both], 1.0, rtol=1e-12)
    assert draws.truncation.n_sticks.max() == 2
    assert draws.truncation.bound.max() == 0.0


# --- sticks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior", [CRP(2.0), PitmanYor(1.0, 0.4), FiniteDirichlet(6, 2.0)], ids=lambda p: type(p).__name__
)
def test_weights_given_counts(prior, rng):
    """Means and variances of products of independent betas, by their moments."""
    counts = np.array([5, 0, 3, 1])
    a, b = prior.stick_shapes(4)
    draws = np.exp([draw_log_weights(rng, counts, (a, b)) for _ in range(4000)])
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    later = counts.sum() - np.cumsum(counts)
    left = 1.0
    for k in range(3):
        mean = left * (a[k] + counts[k]) / (a[k] + b[k] + counts[k] + later[k])
        assert abs(draws[:, k].mean() - mean) < 4.5 * draws[:, k].std() / np.sqrt(4000)
        left -= mean


def test_switching_leaves_the_law_of_the_order_alone(rng):
    """Three blocks on four sticks: orders as often as their probability with the sticks integrated out."""
    prior = PitmanYor(1.0, 0.4)
    shapes, sizes = prior.stick_shapes(4), np.array([6, 2, 1, 0])
    counts, seen = sizes.copy(), {}
    for _ in range(6000):
        counts = counts[switch_components(rng, counts, shapes)]
        seen[tuple(counts.tolist())] = seen.get(tuple(counts.tolist()), 0) + 1
    from itertools import permutations

    places = sorted(set(permutations(sizes.tolist())))
    exact = np.exp([prior.log_prob_components(place) for place in places])
    exact /= exact.sum()
    shares = np.array([seen.get(place, 0) for place in places]) / 6000
    # Four proposals a block hardly leave any memory: twice the error of independent draws is ample.
    assert np.abs(shares - exact).max() < 4.5 * 2.0 * np.sqrt(0.25 / 6000)


def test_sticks_grow_when_the_last_is_used():
    problem = _problem(n=60, prior=CRP(5.0))
    engine = BlockedGibbs(chains=1, draws=30, warmup=0, truncation=2, start="one")
    draws = _posterior(engine, problem)
    n_sticks = draws.truncation.n_sticks[0]
    assert n_sticks[0] == 2
    assert np.all(np.diff(n_sticks) >= 0)
    assert n_sticks[-1] > 6
    fixed = BlockedGibbs(chains=1, draws=30, warmup=0, truncation=2, max_truncation=2)
    draws = _posterior(fixed, problem)
    assert np.all(draws.truncation.n_sticks == 2)
    assert draws.n_clusters.max() == 2


def test_the_bound_on_the_truncation():
    draws = _run(ENGINES["blocked"], _problem(prior=CRP(1.5)))
    n_sticks, bound, formula = draws.truncation
    np.testing.assert_allclose(formula, 4 * 40 * np.exp(-(n_sticks - 1) / 1.5))
    np.testing.assert_allclose(bound, 4 * 40 * (1.5 / 2.5) ** (n_sticks - 1.0))
    assert bound.max() <= 0.01
    learned = _run(ENGINES["blocked"], _problem())
    assert learned.truncation.bound.shape == learned.concentration.shape


def test_a_bad_start_costs_sticks_in_the_warm_up_only():
    problem = _problem(n=60, prior=CRP(0.1))
    state = State(problem, np.arange(60), 0.1)
    move = BlockedSweep()
    rng = np.random.default_rng(0)
    move.step(rng, state)
    assert len(state.weights) == 61
    for _ in range(30):
        move.step(rng, state)
        move.adapt(state)
    assert len(state.weights) < 61


def test_chains_on_sticks_begin_near_the_posterior(monkeypatch):
    """Six groups in three columns: without collapsed sweeps at the start most chains find two or three of them."""
    rng = np.random.default_rng(2)
    groups = np.arange(600) % 6
    X = rng.normal(0.0, 10.0, (6, 3))[groups] + rng.normal(size=(600, 3))
    engine = BlockedGibbs(chains=2, draws=20, warmup=100)
    settled = cl.DPMixture(inference=engine, random_state=0).fit(X)
    assert cl.metrics.normalized_mutual_information(groups, settled.labels_) > 0.95
    monkeypatch.setattr(BlockedGibbs, "settling", Sampler.settling)
    left = cl.DPMixture(inference=engine, random_state=0).fit(X)
    assert cl.metrics.normalized_mutual_information(groups, left.labels_) < 0.95


def test_a_prior_without_sticks_is_one_sentence():
    with pytest.raises(ValueError, match=r"^prior: MixtureOfFinite has no stick-breaking form; choose CRP, ") as caught:
        _run(ENGINES["blocked"], _problem(prior=MixtureOfFinite(1.0)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BlockedGibbs(truncation=0), r"^truncation must be a whole number of at least 1, got 0$"),
        (lambda: BlockedGibbs(max_truncation=0), r"^max_truncation must be a whole number of at least 1, got 0$"),
        (
            lambda: BlockedGibbs(truncation=9, max_truncation=5),
            r"^truncation must be at most max_truncation = 5, got 9$",
        ),
        (lambda: Gibbs(split_merge=-1), r"^split_merge must be a whole number of at least 0, got -1$"),
        (lambda: SingleSiteGibbs(thin=0), r"^thin must be a whole number of at least 1, got 0$"),
    ],
)
def test_a_wrong_setting_is_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# --- seeds, threads, compilation, interrupts -------------------------------------------------------------------


@every_engine
def test_threads_do_not_matter(name):
    """Rows enough for two parcels of blocks, so that the threads of a pass are at work as well."""
    problem = _problem(n=5000 if name == "blocked" else 40, prior=CRP(1.0))
    changes = {"draws": 3, "warmup": 1, "start": "one"}
    one, two = (_run(ENGINES[name], problem, n_threads=n, **changes) for n in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.parameters["rate"], two.parameters["rate"])


_FIT = """
import json, warnings
import numpy as np
import countless as cl
from countless.inference import BlockedGibbs, Gibbs, SingleSiteGibbs
warnings.simplefilter("ignore", cl.ConvergenceWarning)  # the chains are short
out = []
for engine in {engines}:
    model = cl.DPMixture({kind!r}, inference=engine, random_state=5).fit(np.array({rows}))
    values = next(iter(model.posterior_.parameters.values()))
    out.append([model.posterior_.labels.tolist(), values.tolist()])
print(json.dumps(out))
"""


@pytest.mark.parametrize("kind", ["gaussian", "poisson"])
def test_the_same_without_compilation(kind):
    code = _FIT.format(kind=kind, engines=list(ENGINES.values()), rows=_rows(kind, 10, 2, 1).tolist())
    plain, compiled = (json.loads(_python(code, NUMBA_DISABLE_JIT=switch)) for switch in "10")
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_allclose(one[1], other[1], rtol=1e-8)


@every_engine
def test_an_interrupt_keeps_the_draws(name, monkeypatch):
    _interrupt_at(monkeypatch, 300)
    draws = _run(ENGINES[name], _problem(), draws=10**5, thin=1)
    assert draws.interrupted
    assert len(draws.parameters["rate"]) == draws.n_clusters.sum()


@every_engine
def test_engines_find_groups_that_are_apart(name):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, (25, 1)), rng.normal(30.0, 1.0, (25, 1))])
    model = cl.DPMixture("spherical-gaussian", inference=name, random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert len(set(model.labels_[:25])) == 1
