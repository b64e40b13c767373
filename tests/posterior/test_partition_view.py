"""The view of one partition, on labels written by hand or simulated: against enumeration and direct counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from countless.chains import draws as chain_draws
from countless.core.validate import by_first_appearance
from countless.posterior.partition import view
from countless.posterior.partition.chain_distance import chain_distance
from countless.posterior.partition.draws import cluster_counts
from countless.posterior.partition.view import PartitionDraws

from .chains import independent_labels
from .problems import EVERY, KINDS, exact_losses, problem

BY_HAND = np.array(
    [
        [[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]],
        [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 2, 3, 4]],
    ]
)


@pytest.fixture
def by_hand():
    return PartitionDraws(BY_HAND)


def test_counts_by_hand(by_hand):
    assert (by_hand.n_draws, by_hand.n_items) == (6, 5)
    assert by_hand.n_clusters_pmf() == {1: 1 / 6, 2: 4 / 6, 5: 1 / 6}
    shares, largest = by_hand.entropy_and_largest()
    assert shares.shape == (2, 3)
    expected = [[entropy(np.bincount(draw)) for draw in chain] for chain in BY_HAND]
    np.testing.assert_allclose(shares, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(largest, [[0.6, 0.6, 0.6], [0.6, 1.0, 0.2]])
    assert not np.signbit(shares[1, 1])


def test_clusters_are_counted_in_blocks_and_by_their_rows(rng, monkeypatch):
    labels = 2 * rng.integers(4, size=(2, 30, 9))  # no item has an odd label
    expected = [[len(np.unique(draw)) for draw in chain] for chain in labels]
    whole = PartitionDraws(labels).entropy_and_largest()
    monkeypatch.setattr(chain_draws, "BLOCK", 40)
    np.testing.assert_array_equal(cluster_counts(labels), expected)
    np.testing.assert_array_equal(PartitionDraws(labels).entropy_and_largest(), whole)


def test_draws_are_thinned_evenly_over_all_chains(by_hand):
    np.testing.assert_array_equal(by_hand.flat_labels(), BY_HAND.reshape(6, 5))
    assert by_hand.spaced(2).tolist() == [0, 5]
    assert by_hand.spaced(100).tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(by_hand.flat_labels(2), BY_HAND[[0, 1], [0, 2]])


def test_similarity_by_hand(by_hand):
    flat = BY_HAND.reshape(6, 5)
    expected = np.mean(flat[:, :, None] == flat[:, None, :], axis=0)
    np.testing.assert_allclose(by_hand.similarity(), expected, rtol=1e-15)
    np.testing.assert_allclose(by_hand.similarity([-1], [0, 2]), expected[[[-1]], [0, 2]], rtol=1e-15)
    np.testing.assert_allclose(by_hand.similarity(np.arange(5) < 2), expected[:2, :2], rtol=1e-15)
    np.testing.assert_allclose(by_hand.similarity(at_most=1), flat[0][:, None] == flat[0], rtol=1e-15)
    sparse = by_hand.similarity(sparse=True, threshold=0.6).toarray()
    np.testing.assert_allclose(sparse, np.where(expected >= 0.6, expected, 0.0), rtol=1e-6)
    items, matrix = by_hand.sampled_similarity(3, random_state=4)
    assert items.tolist() == sorted(set(items.tolist()))
    np.testing.assert_allclose(matrix, expected[np.ix_(items, items)], rtol=1e-15)
    assert by_hand.sampled_similarity()[0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("loss", ["vi", "binder", "omari"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_consensus_is_the_best_of_all_partitions(kind, loss):
    labels = problem(kind, 0)
    found = by_first_appearance(PartitionDraws(labels[None]).consensus(loss, max_clusters=0, settle=False))
    losses = exact_losses(loss, labels)
    best = losses[[tuple(each) for each in EVERY.tolist()].index(tuple(found.tolist()))]
    assert best <= losses.min() + 1e-5


def test_the_consensus_has_no_more_clusters_than_allowed():
    labels = problem("five draws at random", 1)
    assert PartitionDraws(labels[None]).consensus("binder", max_clusters=2).max() < 2


def test_ball_and_certainty_start_from_the_consensus(by_hand):
    assert by_hand.consensus().tolist() == [0, 0, 0, 1, 1]
    ball = by_hand.credible_ball(0.5)
    assert ball.center.tolist() == [0, 0, 0, 1, 1]
    assert (ball.radius, ball.probability) == (0.0, 0.5)
    everything = by_hand.credible_ball(1.0, labels=[7, 7, 7, 7, 7])
    assert everything.radius == pytest.approx(np.log(5))
    sure = by_hand.certainty()
    # Item 4: alone with item 3 in three draws, with 2 and 3 in one, with everybody in one, and single in one.
    assert sure.probability[4] == pytest.approx((1 + 0.5 + 1 + 1 + 0.25 + 0) / 6)
    assert sure.runner_up.tolist() == [1, 1, 1, 0, 0]
    np.testing.assert_array_equal(by_hand.certainty([5, 5, 5, 2, 2]).probability, sure.probability)


def test_distance_is_that_of_the_chains(rng):
    labels = independent_labels(rng, 3, 40, 12)
    assert PartitionDraws(labels).distance().largest == chain_distance(labels).largest
    assert len(PartitionDraws(labels).distance(most_items=5).rows) == 5


def test_what_does_not_fit_is_said_in_one_sentence(by_hand, monkeypatch):
    monkeypatch.setattr(view, "MOST_ITEMS", 4)
    rows = PartitionDraws(BY_HAND, item="row")
    with pytest.raises(ValueError, match=r"^similarity: 5 items by 5 .* rows=.*sampled_similarity\(\).*sparse=True"):
        by_hand.similarity()
    with pytest.raises(ValueError, match=r"^similarity: 5 rows by 5 "):
        rows.similarity()
    with pytest.raises(ValueError, match=r"^sparse: sparse=True lists the pairs of all items"):
        by_hand.similarity([0], sparse=True)
    for threshold in (0.0, 2.0):
        with pytest.raises(ValueError, match=r"^threshold must be above 0 and at most 1, got "):
            by_hand.similarity(sparse=True, threshold=threshold)
    for items in ([0.5], [], ["a"], [[1]], [True]):
        with pytest.raises(ValueError, match=r"^rows must hold item numbers, or True and False for 5 items, got "):
            by_hand.similarity(items)
    with pytest.raises(ValueError, match=r"^rows must hold row numbers, or True and False for 5 rows, got "):
        rows.similarity([])
    with pytest.raises(ValueError, match=r"^columns must be between 0 and 4, got 5"):
        by_hand.similarity([0], [0, 5])
    with pytest.raises(ValueError, match=r"^n_rows must be a whole number of at least 1, got 0"):
        by_hand.sampled_similarity(0)
    with pytest.raises(ValueError, match=r"^loss: 'omari' is not known; choose one of 'binder', 'vi'"):
        by_hand.credible_ball(loss="omari")
    with pytest.raises(ValueError, match=r"^distance: needs at least 2 chains of at least 2 draws, got 1 of 6"):
        PartitionDraws(BY_HAND.reshape(1, 6, 5)).distance()
    for labels in (BY_HAND[0], BY_HAND + 0.5, BY_HAND[:0]):
        with pytest.raises(ValueError, match=r"^labels must be whole numbers \(chain, draw, item\), at least"):
            PartitionDraws(labels)
