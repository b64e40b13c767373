"""MixtureSearch: scores against their formulas, the settings of Pletscher 2007, threads and mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl
from estimators.cases import two_groups


@pytest.mark.parametrize("name", ["zurich", "berne", "london"])
def test_bic_finds_the_number_of_clusters_of_the_thesis(name):
    """Shortened: three repetitions of the easier configuration; benchmarks/mixture_search.py makes ten."""
    expected = cl.datasets.PLETSCHER[name].n_clusters
    for seed in range(3):
        sample = cl.datasets.make_pletscher(name, n=500, random_state=seed)
        search = cl.MixtureSearch(sample.family, restarts=3, random_state=seed).fit(sample.X)
        assert search.n_clusters_ == expected
        assert cl.metrics.rand_index(search.labels_, sample.labels) > 0.97


@pytest.mark.parametrize(("family", "each"), [("gaussian", 5), ("diagonal-gaussian", 4), ("poisson", 2)])
def test_scores_by_hand(family, each):
    X = two_groups("poisson", 40) if family == "poisson" else two_groups("gaussian", 40)
    search = cl.MixtureSearch(family, n_components=[3, 1, 2], random_state=0).fit(X)
    table = search.scores_
    assert table["n_components"].tolist() == [1, 2, 3]
    assert table["n_parameters"].tolist() == [k * each + k - 1 for k in (1, 2, 3)]
    np.testing.assert_allclose(table["aic"], -2 * table["log_likelihood"] + 2 * table["n_parameters"])
    np.testing.assert_allclose(table["bic"], -2 * table["log_likelihood"] + np.log(80) * table["n_parameters"])
    assert search.n_clusters_ == 2
    best = search.best_estimator_
    assert best.bic(X) == pytest.approx(table["bic"].min(), rel=1e-9)
    p = best.predict_proba(X)
    entropy = -np.sum(p * np.log(np.maximum(p, 1e-300)))
    assert best.icl(X) == pytest.approx(best.bic(X) + 2 * entropy, rel=1e-12)
    assert table["icl"][1] == pytest.approx(best.icl(X), rel=1e-9)
    assert np.all(np.diff(table["log_likelihood"]) > -1e-6)
    assert search.frame_.shape == (3, 9)
    assert search.frame_["bic"].idxmin() == 1


def test_the_search_is_as_good_as_a_single_fit():
    X = two_groups("gaussian", 40)
    search = cl.MixtureSearch("gaussian", n_components=[2], random_state=3).fit(X)
    single = cl.FiniteMixture(2, "gaussian", random_state=3).fit(X)
    assert search.best_estimator_.log_likelihood_ == single.log_likelihood_
    for method in ("predict", "predict_proba", "score_samples", "score"):
        np.testing.assert_array_equal(getattr(search, method)(X), getattr(single, method)(X))
    np.testing.assert_array_equal(search.sample(5)[0], single.sample(5)[0])
    assert search.best_estimator_.get_params()["random_state"] == 3


def test_criteria_differ_where_clusters_overlap():
    """Two clusters three deviations apart: ICL asks for more distance than BIC."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)) + np.outer(np.arange(400) % 2, [3.0, 0.0])
    family = cl.families.SphericalGaussian(variance=1.0)
    found = {
        name: cl.MixtureSearch(family, name, range(1, 5), restarts=3, random_state=0).fit(X).n_clusters_
        for name in ("aic", "bic", "icl")
    }
    assert found["bic"] == 2
    assert found["icl"] <= found["bic"] <= found["aic"]


def test_nothing_depends_on_the_threads():
    X = two_groups("multinomial", 30)
    one, three = (
        cl.MixtureSearch("multinomial", n_components=range(1, 5), n_threads=n, random_state=1).fit(X) for n in (1, 3)
    )
    for name, column in one.scores_.items():
        np.testing.assert_array_equal(column, three.scores_[name])
    np.testing.assert_array_equal(one.labels_, three.labels_)


def test_a_collapsed_mixture_is_not_chosen():
    """Equal rows beside a cloud: two components have a likelihood as large as the floor allows."""
    rng = np.random.default_rng(1)
    X = np.vstack([np.full((15, 2), 6.0), rng.standard_normal((60, 2))])
    search = cl.MixtureSearch("gaussian", n_components=[1, 2], random_state=0).fit(X)
    assert search.scores_["singular"].tolist() == [False, True]
    assert search.scores_["bic"][1] < search.scores_["bic"][0]
    assert search.n_clusters_ == 1


def test_numbers_above_the_rows_are_left_out():
    X = two_groups("spherical-gaussian", 2)
    search = cl.MixtureSearch("spherical-gaussian", method="map", random_state=0).fit(X)
    assert search.scores_["n_components"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"criterion": "dic"}, r"^criterion: 'dic' is not known; choose one of 'aic', 'bic', 'icl'$"),
        ({"method": "gibbs"}, r"^method: 'gibbs' is not known; choose one of 'em', 'map'$"),
        ({"n_components": 3.5}, r"^n_components must be a list of whole numbers or a range, got 3\.5$"),
        ({"n_components": "all"}, r"^n_components must be a list of whole numbers or a range, got 'all'$"),
        ({"n_components": [0, 1]}, r"^n_components must be a whole number of at least 1, got 0$"),
        ({"n_components": [90]}, r"^n_components must include a number of at most n_samples=16, got \[90\]$"),
        ({"n_components": []}, r"^n_components must include a number of at most n_samples=16, got \[\]$"),
    ],
)
def test_mistakes_of_settings(options, words):
    with pytest.raises(ValueError, match=words):
        cl.MixtureSearch(**options).fit(two_groups("gaussian"))
