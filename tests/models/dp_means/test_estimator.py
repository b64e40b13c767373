"""DPMeans and Partitional: scikit-learn's checks, what is fitted, weights, units, and mistakes in one sentence."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import countless as cl

try:
    import kmedoids  # noqa: F401

    MEDOIDS = [cl.Partitional(2, method="kmedoids", random_state=0)]
except ImportError:
    MEDOIDS = []


needs_kmedoids = pytest.mark.skipif(not MEDOIDS, reason="the optional package kmedoids is not installed")


@parametrize_with_checks(
    [
        cl.DPMeans(random_state=0),
        cl.DPMeans(n_clusters=2, keep_counts=True, splits=False, random_state=0),
        cl.Partitional(2, random_state=0),
        *MEDOIDS,
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.fixture
def X(rng):
    return np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(9, 1, (20, 2)), rng.normal([0, 9], 1, (25, 2))])


def test_clusters_are_numbered_by_size_and_weights_count(X):
    # The rows of the smallest cluster come first.
    X = np.concatenate([X[30:50], X[:30], X[50:]])
    heavy = np.repeat([3.0, 1.0, 1.0], [20, 30, 25])
    for model in (cl.DPMeans(random_state=0), cl.Partitional(random_state=0), *MEDOIDS):
        labels = clone(model).set_params(n_clusters=3).fit(X).labels_
        np.testing.assert_array_equal(labels, np.repeat([2, 0, 1], [20, 30, 25]))
    weighted = cl.DPMeans(n_clusters=3, random_state=0).fit(X, sample_weight=heavy)
    np.testing.assert_array_equal(weighted.labels_, np.repeat([0, 1, 2], [20, 30, 25]))
    np.testing.assert_array_equal(weighted.predict(X), weighted.labels_)


def test_what_is_fitted(X, rng):
    X = X[rng.permutation(len(X))]
    model = cl.DPMeans(random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert np.bincount(model.labels_).tolist() == [30, 25, 20]
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    for k in range(3):
        np.testing.assert_allclose(model.cluster_centers_[k], X[model.labels_ == k].mean(axis=0), rtol=1e-12)
    distances = cdist(X, model.cluster_centers_, "sqeuclidean")
    np.testing.assert_allclose(model.transform(X), distances, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    expected = distances[np.arange(len(X)), model.labels_].sum() + 3 * model.penalty_
    assert model.objective_ == pytest.approx(expected, rel=1e-10)
    assert model.objective_trace_[-1] == pytest.approx(expected, rel=1e-10)
    assert (np.diff(model.objective_trace_) <= 1e-9 * expected).all()
    assert list(model.get_feature_names_out()) == ["dpmeans0", "dpmeans1", "dpmeans2"]
    np.testing.assert_array_equal(cl.DPMeans(random_state=0).fit_predict(X), model.labels_)


def test_every_setting_and_fitted_name_is_documented(X):
    for model in (cl.DPMeans(random_state=0), cl.Partitional(2, random_state=0)):
        text = type(model).__doc__
        assert all(f"\n    {name} : " in text for name in model.get_params())
        fitted = [name for name in vars(model.fit(X)) if name.endswith("_") and not name.startswith("_")]
        assert all(name in text for name in fitted)


def test_weights_are_repetitions_and_weight_zero_is_absence(X, rng):
    counts = rng.integers(0, 4, len(X))
    repeated = cl.DPMeans(60.0, random_state=0).fit(np.repeat(X, counts, axis=0))
    weighted = cl.DPMeans(60.0, random_state=0).fit(X, sample_weight=counts)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, counts), repeated.labels_)
    np.testing.assert_array_equal(weighted.labels_, weighted.predict(X))


def test_units_and_origin_make_no_difference(X):
    one = cl.DPMeans(50.0, random_state=0).fit(X)
    other = cl.DPMeans(50.0 * 1e-6, random_state=0).fit(1e-3 * X + 1e4)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert other.objective_ == pytest.approx(1e-6 * one.objective_, rel=1e-6)
    np.testing.assert_allclose(other.cluster_centers_, 1e-3 * one.cluster_centers_ + 1e4, rtol=1e-12)
    suggested = cl.DPMeans(random_state=0).fit(1e3 * X)
    assert suggested.penalty_ == pytest.approx(1e6 * cl.DPMeans(random_state=0).fit(X).penalty_, rel=1e-9)


def test_kept_counts_move_the_border_towards_the_small_cluster():
    X = np.concatenate([np.linspace(0, 5, 60), np.linspace(5.5, 7.5, 6)])[:, None]
    plain = cl.DPMeans(n_clusters=2, random_state=0).fit(X)
    counted = cl.DPMeans(n_clusters=2, keep_counts=3.0, random_state=0).fit(X)
    assert counted.count_weight_ == 3.0
    assert np.bincount(counted.labels_).max() > np.bincount(plain.labels_).max()
    np.testing.assert_array_equal(counted.predict(X), counted.labels_)
    assert cl.DPMeans(n_clusters=2, keep_counts=True, random_state=0).fit(X).count_weight_ == pytest.approx(
        2 * (plain.objective_ - 2 * plain.penalty_) / len(X), rel=1e-9
    )


def test_a_family_gives_its_divergence_in_the_users_units(rng):
    X = rng.poisson(np.repeat([[2.0, 30.0], [25.0, 3.0]], 30, axis=0)).astype(float)
    model = cl.DPMeans(divergence="poisson", random_state=0).fit(X)
    assert model.n_clusters_ == 2
    np.testing.assert_allclose(model.cluster_centers_[0], X[model.labels_ == 0].mean(axis=0))
    row, mean = np.array([[5.0, 20.0]]), model.cluster_centers_[0]
    assert model.transform(row)[0, 0] == pytest.approx((row * np.log(row / mean) - row + mean).sum())
    with pytest.raises(ValueError, match="counts of at least 0"):
        model.predict(-row)


MISTAKES = {
    "both": ({"penalty": 1.0, "n_clusters": 2}, "^penalty and n_clusters are both given; leave one of them as None$"),
    "penalty": ({"penalty": 0}, "^penalty must be one finite number above 0, got 0$"),
    "number": ({"n_clusters": 2.5}, "^n_clusters must be a whole number of at least 1, got 2.5$"),
    "too many": ({"n_clusters": 99}, "^n_clusters is 99, but X has 75 different rows"),
    "divergence": ({"divergence": "cosine"}, "^divergence: 'cosine' is not known; choose one of .*'squared'"),
    "counts": ({"keep_counts": -1}, "^keep_counts must be one finite number above 0, True or False, got -1$"),
    "restarts": ({"restarts": 0}, "^restarts must be a whole number of at least 1, got 0$"),
    "threads": ({"n_threads": 0}, "^n_threads must be a whole number of at least 1, got 0$"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name, X):
    settings, message = MISTAKES[name]
    with pytest.raises(ValueError, match=message):
        cl.DPMeans(**settings).fit(X)


@pytest.mark.parametrize("weights", [[1.0], [-1.0] * 75, [0.0] * 75, [np.nan] * 75, ["a"] * 75])
def test_mistakes_in_weights(weights, X):
    with pytest.raises(ValueError, match=r"^sample_weight must"):
        cl.DPMeans().fit(X, sample_weight=weights)


# --- Partitional ---------------------------------------------------------------------------------------------------


def test_kmeans_is_scikit_learns(X):
    model = cl.Partitional(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, cl.DPMeans(n_clusters=3, random_state=0).fit(X).labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.medoid_indices_ is None


@needs_kmedoids
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed", "asymmetric"])
def test_kmedoids_finds_the_best_medoids(metric, rng):
    X = rng.normal(size=(9, 2))
    matrix = (
        rng.random((9, 9)) if metric == "asymmetric" else cdist(X, X, "cityblock" if metric != "euclidean" else metric)
    )
    np.fill_diagonal(matrix, 0.0)
    given = metric in ("euclidean", "cityblock")
    model = cl.Partitional(3, method="kmedoids", metric=metric if given else "precomputed", random_state=0)
    model.fit(X if given else matrix)
    best = min(matrix[:, list(chosen)].min(axis=1).sum() for chosen in combinations(range(9), 3))
    assert model.objective_ == pytest.approx(best)
    assert model.n_clusters_ == 3
    assert model.labels_[0] == 0
    np.testing.assert_array_equal(model.labels_[model.medoid_indices_], np.arange(3))
    np.testing.assert_array_equal(model.predict(X if given else matrix), model.labels_)


def test_mistakes_of_partitional(X, monkeypatch):
    with pytest.raises(ValueError, match=r"^method: 'pam' is not known; choose one of 'kmeans', 'kmedoids'$"):
        cl.Partitional(2, method="pam").fit(X)
    with pytest.raises(ValueError, match=r"^metric: K-means takes 'euclidean' only, got 'cityblock'"):
        cl.Partitional(2, metric="cityblock").fit(X)
    with pytest.raises(ValueError, match=r"^n_clusters is 99, but X has 75 rows; ask for at most 75$"):
        cl.Partitional(99).fit(X)
    monkeypatch.setitem(sys.modules, "kmedoids", None)
    with pytest.raises(
        ImportError, match=r"needs the package kmedoids; install it with pip install countless\[medoids\]$"
    ):
        cl.Partitional(2, method="kmedoids").fit(X)


@needs_kmedoids
def test_mistakes_of_kmedoids(X):
    with pytest.raises(ValueError, match=r"^metric: 'warp' is not known; choose 'precomputed' or a metric of scipy"):
        cl.Partitional(2, method="kmedoids", metric="warp").fit(X)
    with pytest.raises(ValueError, match=r"^X must be a square matrix for metric='precomputed', got shape \(75, 2\)$"):
        cl.Partitional(2, method="kmedoids", metric="precomputed").fit(X)
