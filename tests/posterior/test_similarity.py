"""Co-clustering probabilities: whole, in part, sparse and sampled, against counts in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from countless.posterior.partition import similarity as partitions
from countless.posterior.partition import view
from countless.posterior.partition.similarity import similarity

from .problems import posterior


def together(labels):
    return np.mean(labels[:, :, None] == labels[:, None, :], axis=0)


@pytest.mark.parametrize("n_clusters", [3, 256, 300, 70_000])
@pytest.mark.parametrize("n_draws", [1, 254, 511])
def test_it_is_the_share_of_draws(n_clusters, n_draws, rng, monkeypatch):
    monkeypatch.setattr(partitions, "TILE", 16)
    labels = rng.integers(n_clusters, size=(n_draws, 43))
    labels[:, ::4] = labels[:, :1]
    expected = together(labels)
    np.testing.assert_allclose(similarity(labels), expected, rtol=0, atol=1e-15)
    some, others = np.array([3, 40, 3]), np.array([0, 1, 2, 41])
    np.testing.assert_allclose(similarity(labels, some), expected[np.ix_(some, some)], atol=1e-15)
    np.testing.assert_allclose(similarity(labels, some, others), expected[np.ix_(some, others)], atol=1e-15)


def test_all_draws_agree_on_more_than_a_byte_counts(rng):
    labels = np.repeat([[0, 0, 1]], 1_000, axis=0)
    np.testing.assert_array_equal(similarity(labels), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


def test_the_sparse_form_has_all_pairs_above_the_threshold(rng, monkeypatch):
    monkeypatch.setattr(partitions, "TILE", 16)
    labels = rng.integers(3, size=(20, 50))
    labels[:, ::5] = labels[:, :1]
    expected = together(labels)
    for threshold in (0.05, 0.4, 0.5, 1.0):
        found = posterior(labels).similarity(sparse=True, threshold=threshold)
        kept = np.where(expected >= threshold - 1e-12, expected, 0.0)
        assert found.nnz == np.count_nonzero(kept)
        np.testing.assert_allclose(found.toarray(), kept, rtol=0, atol=1e-7)
    monkeypatch.setattr(partitions, "MOST_ENTRIES", 60)
    with pytest.raises(ValueError, match=r"^threshold: more than 60 pairs have a similarity of 0.05 or more; raise it"):
        posterior(labels).similarity(sparse=True, threshold=0.05)


def test_large_matrices_are_in_single_precision(rng, monkeypatch):
    monkeypatch.setattr(partitions, "MOST_DOUBLE", 20)
    labels = rng.integers(3, size=(9, 21))
    assert similarity(labels[:, 1:]).dtype == np.float64
    assert similarity(labels).dtype == np.float32
    np.testing.assert_allclose(similarity(labels), together(labels), atol=1e-7)


def test_chosen_rows_sampled_rows_and_draws(rng):
    labels = rng.integers(3, size=(40, 30))
    known, expected = posterior(labels), together(labels)
    np.testing.assert_allclose(known.similarity(), expected, atol=1e-15)
    mask = np.arange(30) < 4
    np.testing.assert_allclose(known.similarity(mask), expected[:4, :4], atol=1e-15)
    np.testing.assert_allclose(known.similarity([-1], range(30)), expected[-1:], atol=1e-15)
    np.testing.assert_allclose(known.similarity(columns=[5]), expected[:, [5]], atol=1e-15)
    np.testing.assert_allclose(known.similarity(at_most=2), together(labels[[0, 39]]), atol=1e-15)
    rows, matrix = known.sampled_similarity(7, random_state=3)
    assert len(set(rows.tolist())) == 7
    np.testing.assert_allclose(matrix, expected[np.ix_(rows, rows)], atol=1e-15)
    np.testing.assert_array_equal(rows, known.sampled_similarity(7, random_state=3)[0])
    assert len(known.sampled_similarity()[0]) == 30


def test_what_does_not_fit_is_said_in_one_sentence(rng, monkeypatch):
    monkeypatch.setattr(view, "MOST_ITEMS", 20)
    known = posterior(rng.integers(3, size=(4, 30)))
    with pytest.raises(ValueError, match=r"^similarity: 30 rows by 30 .* rows=.*sampled_similarity\(\).*sparse=True"):
        known.similarity()
    assert known.similarity(range(20)).shape == (20, 20)
    assert known.similarity(range(10), range(30)).shape == (10, 30)
    with pytest.raises(ValueError, match=r"^sparse: "):
        known.similarity([0], sparse=True)
    for threshold in (0.0, 2.0):
        with pytest.raises(ValueError, match=r"^threshold must be above 0 and at most 1, got "):
            known.similarity(sparse=True, threshold=threshold)
    for rows in ([0.5], [], ["a"], [[1]], [True]):
        with pytest.raises(ValueError, match=r"^rows must hold row numbers, or True and False for 30 rows, got "):
            known.similarity(rows)
    with pytest.raises(ValueError, match=r"^columns must be between 0 and 29, got 30"):
        known.similarity([0], [0, 30])
