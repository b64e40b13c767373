"""Certainty of rows against its definition, companion by companion."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl
from countless.posterior.partition import certainty
from countless.posterior.partition.certainty import row_certainty

from .problems import draws_of_seven, posterior


def oracle(labels, draws):
    """Probability of each cluster for each row, and of being alone."""
    n, n_clusters = len(labels), max(labels) + 1
    shares, alone = np.zeros((n, n_clusters)), np.zeros(n)
    for draw in draws:
        for i in range(n):
            companions = [j for j in range(n) if j != i and draw[j] == draw[i]]
            alone[i] += not companions
            for j in companions:
                shares[i, labels[j]] += 1 / len(companions)
    return shares / len(draws), alone / len(draws)


@pytest.mark.parametrize("n_clusters", [1, 3, 7, 12])
def test_it_is_the_mean_share_of_companions(n_clusters, rng):
    labels = np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=20)])
    truth = np.repeat(labels[None], 30, axis=0)
    draws = np.where(rng.random(truth.shape) < 0.3, rng.integers(n_clusters + 2, size=truth.shape), truth)
    shares, alone = oracle(labels, draws)
    sure = row_certainty(labels, draws)
    rows = np.arange(len(labels))
    single = np.bincount(labels)[labels] == 1
    np.testing.assert_allclose(sure.probability, np.where(single, alone, shares[rows, labels]), atol=1e-12)
    shares[rows, labels] = 0.0
    np.testing.assert_allclose(sure.runner_up_probability, shares.max(axis=1), atol=1e-12)
    has_one = shares.max(axis=1) > 0
    np.testing.assert_allclose(shares[rows, sure.runner_up][has_one], shares.max(axis=1)[has_one], atol=1e-12)
    assert (sure.runner_up[~has_one] == -1).all()
    assert (sure.probability + sure.runner_up_probability <= 1.0 + 1e-12).all()


def test_a_row_that_is_alone_in_the_labelling():
    draws = np.array([[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    sure = row_certainty([0, 0, 0, 1], draws)
    assert sure.probability.tolist() == pytest.approx([11 / 12] * 3 + [0.75])
    assert sure.runner_up.tolist() == [1, 1, 1, 0]
    assert sure.runner_up_probability.tolist() == pytest.approx([1 / 12] * 3 + [0.25])


def test_names_in_draws_do_not_matter(rng):
    draws = draws_of_seven("a noisy partition", rng)
    renamed = np.array([rng.permutation(7)[draw] for draw in draws])
    for one, other in zip(row_certainty(draws[0], draws), row_certainty(draws[0], renamed), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_a_single_partition_is_sure_of_itself():
    sure = posterior(np.array([[0, 0, 1, 1, 2, 0]])).certainty()
    assert (sure.probability == 1.0).all()
    assert (sure.runner_up == -1).all()
    assert (sure.runner_up_probability == 0.0).all()


def test_rows_in_blocks_and_draws_that_are_thinned(rng, monkeypatch):
    labels = rng.integers(4, size=50)
    draws = np.where(rng.random((40, 50)) < 0.2, rng.integers(5, size=(40, 50)), labels).astype(np.uint8)
    whole = row_certainty(labels, draws)
    monkeypatch.setattr(certainty, "BLOCK", 7)
    for one, other in zip(whole, row_certainty(labels, draws), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(row_certainty(labels, draws[::39]), row_certainty(labels, draws, at_most=2), strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(certainty, "MOST_CELLS", 1)
    for one, other in zip(row_certainty(labels, draws[:1]), row_certainty(labels, draws), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")  # short chains, on purpose
def test_of_a_fit():
    X = np.asarray(cl.datasets.load_faithful())
    model = cl.DPMixture(inference=cl.inference.CollapsedGibbs(2, draws=50, warmup=50), random_state=0).fit(X)
    sure = model.posterior_.certainty()
    again = model.posterior_.certainty(model.labels_)
    np.testing.assert_array_equal(sure.probability, again.probability)
    # Rows between the two groups are the least sure.
    assert abs(X[sure.probability.argmin(), 0] - 3.0) < 0.6
    assert np.median(sure.probability) > 0.9


def test_labels_are_checked(rng):
    with pytest.raises(ValueError, match=r"^labels must hold 7 labels, one per row, got shape \(2,\)"):
        row_certainty([0, 1], draws_of_seven("a noisy partition", rng))


def test_the_runner_up_is_named_as_in_the_labels():
    draws = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
    assert row_certainty([1, 1, 1, 0, 0], draws).runner_up.tolist() == [-1, -1, 0, 1, 1]
    assert row_certainty([7, 7, 7, 3, 3], draws).runner_up.tolist() == [-1, -1, 3, 7, 7]
    assert row_certainty(list("bbbaa"), draws).runner_up.tolist() == [-1, -1, 1, 0, 0]
