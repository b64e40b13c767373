"""Rows that waver go home: the rule row by row against its definition, and draws made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from countless.posterior.partition import settle as home
from countless.posterior.partition.certainty import row_certainty
from countless.posterior.partition.consensus import consensus
from countless.posterior.partition.settle import Table, settle

from .problems import KINDS, problem


def together(labels, draws, k):
    """Share of the draws in which two rows of a cluster are together, pair by pair; or in which its row is alone."""
    rows = np.flatnonzero(labels == k)
    if len(rows) == 1:
        return np.mean([np.count_nonzero(draw == draw[rows[0]]) == 1 for draw in draws])
    return np.mean([draws[:, i] == draws[:, j] for i in rows for j in rows if i != j])


def shares(i, labels, draws):
    """Probability that a companion of row ``i`` belongs to each cluster."""
    found = np.zeros(labels.max() + 1)
    for draw in draws:
        companions = [j for j in np.flatnonzero(draw == draw[i]) if j != i]
        for j in companions:
            found[labels[j]] += 1 / len(companions) / len(draws)
    return found


def wavering(n_each=10, n_draws=100, share=0.4, alone=0.1):
    """Draws of two clusters and a last row that is alone, in the first, or in the second."""
    draws = np.tile(np.repeat([0, 1, 2], [n_each, n_each, 1]), (n_draws, 1))
    first, apart = round(share * n_draws), round(alone * n_draws)
    draws[: n_draws - apart, -1] = 1
    draws[:first, -1] = 0
    return draws


@pytest.mark.parametrize("kind", KINDS)
def test_no_unsettled_cluster_has_a_row_that_is_more_probable_elsewhere(kind):
    for number in range(20):
        draws = problem(kind, number)
        labels = settle(consensus(draws, max_clusters=0, settle=False), draws)
        for k in range(labels.max() + 1):
            if together(labels, draws, k) < 0.5 - 1e-12:
                for i in np.flatnonzero(labels == k):
                    of = shares(i, labels, draws)
                    single = np.count_nonzero(labels == k) == 1
                    own = together(labels, draws, k) if single else of[k]
                    assert np.delete(of, k).max(initial=0.0) <= own + 1e-9


def test_the_table_is_the_definition(rng):
    draws = rng.integers(4, size=(30, 25))
    labels = np.concatenate([np.arange(6), rng.integers(5, size=19)])
    table = Table.of(labels, draws)
    for k in range(6):
        assert table.together(k) == pytest.approx(together(labels, draws, k), abs=1e-12)


def test_a_row_that_wavers_between_two_clusters_goes_to_the_likelier():
    draws = wavering(share=0.4, alone=0.1)
    plain = np.repeat([0, 1, 2], [10, 10, 1])
    np.testing.assert_array_equal(settle(plain, draws), np.repeat([0, 1], [10, 11]))
    np.testing.assert_array_equal(settle(plain, wavering(share=0.6, alone=0.1))[-1:], [0])
    # It is the least certain row, and the certainty names the other cluster.
    sure = row_certainty(consensus(draws), draws)
    assert sure.probability.argmin() == 20
    assert sure.probability[20] == pytest.approx(0.5)
    np.testing.assert_allclose(sure.runner_up_probability[20], 0.4)


def test_least_loss_alone_would_keep_it_apart():
    draws = wavering(share=0.4, alone=0.2)
    assert consensus(draws, settle=False).max() == 2
    assert consensus(draws).max() == 1


def test_a_row_that_is_mostly_alone_stays_alone():
    draws = wavering(share=0.1, alone=0.8)
    labels = np.repeat([0, 1, 2], [10, 10, 1])
    np.testing.assert_array_equal(settle(labels, draws), labels)
    np.testing.assert_array_equal(consensus(draws), labels)


def test_a_row_that_is_nowhere_more_than_alone_stays_alone():
    draws = wavering(share=0.3, alone=0.4)
    labels = np.repeat([0, 1, 2], [10, 10, 1])
    np.testing.assert_array_equal(settle(labels, draws), labels)


def test_a_pair_that_is_rarely_together_parts():
    # Rows 8 and 9 are together, and apart from all others, in four draws of ten; otherwise each has a home of its own.
    draws = np.array([[0, 0, 0, 0, 1, 1, 1, 1, 2, 2]] * 4 + [[0, 0, 0, 0, 1, 1, 1, 1, 0, 1]] * 6)
    assert settle(draws[0], draws).tolist() == draws[-1].tolist()
    assert settle(draws[0], draws[1:-3]).tolist() == draws[0].tolist()


def test_settled_clusters_are_left_alone(rng):
    truth = np.repeat(np.arange(4), 25)
    draws = np.where(rng.random((60, 100)) < 0.1, rng.integers(4, size=(60, 100)), truth)
    np.testing.assert_array_equal(settle(truth, draws), truth)


def test_names_and_types_of_labels_do_not_matter(rng):
    draws = problem("rows that waver", 4)
    labels = np.array([5, 5, 2, 9, 9, 9, 0])
    renamed = np.array([rng.permutation(7)[draw] for draw in draws], dtype=np.uint8)
    np.testing.assert_array_equal(settle(labels, draws), settle(labels.astype(np.int16), renamed))


def test_draws_are_thinned_to_what_fits(monkeypatch):
    draws = wavering(n_draws=1000)
    assert len(home._affordable(draws, 3)) == 1000
    monkeypatch.setattr(home, "MOST_LOOKED_AT", 21 * 400)
    assert len(home._affordable(draws, 3)) == 400
    monkeypatch.setattr(home, "MOST_LOOKED_AT", 0)
    assert len(home._affordable(draws, 3)) == home.FEWEST
    monkeypatch.setattr(home, "MOST_CELLS", 1)
    assert len(home._affordable(draws, 3)) == 1
