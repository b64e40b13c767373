"""FiniteMixture: against scikit-learn from the same start, never falling, guarded, for every family."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

import countless as cl
from countless.models.finite.em import estimate_from_labels
from countless.posterior.partition.consensus import consensus
from estimators.cases import FAMILY_NAMES, GIBBS, alternating, largest_first, two_groups

IRIS = load_iris().data
STARTS = np.repeat([0, 1, 2], 50)


@pytest.mark.parametrize(("family", "kind"), [("gaussian", "full"), ("diagonal-gaussian", "diag")])
@pytest.mark.parametrize("n_iter", [1, 7, 3000])
def test_the_same_start_goes_where_scikit_learn_goes(family, kind, n_iter):
    """Step for step, and to the end: log likelihood of all rows to 1e-6, weights, means and covariances."""
    start = STARTS[np.random.default_rng(0).permutation(150)] if n_iter == 3000 else STARTS
    ours = cl.FiniteMixture(3, family, start=start, max_iter=n_iter, tol=0.0)
    means = np.array([IRIS[start == k].mean(axis=0) for k in range(3)])
    parts = [np.cov(IRIS[start == k], rowvar=False, bias=True) for k in range(3)]
    precisions = np.array([np.linalg.inv(part) if kind == "full" else 1 / np.diag(part) for part in parts])
    weights = np.bincount(start) / len(start)
    theirs = GaussianMixture(
        3, covariance_type=kind, reg_covar=0.0, tol=0.0 if n_iter < 100 else 1e-15, max_iter=max(n_iter - 1, 1)
    ).set_params(means_init=means, weights_init=weights, precisions_init=precisions)
    if n_iter == 1:
        ours_fit = _quiet(ours)
        density = sum(
            w * stats.multivariate_normal(m, np.linalg.inv(np.diag(p) if kind == "diag" else p)).pdf(IRIS)
            for w, m, p in zip(weights, means, precisions, strict=True)
        )
        assert ours_fit.log_likelihood_ == pytest.approx(np.log(density).sum(), abs=1e-6)
        return
    fitted, reference = _quiet(ours), _quiet(theirs)
    assert fitted.log_likelihood_ == pytest.approx(reference.score_samples(IRIS).sum(), abs=1e-6)
    order = [int(np.argmin(((fitted.parameters_["mean"] - mean) ** 2).sum(axis=1))) for mean in reference.means_]
    loose = 1e-7 if n_iter < 100 else 1e-4
    np.testing.assert_allclose(fitted.weights_[order], reference.weights_, rtol=loose)
    np.testing.assert_allclose(fitted.parameters_["mean"][order], reference.means_, rtol=loose)
    name = "covariance" if kind == "full" else "variance"
    np.testing.assert_allclose(fitted.parameters_[name][order], reference.covariances_, rtol=10 * loose, atol=1e-6)
    new = IRIS[::7] + 0.05
    np.testing.assert_allclose(fitted.score_samples(new), reference.score_samples(new), rtol=10 * loose)
    np.testing.assert_allclose(fitted.predict_proba(new)[:, order], reference.predict_proba(new), atol=20 * loose)
    assert fitted.n_parameters_ == reference._n_parameters()
    assert fitted.bic(IRIS) == pytest.approx(reference.bic(IRIS), abs=1e-5)
    assert fitted.aic(IRIS) == pytest.approx(reference.aic(IRIS), abs=1e-5)


def _quiet(model):
    """A fit that may stop at its limit of iterations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        return model.fit(IRIS)


@pytest.mark.parametrize("method", ["em", "map"])
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_every_family_finds_two_groups_and_never_falls(family, method):
    X = two_groups(family, 20)
    if family == "gaussian-known-covariance":  # it has to be known: the default is as long as the groups are apart
        family = cl.families.GaussianKnownCovariance(covariance=1.0)
    fitted = cl.FiniteMixture(2, family, method, restarts=2, tol=1e-9, random_state=0).fit(X)
    np.testing.assert_array_equal(fitted.labels_, alternating(20))
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    np.testing.assert_allclose(fitted.weights_, 0.5, atol=1e-6)
    assert np.all(np.diff(fitted.objective_) >= -1e-9 * np.abs(fitted.objective_[1:]))
    assert fitted.converged_
    assert not fitted.singular_.any()
    assert fitted.n_clusters_ == 2
    assert fitted.log_likelihood_ == pytest.approx(fitted.score_samples(X).sum(), rel=1e-9)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    assert all(len(values) == 2 for values in fitted.parameters_.values())
    rows, labels = fitted.sample(6)
    fitted.family_.check(rows)
    assert rows.shape == (6, X.shape[1])
    assert set(labels) <= {0, 1}


@pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial", "exponential"])
@pytest.mark.parametrize("method", ["em", "map"])
def test_overlapping_components_climb_step_by_step(family, method, rng):
    """Many steps on one blurred group with four components, so that each of them could go wrong."""
    X = {
        "gaussian": rng.standard_normal((120, 2)),
        "poisson": rng.poisson(rng.gamma(2.0, 2.0, (120, 1)), (120, 3)),
        "multinomial": rng.multinomial(12, [0.2, 0.3, 0.5], 120),
        "exponential": rng.exponential(rng.gamma(2.0, 2.0, (120, 1)), (120, 3)),
    }[family]
    # A weaker prior of the bins would let components of the one group die.
    law = cl.families.Multinomial(1.0) if family == "multinomial" else family
    fitted = cl.FiniteMixture(4, law, method, restarts=1, tol=1e-7, max_iter=5000, random_state=0).fit(X)
    assert fitted.n_iter_ > 10
    assert np.all(np.diff(fitted.objective_) >= -1e-10 * np.abs(fitted.objective_[1:]))


def test_the_end_is_the_best_of_all_assignments_of_few_rows():
    """MAP of a mixture whose components are far apart: parameters are the modes given the groups, by enumeration."""
    X = np.array([[0.0], [0.2], [0.4], [30.0], [30.4]])
    family = cl.families.SphericalGaussian(variance=0.1, mean=[10.0], mean_variance=50.0)
    fitted = cl.FiniteMixture(2, family, "map", random_state=0).fit(X)

    def mode(rows):
        return (10.0 / 50.0 + rows.sum() / 0.1) / (1 / 50.0 + len(rows) / 0.1)

    best = max(
        (np.array(labels) for labels in itertools.product([0, 1], repeat=5) if 0 < sum(labels) < 5),
        key=lambda z: sum(
            stats.norm.logpdf(X[z == k, 0], mode(X[z == k, 0]), np.sqrt(0.1)).sum()
            + np.sum(z == k) * np.log(np.mean(z == k))
            + stats.norm.logpdf(mode(X[z == k, 0]), 10.0, np.sqrt(50.0))
            for k in (0, 1)
        ),
    )
    expected = sorted(mode(X[best == k, 0]) for k in (0, 1))
    np.testing.assert_allclose(np.sort(fitted.parameters_["mean"][:, 0]), expected, rtol=1e-9)


def test_weights_of_rows_count_them():
    weights = np.random.default_rng(0).integers(0, 4, len(IRIS))
    start = STARTS
    options = {"tol": 1e-10, "max_iter": 4000}
    weighted = cl.FiniteMixture(3, start=start, **options).fit(IRIS, sample_weight=weights)
    repeated = cl.FiniteMixture(3, start=np.repeat(start, weights), **options).fit(np.repeat(IRIS, weights, axis=0))
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-8)
    np.testing.assert_allclose(weighted.parameters_["mean"], repeated.parameters_["mean"], rtol=1e-5)


def test_equal_rows_do_not_make_a_spike_and_are_reported():
    """Fifteen equal rows beside a cloud: the likelihood has no maximum; the floor of the variance is reported."""
    rng = np.random.default_rng(1)
    X = np.vstack([np.full((15, 2), 6.0), rng.standard_normal((60, 2))])
    with pytest.warns(ConvergenceWarning, match=r"^singular components: 1 \(collapsed onto too few rows\); "):
        fitted = cl.FiniteMixture(2, random_state=0).fit(X)
    np.testing.assert_array_equal(fitted.singular_, [False, True])
    assert np.isfinite(fitted.log_likelihood_)
    assert np.all(np.diff(fitted.objective_) >= -1e-9 * np.abs(fitted.objective_[1:]))
    np.testing.assert_array_equal(fitted.labels_, np.repeat([1, 0], [15, 60]))
    narrow = np.linalg.eigvalsh(fitted.parameters_["covariance"][1] / np.outer(X.std(axis=0), X.std(axis=0)))
    np.testing.assert_allclose(narrow, 1e-8, rtol=1e-4)
    assert not cl.FiniteMixture(2, method="map", random_state=0).fit(X).singular_.any()


def test_a_restart_without_singular_components_is_preferred():
    """Twenty rows, three full covariances in three columns: some starts collapse, with a larger likelihood."""
    X = np.random.default_rng(5).standard_normal((24, 3))
    singles = []
    for seed in range(12):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            singles.append(cl.FiniteMixture(3, restarts=1, max_iter=300, start="random", random_state=seed).fit(X))
    assert any(fit.singular_.any() for fit in singles)
    assert any(not fit.singular_.any() for fit in singles)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        best = cl.FiniteMixture(3, restarts=30, max_iter=300, start="random", random_state=0).fit(X)
    assert not best.singular_.any()


def test_a_limit_of_iterations_is_reported():
    with pytest.warns(ConvergenceWarning, match=r"^EM did not converge in 2 iterations; raise max_iter or tol$"):
        fitted = cl.FiniteMixture(3, restarts=1, max_iter=2, random_state=0).fit(IRIS)
    assert not fitted.converged_
    assert fitted.n_iter_ == 2


@pytest.mark.parametrize("family", ["gaussian", "exponential"])
def test_units_do_not_matter(family):
    X = two_groups(family, 20)
    scale = np.logspace(-3, 4, X.shape[1])
    plain = cl.FiniteMixture(2, family, random_state=0).fit(X)
    moved = cl.FiniteMixture(2, family, random_state=0).fit(X * scale)
    np.testing.assert_array_equal(plain.labels_, moved.labels_)
    assert moved.log_likelihood_ == pytest.approx(plain.log_likelihood_ - len(X) * np.log(scale).sum(), rel=1e-9)


def test_threads_and_seeds():
    X = IRIS
    one, two, other = (
        cl.FiniteMixture(4, restarts=4, random_state=seed, n_threads=threads).fit(X)
        for seed, threads in ((0, 1), (0, 3), (1, 2))
    )
    np.testing.assert_array_equal(one.objective_, two.objective_)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert other.log_likelihood_ == pytest.approx(one.log_likelihood_, rel=0.05)


def test_components_are_numbered_by_size():
    fitted = cl.FiniteMixture(6, "diagonal-gaussian", method="map", random_state=0).fit(IRIS)
    assert largest_first(fitted.labels_)
    np.testing.assert_array_equal(fitted.predict(IRIS), fitted.labels_)
    assert fitted.weights_.sum() == pytest.approx(1.0, rel=1e-12)
    assert fitted.weights_.shape == (6,)


def test_frames_keep_their_names():
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    fitted = cl.FiniteMixture(2, random_state=0).fit(frame)
    assert fitted.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(fitted.predict(frame), fitted.labels_)


# --- sampling ------------------------------------------------------------------------------------------------------


def test_sampling_with_a_given_number_of_components():
    X = two_groups("gaussian", 20)
    fitted = cl.FiniteMixture(3, method=GIBBS, random_state=0).fit(X)
    assert fitted.posterior_.n_clusters.max() <= 3
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (40, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert fitted.weights_.sum() == pytest.approx(1.0, rel=1e-12)
    assert fitted.parameters_["mean"].shape == (3, 2)
    np.testing.assert_array_equal(fitted.labels_[:2], [0, 1])
    rows, labels = fitted.sample(50)
    assert rows.shape == (50, 2)
    assert 0 <= labels.min() <= labels.max() < 3
    with pytest.raises(ValueError, match=r"^bic compares mixtures at their best parameters; use method 'em' or 'map'$"):
        fitted.bic(X)
    with pytest.raises(ValueError, match=r"^sample_weight: samplers count every row once"):
        cl.FiniteMixture(2, method=GIBBS).fit(X, sample_weight=np.ones(40))


def test_as_many_components_as_clusters_leave_no_room():
    X = two_groups("poisson", 20)
    fitted = cl.FiniteMixture(2, "poisson", method=GIBBS, random_state=0).fit(X)
    assert fitted.predict_proba(X).shape == (40, 2)
    np.testing.assert_array_equal(fitted.predict(X), alternating(20))
    same = cl.DPMixture("poisson", cl.priors.FiniteDirichlet(2), GIBBS, random_state=0, tune=None).fit(X)
    np.testing.assert_array_equal(fitted.posterior_.labels, same.posterior_.labels)
    np.testing.assert_allclose(fitted.score_samples(X), same.score_samples(X), rtol=1e-12)


def _three_groups_and_a_row_between(seed, size=10):
    """Three tight groups at the corners of a triangle, and one row in its middle that may belong to any of them."""
    angles = np.deg2rad([90.0, 210.0, 330.0])
    corners = 6.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    rows = np.repeat(corners, size, axis=0) + 0.3 * np.random.default_rng(seed).standard_normal((3 * size, 2))
    return np.concatenate([rows, [[0.0, 0.0]]])


@pytest.mark.parametrize("seed", range(3))
def test_a_consensus_has_no_more_clusters_than_there_are_components(seed):
    """Otherwise the partition of least expected loss gives the row in the middle a fourth cluster."""
    X = _three_groups_and_a_row_between(seed)
    family = cl.families.SphericalGaussian(variance=1.0)
    sampler = cl.inference.CollapsedGibbs(chains=2, draws=100, warmup=50)
    mixture = cl.DPMixture(family, cl.priors.FiniteDirichlet(3), sampler, random_state=seed).fit(X)
    assert mixture.posterior_.n_clusters.max() == 3
    assert consensus(mixture.posterior_.labels.reshape(200, -1), max_clusters=0, settle=False).max() == 3
    assert mixture.n_clusters_ == 3
    np.testing.assert_allclose(mixture.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    fitted = cl.FiniteMixture(3, family, method=sampler, random_state=seed).fit(X)
    assert fitted.labels_.max() == 2
    assert fitted.weights_.shape == (3,)
    assert len(fitted.parameters_["mean"]) == 3
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


def test_parameters_are_not_estimated_for_more_clusters_than_components():
    """Labels beyond the last component would be written outside of the sums of statistics."""
    X = np.array([[0.0], [1.0], [2.0]])
    family = cl.families.SphericalGaussian(variance=1.0).resolve(X)
    problem = cl.inference.Problem.of(X, family, cl.priors.FiniteDirichlet(2))
    with pytest.raises(ValueError, match=r"^labels name 3 clusters, but there are 2 components$"):
        estimate_from_labels(problem, np.array([0, 1, 2]), 2, prior_weight=1.0)


# --- the interface -------------------------------------------------------------------------------------------------

EXPECTED_FAILED_CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": "starts draw rows at random, and hyperparameters left open are "
    "set from the rows without their weights; test_weights_of_rows_count_them compares fits from the same start",
}


# Some checks hand in fewer rows than a full covariance needs; that is reported, as it should be.
@pytest.mark.filterwarnings("ignore:singular components")
@parametrize_with_checks(
    [
        cl.FiniteMixture(2, restarts=2, random_state=0),
        cl.FiniteMixture(2, method="map", restarts=1, random_state=0),
        cl.MixtureSearch(method="map", n_components=[1, 2], restarts=1, random_state=0),
    ],
    # The checks give the search one component, for which there is one start and one order.
    expected_failed_checks=lambda estimator: EXPECTED_FAILED_CHECKS if type(estimator) is cl.FiniteMixture else {},
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", [cl.FiniteMixture, cl.MixtureSearch])
def test_every_setting_and_fitted_name_is_documented(cls):
    for name in cls().get_params():
        assert f"\n    {name} : " in cls.__doc__
    fitted = cls(method="map", random_state=0).fit(IRIS[:30])
    for name in vars(fitted):
        if name.endswith("_") and not name.startswith("_"):
            assert name in cls.__doc__
    for name in ("em", "map", "kmeans++", "random"):
        assert f'"{name}"' in cls.__doc__


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 0}, r"^n_components must be a whole number of at least 1, got 0$"),
        ({"n_components": 2.5}, r"^n_components must be a whole number of at least 1, got 2\.5$"),
        ({"n_components": 200}, r"^n_components=200 exceeds the number of rows of X, n_samples=150$"),
        (
            {"method": "ml"},
            r"^method: 'ml' is not known; choose one of .*'em', .*'gibbs', .*countless\.inference object$",
        ),
        ({"method": 3}, r"^method: 3 is not known"),
        ({"start": "kmeans"}, r"^start: 'kmeans' is not known; choose one of 'kmeans\+\+', 'random', or pass an array"),
        ({"start": [0, 1]}, r"^start must hold 150 labels, one per row, got shape \(2,\)$"),
        ({"start": np.arange(150)}, r"^start has 150 clusters, but there are 2 components$"),
        ({"tol": -1.0}, r"^tol must be a number of at least 0, got -1\.0$"),
        ({"tol": "small"}, r"^tol must be a number of at least 0, got 'small'$"),
        ({"restarts": 0}, r"^restarts must be a whole number of at least 1, got 0$"),
        ({"max_iter": 0}, r"^max_iter must be a whole number of at least 1, got 0$"),
        ({"n_threads": 0}, r"^n_threads must be a whole number of at least 1, got 0$"),
    ],
)
def test_mistakes_of_settings(options, words):
    with pytest.raises(ValueError, match=words):
        cl.FiniteMixture(**options).fit(IRIS)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0, 2.0], r"^sample_weight must hold 150 numbers, one per row, got shape \(2,\)$"),
        (np.full(150, -1.0), r"^sample_weight must hold finite numbers of at least 0, not all of them zero$"),
        (np.zeros(150), r"^sample_weight must hold finite numbers of at least 0, not all of them zero$"),
        (np.full(150, np.nan), r"^sample_weight must hold finite numbers"),
        ("heavy", r"^sample_weight must hold one number per row$"),
    ],
)
def test_mistakes_of_weights(weight, words):
    with pytest.raises(ValueError, match=words):
        cl.FiniteMixture().fit(IRIS, sample_weight=weight)


def test_a_class_where_an_object_is_meant():
    with pytest.raises(TypeError, match=r"^method: got the class CollapsedGibbs; pass an instance"):
        cl.FiniteMixture(method=cl.inference.CollapsedGibbs).fit(IRIS)


@pytest.mark.parametrize("cls", [cl.FiniteMixture, cl.MixtureSearch])
def test_questions_before_the_fit(cls):
    for method in ("predict", "predict_proba", "score_samples", "score"):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            getattr(cls(), method)(IRIS)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        cls().sample(3)
