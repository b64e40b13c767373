"""The ten studies of Pletscher 2007: the printed settings, and the distributions of the rows."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl
from countless.datasets import PLETSCHER, make_pletscher

GAUSSIAN = [name for name, study in PLETSCHER.items() if study.kind == "gaussian"]
MULTINOMIAL = [name for name, study in PLETSCHER.items() if study.kind == "multinomial"]

# Dimension, clusters and alpha as printed in tables 4.1 to 4.10.
PRINTED = {
    "zurich": (2, 3, 0.2),
    "berne": (2, 7, 0.2),
    "london": (8, 5, 0.2),
    "delhi": (2, 3, 0.2),
    "rome": (12, 15, 1.0),
    "boston": (4, 3, 0.2),
    "toronto": (4, 7, 0.8),
    "new_york": (10, 5, 0.4),
    "los_angeles": (4, 3, 0.2),
    "san_francisco": (20, 12, 2.0),
}


@pytest.mark.parametrize("name", PRINTED)
def test_settings_are_those_printed(name):
    columns, clusters, concentration = PRINTED[name]
    sample = make_pletscher(name, n=400, random_state=0)
    assert sample.X.shape == (400, columns)
    assert sample.labels.max() + 1 <= clusters
    assert sample.prior == cl.priors.CRP(concentration)
    sample.family.check(sample.X)
    assert np.isfinite(sample.family.log_marginal(sample.X[:10]))


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_rows_have_the_variance_asked_for(name):
    sample = make_pletscher(name, n=4000, sigma2=0.3, random_state=1)
    residuals = np.concatenate([_centred(sample.X[sample.labels == k]) for k in np.unique(sample.labels)])
    freedom = residuals.size - residuals.shape[1] * len(np.unique(sample.labels))
    # A chi-square over its degrees of freedom has relative standard deviation sqrt(2 / freedom).
    assert (residuals**2).sum() / freedom == pytest.approx(0.3, rel=4.5 * np.sqrt(2.0 / freedom))


def test_cluster_means_have_variance_three():
    rng = np.random.default_rng(0)
    squares = []
    for _ in range(150):
        sample = make_pletscher("rome", n=200, sigma2=1e-6, configuration=None, random_state=rng)
        first = [np.argmax(sample.labels == k) for k in np.unique(sample.labels)]
        squares.append((sample.X[first] ** 2).mean())
    error = np.std(squares, ddof=1) / np.sqrt(len(squares))
    assert np.mean(squares) == pytest.approx(3.0, abs=4.5 * error)


@pytest.mark.parametrize("name", MULTINOMIAL)
def test_histograms_hold_fifteen_draws(name):
    sample = make_pletscher(name, n=60, random_state=2)
    np.testing.assert_array_equal(sample.X.sum(axis=1), 15.0)
    np.testing.assert_array_equal(sample.X, np.floor(sample.X))


@pytest.mark.parametrize("name", ["delhi", "los_angeles"])
@pytest.mark.parametrize("configuration", [1, 2])
def test_unbalanced_studies_have_the_printed_weights(name, configuration):
    n = 20_000
    sample = make_pletscher(name, n=n, configuration=configuration, random_state=3)
    weights = np.sort(PLETSCHER[name].weights[configuration - 1])
    weights = weights / weights.sum()
    seen = np.sort(np.bincount(sample.labels, minlength=3)) / n
    np.testing.assert_array_less(np.abs(seen - weights), 4.5 * np.sqrt(weights * (1 - weights) / n))


def test_balanced_studies_are_balanced():
    shares = [
        np.bincount(make_pletscher("berne", 2000, configuration=None, random_state=seed).labels, minlength=7) / 2000
        for seed in range(60)
    ]
    # Dirichlet(50 x 7), then 2000 draws: variance p (1 - p) (1 / 351 + (1 - 1/351) / 2000), p = 1/7.
    expected = 6.0 / 49.0 * (1 / 351 + 350 / 351 / 2000)
    assert np.mean((np.array(shares) - 1 / 7) ** 2) == pytest.approx(expected, rel=4.5 * np.sqrt(2.0 / (60 * 6)))


@pytest.mark.parametrize("name", PRINTED)
def test_a_configuration_fixes_the_clusters_and_not_the_rows(name):
    one, two = (make_pletscher(name, 3000, configuration=2, random_state=seed) for seed in (0, 1))
    again = make_pletscher(name, 3000, configuration=2, random_state=0)
    np.testing.assert_array_equal(one.X, again.X)
    assert not np.array_equal(one.X, two.X)
    for k in np.flatnonzero(np.bincount(one.labels) > 100):
        centre = one.X[one.labels == k].mean(axis=0)
        others = [two.X[two.labels == j].mean(axis=0) for j in np.unique(two.labels)]
        spread = one.X[one.labels == k].std(axis=0).max()
        assert min(np.abs(centre - other).max() for other in others) < 0.6 * spread


@pytest.mark.parametrize("name", ["zurich", "boston"])
def test_the_second_configuration_is_harder(name):
    def gap(configuration):
        sample = make_pletscher(name, 3000, configuration=configuration, random_state=0)
        centres = np.array([sample.X[sample.labels == k].mean(axis=0) for k in range(3)])
        return min(np.linalg.norm(centres[i] - centres[j]) for i, j in ((0, 1), (0, 2), (1, 2)))

    assert gap(2) < 0.7 * gap(1)


def test_mistakes_are_one_sentence():
    with pytest.raises(ValueError, match="'basel' is not known; choose one of 'berne', 'boston'"):
        make_pletscher("basel")
    with pytest.raises(ValueError, match="sigma2: 'boston' holds histograms"):
        make_pletscher("boston", sigma2=0.1)
    with pytest.raises(ValueError, match="sigma2 must be a positive number, got -1"):
        make_pletscher("zurich", sigma2=-1.0)
    with pytest.raises(ValueError, match="configuration must be 1"):
        make_pletscher("zurich", configuration=3)


def _centred(rows):
    return rows - rows.mean(axis=0)
