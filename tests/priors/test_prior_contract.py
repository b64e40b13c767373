"""The register of names, defaults, and the sentences that users read when something is wrong."""

from __future__ import annotations

import dataclasses
import pickle
import re

import numpy as np
import pytest

from countless import priors
from countless.priors import (
    CRP,
    PRIORS,
    FiniteDirichlet,
    Gamma,
    GeometricCount,
    MixtureOfFinite,
    PitmanYor,
    PoissonCount,
    Prior,
    register,
    resolve_prior,
    stick_breaking,
)


def test_names_resolve_to_objects():
    assert resolve_prior("crp") == CRP()
    assert resolve_prior("pitman-yor") == PitmanYor()
    assert resolve_prior("finite-dirichlet") == FiniteDirichlet(10)
    assert resolve_prior("mixture-of-finite") == MixtureOfFinite()
    assert resolve_prior(prior := CRP(3.0)) is prior


def test_unknown_names_list_what_exists():
    listed = ", ".join(map(repr, sorted(PRIORS)))
    assert "'crp', 'dynamic-mixture-of-finite', 'finite-dirichlet'" in listed
    sentence = f"prior: 'foo' is not known; choose one of {listed}, or pass a countless.priors object"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        resolve_prior("foo")
    with pytest.raises(ValueError, match="prior: 3 is not known; choose one of 'crp'"):
        resolve_prior(3)


def test_a_new_prior_needs_two_definitions_only(request, size_counts):
    request.addfinalizer(lambda: PRIORS.remove("two-restaurants"))

    @register("two-restaurants")
    @dataclasses.dataclass(frozen=True)
    class TwoRestaurants(Prior):
        """An even mixture of two concentrations: of Gibbs type, and its new weight depends on n."""

        concentration: float | Gamma | None = 1.0
        offset = 0.0

        def _log_v(self, n_rows, n_clusters):
            both = [CRP(c)._log_v(n_rows, n_clusters) for c in (self.concentration, 10 * self.concentration)]
            return np.logaddexp(*both) - np.log(2)

    prior = resolve_prior("two-restaurants")
    total = sum(many * np.exp(prior.log_prob_sizes(sizes)) for sizes, many in size_counts[6].items())
    assert total == pytest.approx(1.0, abs=1e-12)
    mean = (CRP(1.0).expected_clusters(50) + CRP(10.0).expected_clusters(50)) / 2
    assert prior.expected_clusters(50) == pytest.approx(mean, rel=1e-10)
    assert prior.sample(30, 0).size == 30
    assert prior.with_concentration(2.0).table(5, 5).log_v.size == 7


def test_everything_listed_is_there():
    for name in priors.__all__:
        assert hasattr(priors, name)


def test_defaults():
    for cls, shape in ((CRP, 0.25), (PitmanYor, 1.0), (FiniteDirichlet, 1.0)):
        assert cls().is_learned
        assert cls().resolve(10).concentration == Gamma(shape, 1.0)
        assert cls().initial().concentration == shape
    assert MixtureOfFinite(None).resolve(10).concentration == 1.0
    assert CRP(np.int64(2)).concentration == 2.0


def test_priors_are_values(prior):
    assert pickle.loads(pickle.dumps(prior)) == prior
    assert hash(prior) == hash(dataclasses.replace(prior))
    with pytest.raises(dataclasses.FrozenInstanceError):
        prior.concentration = 2.0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: CRP(0.0),
            "concentration must be a positive finite number, a Gamma(shape, rate) or None",
        ),
        (
            lambda: CRP("1"),
            "a Gamma(shape, rate) or None, got '1'",
        ),
        (
            lambda: CRP(True),
            "a Gamma(shape, rate) or None, got True",
        ),
        (lambda: CRP(float("nan")), "or None, got nan"),
        (lambda: PitmanYor(-0.5, 0.5), "concentration must be a finite number above -0.5"),
        (
            lambda: PitmanYor(1.0, 1.0),
            "discount must be a number of at least 0 and below 1, a Beta(a, b) or None, got 1.0",
        ),
        (lambda: FiniteDirichlet(0), "n_components must be a whole number of at least 1, got 0"),
        (lambda: FiniteDirichlet(2.5), "n_components must be a whole number of at least 1, got 2.5"),
        (lambda: FiniteDirichlet("3"), "n_components must be a whole number of at least 1, got '3'"),
        (lambda: FiniteDirichlet(float("inf")), "n_components must be a whole number of at least 1, got inf"),
        (
            lambda: MixtureOfFinite(1.0, 3),
            "components must be one of 'geometric', 'poisson', 'uniform', 'beta-negative-binomial'",
        ),
        (lambda: GeometricCount(1.0), "success must be a number between 0 and 1, got 1.0"),
        (lambda: PoissonCount(-1.0), "rate must be a positive finite number, got -1.0"),
        (lambda: Gamma(0.0, 1.0), "shape must be a positive finite number, got 0.0"),
        (lambda: CRP().table(5, 5), "concentration: a table needs a number, got None"),
        (lambda: CRP(1.0).log_prob([[0, 1]]), "labels must be one-dimensional, got an array of shape (1, 2)"),
        (lambda: CRP(1.0).log_prob_sizes([1, -1]), "sizes must be a list of whole numbers of at least 0"),
        (lambda: CRP(1.0).sample(-1), "n must be a whole number of at least 0, got -1"),
        (lambda: stick_breaking(1.0, n_sticks=0), "n_sticks must be a whole number of at least 1, got 0"),
    ],
)
def test_messages(make, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()
