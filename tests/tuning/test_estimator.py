"""``tune`` of the estimator: every way with every family, what is shown after the fit, and mistakes."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.base import clone

import countless as cl
from countless.chains.engine import engines_for
from countless.inference import MAP, CollapsedGibbs
from countless.tuning import TUNINGS, CrossValidation, EmpiricalBayes, Greedy, Sample
from estimators.cases import FAMILY_NAMES, GIBBS, PRIORS, SEARCH, alternating, two_groups

QUICK = {"chains": 2, "draws": 15, "warmup": 10, "restarts": 1, "n_threads": 1}
SHORT = CollapsedGibbs(chains=2, draws=15, warmup=10, n_threads=1)


def _fit(name, tune, inference=SHORT, prior="crp", seed=0):
    return cl.DPMixture(name, prior, inference, tune=tune, random_state=seed).fit(two_groups(name))


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_drawn_hyperparameters(name):
    model = _fit(name, "sample", prior=PRIORS[FAMILY_NAMES.index(name) % 3])
    X = two_groups(name)
    resolved = cl.families.FAMILIES[name]().resolve(X)
    drawn = model.posterior_.hyperparameters
    assert set(drawn) == set(resolved.tunable())
    for key, values in drawn.items():
        assert values.shape == (2, 15)
        assert len(np.unique(values)) == 30
        logs = model.posterior_.log_factors[key]
        expected = resolved.with_tuned({key: float(logs[1, 3])}).tunable()[key]
        assert values[1, 3] == pytest.approx(expected, rel=1e-9)
        middle = resolved.with_tuned({key: float(logs.mean())}).tunable()[key]
        assert model.family_.tunable()[key] == pytest.approx(middle, rel=1e-9)
    assert np.isfinite(model.score_samples(X)).all()
    assert model.predict(X).shape == (len(X),)
    assert model.sample(3)[0].shape == (3, X.shape[1])


def test_densities_average_over_the_drawn_hyperparameters():
    """Against predictives of each draw's own family, cluster by cluster, in plain Python."""
    model = _fit("poisson", Sample(names=("rate",)), prior=cl.priors.CRP(1.0))
    X = two_groups("poisson")
    resolved = cl.families.Poisson().resolve(X)
    draws = zip(model.posterior_.flat_labels(), model.posterior_.log_factors["rate"].ravel(), strict=True)
    densities = []
    for labels, log_factor in draws:
        family = resolved.with_tuned({"rate": float(log_factor)})
        parts = [np.log(np.sum(labels == k)) + family.log_predictive(X[:3], X[labels == k]) for k in np.unique(labels)]
        parts.append(family.log_predictive(X[:3]))
        densities.append(np.logaddexp.reduce(parts, axis=0) - np.log(len(X) + 1.0))
    expected = np.logaddexp.reduce(densities, axis=0) - np.log(len(densities))
    np.testing.assert_allclose(model.score_samples(X[:3]), expected, rtol=1e-9)


@pytest.mark.parametrize("tune", TUNINGS)
@pytest.mark.parametrize("engine", [GIBBS, SEARCH], ids=["gibbs", "map"])
def test_groups_far_apart_are_never_mixed_and_seeds_repeat(tune, engine):
    """Sixteen rows leave open how many clusters a group is, but not which rows are far apart."""
    if tune == "sample" and engine is SEARCH:
        return
    first, second = (_fit("gaussian", tune, engine, seed=3) for _ in range(2))
    assert cl.metrics.purity(first.labels_, alternating()) == 1.0
    assert first.family_ == second.family_
    np.testing.assert_array_equal(first.posterior_.labels, second.posterior_.labels)
    assert cl.metrics.purity(first.predict(two_groups("gaussian")), alternating()) == 1.0


ALL_ENGINES = {
    name: replace(engine(), **{k: v for k, v in QUICK.items() if k in {field.name for field in fields(engine)}})
    for name, engine in engines_for("mixture").items()
}


@pytest.mark.parametrize("name", ALL_ENGINES)
def test_every_engine_can_be_tuned(name):
    model = _fit("poisson", EmpiricalBayes(rounds=3), ALL_ENGINES[name])
    assert set(model.posterior_.hyperparameters) == {"shape", "rate"}
    assert model.family_ != cl.families.Poisson().resolve(two_groups("poisson"))
    assert cl.metrics.purity(model.labels_, alternating()) == 1.0
    assert np.isfinite(model.score(two_groups("poisson")))


def test_draws_do_not_depend_on_threads():
    one, two = (CollapsedGibbs(chains=2, draws=10, warmup=5, n_threads=n) for n in (1, 2))
    a, b = (_fit("gaussian", "sample", engine).posterior_.log_factors for engine in (one, two))
    for name, values in a.items():
        np.testing.assert_array_equal(values, b[name])


def test_only_the_names_asked_for_are_learned():
    for tune in (
        Sample(("scale",)),
        EmpiricalBayes(("scale",)),
        Greedy(("scale",)),
        CrossValidation(3, names=("scale",)),
    ):
        model = _fit("gaussian", tune)
        assert list(model.posterior_.hyperparameters) == ["scale"]
        assert model.family_.dof == 4.0
        assert model.family_.mean_strength == 0.001


def test_nothing_is_learned_unless_asked():
    model = _fit("gaussian", None)
    assert model.posterior_.hyperparameters == {}
    assert model.family_ == cl.families.Gaussian().resolve(two_groups("gaussian"))


def test_clone_keeps_the_setting():
    model = cl.DPMixture(tune=Sample(spread=1.0))
    assert clone(model).tune == Sample(spread=1.0)


def test_rows_of_one_kind_and_a_single_row():
    for X in (np.zeros((1, 2)), np.ones((5, 2)), np.arange(6.0).reshape(3, 2)):
        for tune, engine in (("sample", SHORT), ("empirical-bayes", SEARCH), ("greedy", SEARCH)):
            model = cl.DPMixture(inference=engine, tune=tune, random_state=0).fit(X)
            assert all(np.isfinite(value) for value in model.family_.tunable().values())


@pytest.mark.parametrize(
    ("tune", "message"),
    [
        (
            "bayes",
            "tune: 'bayes' is not known; choose one of 'cross-validation', 'empirical-bayes', 'greedy', 'learn'",
        ),
        (Sample, "got the class Sample; pass an instance"),
        (Sample(("spread",)), "names: 'spread' is not a hyperparameter of this family; choose among 'mean_strength'"),
        (Greedy(()), "names must name at least one"),
        (CrossValidation({"rate": [1.0]}), "'rate' is not a hyperparameter"),
        (CrossValidation({"scale": [-1.0]}), "candidates must be a positive number, got -1.0"),
        (CrossValidation(cv=40), "cv: 40 folds need at least as many rows, got 16"),
    ],
)
def test_mistakes_are_named(tune, message):
    with pytest.raises((ValueError, TypeError), match=message):
        _fit("gaussian", tune)


def test_settings_are_checked_where_they_are_given():
    for wrong in (
        lambda: Sample(spread=np.inf),
        lambda: Sample(spread=0.0),
        lambda: EmpiricalBayes(spread=-1.0),
        lambda: EmpiricalBayes(rounds=0),
        lambda: Greedy(factor=0.5),
        lambda: CrossValidation(0),
        lambda: CrossValidation(cv=1),
    ):
        with pytest.raises(ValueError, match="must be"):
            wrong()


def test_an_optimiser_draws_no_hyperparameters():
    with pytest.raises(ValueError, match="MAP draws no hyperparameters; choose CollapsedGibbs"):
        _fit("gaussian", "sample", MAP())
