"""The splitting criterion fails as Pletscher 2007, figure 4.1, shows, where the comparison of whole models works."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import countless as cl
from countless.experiments import split_by_criterion

FAMILY = cl.families.SphericalGaussian(variance=1.0, mean=[0.0, 0.0], mean_variance=9.0)


def _pair(n, gap, seed):
    """Two round clusters of unit variance whose centres are ``gap`` apart."""
    rng = np.random.default_rng([41, seed])
    groups = rng.integers(0, 2, n)
    return rng.standard_normal((n, 2)) + np.outer(groups - 0.5, [gap, 0.0]), groups


def test_clusters_far_apart_are_found():
    rows, groups = _pair(200, 12.0, 0)
    found = split_by_criterion(rows, FAMILY)
    assert found.converged
    assert found.n_clusters == 2
    assert cl.metrics.rand_index(found.labels, groups) == 1.0


@pytest.mark.parametrize("n", [50, 500])
def test_clusters_that_overlap_are_never_separated_by_bic(n):
    for seed in range(5):
        rows, _ = _pair(n, 3.0, seed)
        assert split_by_criterion(rows, FAMILY, "bic").n_clusters == 1
        search = cl.MixtureSearch(FAMILY, n_components=range(1, 5), restarts=2, random_state=0).fit(rows)
        assert search.n_clusters_ == 2


def test_more_data_make_bic_worse():
    """Shares of successes among 60 data sets of 50 and of 2000 rows, by Fisher's exact test."""
    found = [
        sum(split_by_criterion(_pair(n, 4.0, s)[0], FAMILY).n_clusters == 2 for s in range(60)) for n in (50, 2000)
    ]
    table = [[count, 60 - count] for count in found]
    assert stats.fisher_exact(table, alternative="greater").pvalue < 0.01


def test_aic_keeps_clusters_that_single_rows_opened():
    wrong = [split_by_criterion(_pair(2000, 4.0, seed)[0], FAMILY, "aic").n_clusters > 2 for seed in range(10)]
    assert sum(wrong) >= 5


def test_the_first_decision_by_hand():
    """One row far from 20 others: it leaves if twice its gain exceeds the penalty of a component and a weight."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20, 1)) * 0.1
    family = cl.families.SphericalGaussian(variance=1.0, mean=[0.0], mean_variance=1e6)
    for distance in np.arange(2.0, 7.0, 0.25):
        X = np.vstack([rows, [[distance]]])
        n = len(X)
        mixed = stats.norm.logpdf(distance, rows.mean(), 1.0)
        larger = np.logaddexp(mixed + np.log((n - 1) / n), stats.norm.logpdf(0.0) - np.log(n))
        for criterion, penalty in (("aic", 2 * 2), ("bic", 2 * np.log(n))):
            margin = 2 * (larger - mixed) - penalty
            if abs(margin) > 0.05:
                assert (split_by_criterion(X, family, criterion).n_clusters == 2) == (margin > 0)


def test_any_family():
    counts = np.random.default_rng(2).poisson(np.repeat([[2.0, 60.0], [60.0, 2.0]], 30, axis=0))
    assert split_by_criterion(counts, "poisson").n_clusters == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"criterion": "icl"}, r"^criterion: 'icl' is not known; choose one of 'aic', 'bic'$"),
        ({"max_sweeps": 0}, r"^max_sweeps must be a whole number of at least 1, got 0$"),
    ],
)
def test_mistakes(options, words):
    with pytest.raises(ValueError, match=words):
        split_by_criterion([[0.0], [1.0]], **options)
