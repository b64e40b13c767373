"""A prior written from the contract alone: one class with a learned field of its own name, and what breaks it."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from typing import ClassVar

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma, gammaln
from scipy.stats import beta

from countless.priors import (
    CRP,
    PRIORS,
    Beta,
    FiniteDirichlet,
    Gamma,
    PitmanYor,
    Prior,
    check_prior,
    register,
    resolve_prior,
)


@dataclasses.dataclass(frozen=True)
class Stable(Prior):
    """Normalised stable process: a cluster of size m weighs m - discount, a new one discount * t."""

    learned: ClassVar[str] = "discount"
    discount: float | Beta | None = None
    _bounds = (0.0, 1.0)

    @property
    def offset(self):
        return -self._require_number()

    def _log_v(self, n_rows, n_clusters):
        t = np.maximum(n_clusters, 1)
        return (t - 1) * math.log(self._require_number()) + gammaln(t) - gammaln(n_rows)

    def stick_shapes(self, n_sticks):
        discount = self._require_number()
        return np.full(n_sticks, 1.0 - discount), discount * np.arange(1.0, n_sticks + 1.0)


@pytest.fixture
def named():
    """The prior under a short name, forgotten after the test."""
    register("of a stranger")(Stable)
    yield "of a stranger"
    PRIORS.remove("of a stranger")


# -- a learned discount -----------------------------------------------------------------------------------


@pytest.mark.parametrize("discount", [0.05, 0.5, 0.95])
def test_probabilities_are_those_of_pitman_yor_without_concentration(discount, size_counts):
    mine, known = Stable(discount), PitmanYor(0.0, discount)
    for n, counts in size_counts.items():
        total = sum(many * math.exp(mine.log_prob_sizes(sizes)) for sizes, many in counts.items())
        assert total == pytest.approx(1.0, abs=1e-12)
        for sizes in counts:
            assert mine.log_prob_sizes(sizes) == pytest.approx(known.log_prob_sizes(sizes), abs=1e-12)
        np.testing.assert_allclose(mine.n_clusters_pmf(n), known.n_clusters_pmf(n), rtol=1e-10)
    assert mine.log_prob_components([3, 0, 2, 1]) == pytest.approx(known.log_prob_components([3, 0, 2, 1]), rel=1e-12)


@pytest.mark.parametrize("hyperprior", [Beta(), Beta(0.5, 2.0), Beta(30.0, 10.0)])
def test_a_learned_discount_is_integrated(hyperprior, size_counts):
    prior, density = Stable(hyperprior), beta(hyperprior.a, hyperprior.b)

    def mean(function):
        # On the logit scale the integrand has no singularity at 0 or 1.
        def integrand(x):
            d = 1.0 / (1.0 + math.exp(-x))
            return function(d) * density.pdf(d) * d * (1.0 - d)

        return quad(integrand, -70.0, 34.0, epsabs=0.0, epsrel=1e-11, limit=500, points=[-20, -5, 0, 5, 15])[0]

    sizes = [4, 2, 1]
    expected = mean(lambda d: math.exp(PitmanYor(0.0, d).log_prob_sizes(sizes)))
    assert prior.log_prob_sizes(sizes) == pytest.approx(math.log(expected), abs=1e-9)
    total = sum(many * math.exp(prior.log_prob_sizes(each)) for each, many in size_counts[6].items())
    assert total == pytest.approx(1.0, abs=1e-9)
    for n in (10, 40):
        expected = mean(lambda d, n=n: PitmanYor(0.0, d).expected_clusters(n))
        assert prior.expected_clusters(n) == pytest.approx(expected, rel=1e-9)


def test_draws_of_the_discount_follow_the_exact_conditional():
    prior, sizes, rng = Stable(Beta(1.0, 2.0)), [6, 3, 1, 1], np.random.default_rng(3)
    grid = np.linspace(-16.0, 16.0, 3201)
    values = 1.0 / (1.0 + np.exp(-grid))
    logs = np.array([Stable(d).log_prob_sizes(sizes) + prior.log_concentration_prior(d) for d in values])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    assert prior.mode_concentration(sizes) == pytest.approx(values[logs.argmax()], abs=0.01 / 4)
    chain, current = np.empty(6000), prior.initial().discount
    for i in range(chain.size):
        current = prior.draw_concentration(rng, current, sizes)
        chain[i] = current
    assert np.all((chain > 0.0) & (chain < 1.0))
    for power in (1, 2):
        batches = (chain**power).reshape(60, -1).mean(axis=1)
        error = batches.std(ddof=1) / math.sqrt(60)
        assert abs(batches.mean() - weights @ values**power) < 4.0 * error


def test_samples_follow_the_probabilities(all_partitions):
    prior, rng = Stable(Beta(2.0, 2.0)), np.random.default_rng(5)
    draws = [tuple(prior.sample(4, rng)) for _ in range(4000)]
    for labels in all_partitions[4]:
        p = math.exp(prior.log_prob(labels))
        assert abs(draws.count(labels) / 4000 - p) < 4.5 * math.sqrt(p * (1 - p) / 4000)


def test_engines_read_the_discount_as_concentration(named):
    prior = resolve_prior(named)
    assert prior == Stable()
    assert prior.resolve(5) == Stable(Beta(1.0, 1.0))
    assert prior.initial() == Stable(0.5)
    assert prior.initial().concentration == 0.5
    assert prior.with_concentration(0.25).discount == 0.25
    assert Stable.expecting(5, 100).expected_clusters(100) == pytest.approx(5.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        prior.concentration = 0.5
    check_prior(named)


def test_beta():
    hyperprior = Beta(2.5, 0.5)
    assert hyperprior.mean == pytest.approx(5 / 6)
    nodes, weights = hyperprior.quadrature(1000)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights @ nodes == pytest.approx(5 / 6, rel=1e-12)
    assert weights @ np.log(nodes) == pytest.approx(digamma(2.5) - digamma(3.0), rel=1e-11)
    for value in (1e-12, 0.3, 0.5, 0.99):
        assert hyperprior.from_line(hyperprior.to_line(value)) == pytest.approx(value, rel=1e-12)
        log_density = beta(2.5, 0.5).logpdf(value) + math.log(value) + math.log1p(-value)
        assert hyperprior.log_density_on_line(value) == pytest.approx(log_density, rel=1e-12)
    assert all(0.0 < Beta(0.01, 0.01).sample(seed) < 1.0 for seed in range(50))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Stable(1.0), "discount must be a number above 0 and below 1, a Beta(a, b) or None, got 1.0"),
        (lambda: Stable(Gamma()), "discount must be a number above 0 and below 1, a Beta(a, b) or None, got Gamma("),
        (lambda: Stable().table(3, 3), "discount: a table needs a number, got None"),
        (lambda: Stable.expecting(500, 100), "n_clusters: no discount gives 500 expected clusters among 100 rows"),
        (lambda: Beta(-1.0, 1.0), "a must be a positive finite number, got -1.0"),
    ],
)
def test_messages(make, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()


# -- mistakes of an author --------------------------------------------------------------------------------


def test_a_prior_that_is_not_registered_is_named():
    with pytest.raises(ValueError, match=r"\(without a name: .*Stable.*; put @register\('name'\) above @dataclass\)"):
        resolve_prior("of a stranger")


def test_register_says_what_is_missing():
    with pytest.raises(TypeError, match=r"register\('x'\): expected a subclass of countless\.priors\.Prior"):
        register("x")(int)

    class NoDataclass(Stable):
        pass

    with pytest.raises(TypeError, match="NoDataclass must be a frozen dataclass"):
        register("x")(NoDataclass)

    @dataclasses.dataclass(frozen=True)
    class NoVerbs(Prior):
        concentration: float = 1.0

    with pytest.raises(TypeError, match="NoVerbs does not define _log_v, offset"):
        register("x")(NoVerbs)

    @dataclasses.dataclass(frozen=True)
    class NoField(CRP):
        learned: ClassVar[str] = "concentration"

    register("x")(NoField)  # the field is inherited
    PRIORS.remove("x")

    @dataclasses.dataclass(frozen=True)
    class WrongField(Stable):
        learned: ClassVar[str] = "strength"

    with pytest.raises(TypeError, match="WrongField has no field 'strength' to learn"):
        register("x")(WrongField)
    assert "x" not in PRIORS


def test_two_meanings_of_concentration_are_refused():
    with pytest.raises(TypeError, match=r"Both: engines read the learned field, 'discount', as `concentration`"):

        class Both(PitmanYor):
            learned: ClassVar[str] = "discount"


def _broken(**changes):
    return dataclasses.dataclass(frozen=True)(type("Broken", (Stable,), changes))(0.5)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"_log_v": lambda self, n, t: 0.0},
            r"one log V_n\(t\) for each of 3 numbers of clusters, got shape",
        ),
        ({"_log_v": lambda self, n, t: np.full(t.shape, np.nan)}, "got NaN among them"),
        (
            {"_log_v": lambda self, n, t: np.where(t > 0, Stable._log_v(self, n, t), -np.inf)},
            "returned -inf for 0 clusters; return any finite number",
        ),
        ({"_log_v": lambda self, n, t: 0.1 + Stable._log_v(self, n, t)}, "must return 0 for one row in one cluster"),
        ({"_log_v": lambda self, n, t: t * 1.0 - 1.0 - gammaln(n)}, "probabilities of Broken do not add up to one"),
        ({"offset": -1.5}, "offset of Broken must be a finite number above -1, got -1.5"),
        ({"max_clusters": lambda self, n: min(n, 2)}, r"max_clusters\(3\) of Broken is 2, but more clusters"),
        ({"stick_shapes": lambda self, n: (np.ones(n), np.ones(n - 1))}, r"two arrays of shape \(1000,\), got shapes"),
        ({"stick_shapes": lambda self, n: (np.ones(n), -np.ones(n))}, "must return positive numbers"),
        ({"stick_shapes": lambda self, n: (np.full(n, 2.0), np.ones(n))}, "two rows together with probability"),
    ],
)
def test_the_check_says_which_part_of_the_contract_is_broken(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_prior(_broken(**changes))


def test_every_prior_passes_its_own_check(prior):
    check_prior(prior)


def test_the_check_sees_finite_sticks():
    check_prior(FiniteDirichlet(4, 2.0))


def test_every_prior_of_the_folder_is_registered():
    def below(cls):
        for sub in cls.__subclasses__():
            yield sub
            yield from below(sub)

    mine = {cls for cls in below(Prior) if cls.__module__.startswith("countless.") and not inspect.isabstract(cls)}
    assert mine == {cls for cls in PRIORS.values() if cls.__module__.startswith("countless.")}
