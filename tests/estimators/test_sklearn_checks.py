"""scikit-learn's own checks, with three engines; what is excepted is listed with its reason."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import countless as cl

from .cases import GIBBS, SEARCH, model, two_groups

VARIATIONAL = cl.inference.Variational(restarts=1, draws=5)


def _excepted(estimator):
    """Checks that must fail, with the reason."""
    if estimator.inference is VARIATIONAL:
        steps = "the same up to where the climb of the learned hyperparameters ends"
        return {"check_sample_weight_equivalence_on_dense_data": steps}
    refused = "only the variational engine weighs rows; the others say so"
    names = ("equivalence_on_dense_data", "s_list", "s_not_overwritten")
    return {f"check_sample_weight{'_' if name[0] == 'e' else ''}{name}": refused for name in names}


@parametrize_with_checks(
    [model(inference=GIBBS), model(inference=SEARCH), model(inference=VARIATIONAL)],
    expected_failed_checks=_excepted,
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def test_the_constructor_only_stores():
    family, random_state = object(), object()
    built = cl.DPMixture(family=family, prior=3, inference=None, tune=1, random_state=random_state, progress="what")
    assert built.get_params() == {
        "family": family,
        "prior": 3,
        "inference": None,
        "tune": 1,
        "warm_start": False,
        "random_state": random_state,
        "progress": "what",
    }


def test_clone_copies_the_settings_and_nothing_fitted():
    fitted = model(family=cl.families.Gaussian(mean=np.zeros(2), dof=5.0), prior=cl.priors.CRP(2.0))
    fitted.fit(two_groups("gaussian"))
    twin = clone(fitted)
    assert twin.family == fitted.family
    assert twin.prior == fitted.prior
    assert twin.inference == fitted.inference
    assert not [name for name in vars(twin) if name.endswith("_") and not name.startswith("__")]
    np.testing.assert_array_equal(twin.fit(two_groups("gaussian")).labels_, fitted.labels_)


def test_set_params_takes_effect_at_the_next_fit():
    X = two_groups("poisson")
    changed = model().set_params(family="poisson", inference=SEARCH).fit(X)
    assert type(changed.family_) is cl.families.Poisson
    assert changed.posterior_.labels.shape == (1, 1, len(X))
    with pytest.raises(ValueError, match="Invalid parameter 'kernel'"):
        changed.set_params(kernel="rbf")


@pytest.mark.parametrize("name", ["gaussian", "categorical"])
def test_repr_shows_what_was_changed_before_and_after_the_fit(name):
    assert repr(cl.DPMixture()) == "DPMixture()"
    built = model(family=name, prior=cl.priors.CRP(2.0))
    before = repr(built)
    assert "CRP(concentration=2.0)" in before
    assert "progress" not in before
    assert repr(built.fit(two_groups(name))) == before
    assert repr(model(family=built.family_)).startswith("DPMixture(family=")


def test_a_step_of_a_pipeline():
    X = two_groups("gaussian")
    alone = model().fit(X)
    scaled = make_pipeline(StandardScaler(), model()).fit(X)
    np.testing.assert_array_equal(scaled[-1].labels_, alone.labels_)
    np.testing.assert_array_equal(scaled.predict(X), alone.predict(X))
