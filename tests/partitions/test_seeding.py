"""Seeds and sums: frequencies of draws against their probabilities, sums against NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import countless as cl
from countless.families.verbs import implements
from countless.partitions.seeding import Seeds, draw_index, draw_seeds, scatter_seeds, seed_losses
from countless.partitions.sums import add_by_label, add_known_by_label, row_statistics_of


class Distances(NamedTuple):
    """A matrix of losses: of each row (columns) under each seed."""

    matrix: Any


@implements(seed_losses, Distances)
def _seed_losses(source, i, out):
    for other in range(out.size):
        out[other] = source.matrix[i, other]


LINE = np.array([0.0, 1.0, 3.0, 7.0])
SQUARES = Distances((LINE[:, None] - LINE) ** 2)
WEIGHTS = np.array([1.0, 2.0, 0.0, 1.0])
N_DRAWS = 20_000


def _assert_frequencies(counts, probabilities):
    """Within five standard errors; what cannot happen never does."""
    error = np.sqrt(probabilities * (1 - probabilities) / counts.sum())
    assert np.all(np.abs(counts / counts.sum() - probabilities) <= 5 * error)


def test_indices_are_drawn_in_proportion(rng):
    shares = np.array([0.0, 1.0, 3.0, 0.0, 4.0, 0.0])
    drawn = [draw_index(rng, shares) for _ in range(N_DRAWS)]
    _assert_frequencies(np.bincount(drawn, minlength=6), shares / 8)
    before = rng.bit_generator.state
    assert draw_index(rng, np.zeros(3)) == -1
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("weights", [WEIGHTS, np.empty(0)])
@pytest.mark.parametrize("tries", [1, 2])
def test_pairs_of_seeds_have_the_probabilities_of_kmeans_plus_plus(weights, tries, rng):
    """The first by weight, the second by weight times loss; with two tries, the one that leaves the smaller total."""
    w = weights if weights.size else np.ones(4)
    matrix = SQUARES.matrix
    first = _best_of(w / w.sum(), matrix @ w, tries)
    expected = np.zeros((4, 4))
    for i in range(4):
        if first[i] > 0:
            shares = w * matrix[i]
            expected[i] = first[i] * _best_of(shares / shares.sum(), np.minimum(matrix[i], matrix) @ w, tries)
    counts = np.zeros((4, 4))
    for _ in range(N_DRAWS):
        seeds = Seeds.allocate(2, 4)
        assert scatter_seeds(SQUARES, rng, weights, tries, 0.0, seeds) == 2
        counts[tuple(seeds.rows)] += 1
    _assert_frequencies(counts, expected)
    np.testing.assert_array_equal(seeds.losses, matrix[seeds.rows].min(axis=0))
    np.testing.assert_array_equal(matrix[seeds.rows][seeds.labels, np.arange(4)], seeds.losses)


def _best_of(probabilities, totals, tries):
    """Law of the candidate with the smaller total, the earlier one where they are equal."""
    if tries == 1:
        return probabilities
    out = np.zeros(len(probabilities))
    for i, p in enumerate(probabilities):
        for j, q in enumerate(probabilities):
            out[j if totals[j] < totals[i] else i] += p * q
    return out


def test_equal_rows_end_the_search_or_are_drawn_again(rng):
    nothing = Distances(np.zeros((3, 3)))
    assert scatter_seeds(nothing, rng, np.empty(0), 1, 0.0, Seeds.allocate(3, 3)) == 1
    seeds = Seeds.allocate(3, 3)
    assert scatter_seeds(nothing, rng, np.empty(0), 1, -1.0, seeds) == 3
    np.testing.assert_array_equal(seeds.labels[seeds.rows[-1]], 2)


def test_seeds_by_weight_alone(rng):
    counts = np.zeros(4)
    for _ in range(N_DRAWS // 4):
        seeds = Seeds.allocate(4, 4)
        draw_seeds(SQUARES, rng, WEIGHTS, seeds)
        counts += np.bincount(seeds.rows, minlength=4)
    _assert_frequencies(counts, WEIGHTS / 4)


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_by_label(weighted, rng):
    X = rng.standard_normal((50, 3))
    weights = rng.uniform(0.0, 2.0, 50) if weighted else np.empty(0)
    labels = rng.integers(-1, 4, 50)
    family = cl.families.Gaussian().resolve(X)
    hyper, width = family.prepare(), family.layout().statistics
    rows = family.arrange(X)
    each, sums, same = np.empty((50, width)), np.zeros((4, width)), np.zeros((4, width))
    row_statistics_of(hyper, rows, each)
    add_by_label(hyper, rows, weights, labels, sums, family.scratch())
    add_known_by_label(each, weights, labels, same)
    w = weights if weighted else np.ones(50)
    expected = np.stack([w[labels == k] @ each[labels == k] for k in range(4)])
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(same, sums, rtol=1e-13, atol=1e-13)
    assert each[:, 0] == pytest.approx(1.0)
    totals = [w[labels == k] @ X[labels == k] for k in range(4)]
    np.testing.assert_allclose(sums[:, 1:4], totals, rtol=1e-12, atol=1e-12)
