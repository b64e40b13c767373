"""One solution of many draws: by expected loss against every solution there is, and as the thesis has it."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from countless.models.attributes.aggregate.average import average, calibrated, collapse, common_form
from countless.models.attributes.aggregate.classes import refines, representative
from countless.models.attributes.aggregate.loss import expected_loss, least_expected_loss, similarities
from countless.models.attributes.kernels.polya_gamma import polya_gamma
from countless.models.attributes.posterior import Solution
from countless.models.attributes.state import decode, encode

from .oracles import all_attributes


def _random(rng, n=6, most=4):
    labels = np.array([rng.integers(-1, 3, size=n) for _ in range(rng.integers(1, most + 1))])
    lines = [np.where(line < 0, -1, np.unique(line, return_inverse=True)[1] - (line < 0).any()) for line in labels]
    lines = [line for line in lines if (line >= 0).any()] or [np.zeros(n, dtype=np.int64)]
    weights = []
    for line in lines:
        square = rng.normal(size=(line.max() + 1,) * 2)
        weights.append(square + square.T)
    return Solution(np.array(lines), weights, float(rng.normal()), 1.0)


def test_the_search_finds_the_least_loss(rng):
    """Of all solutions of three objects with up to two attributes."""
    kinds = [np.array(kind) for kind in all_attributes(3) if sum(label >= 0 for label in kind) > 1]
    every = [np.array(state).reshape(-1, 3) for k in range(3) for state in combinations_with_replacement(kinds, k)]
    for _ in range(10):
        draws = [every[int(at)] for at in rng.integers(len(every), size=7)]
        means = similarities(draws, 3)
        least = min(expected_loss(each, means) for each in every)
        assert expected_loss(least_expected_loss(draws), means) <= least + 1e-9


def test_nothing_is_shown_where_draws_have_nothing_in_common():
    draws = [np.full((1, 8), -1) for _ in range(8)]
    for i, labels in enumerate(draws):
        labels[0, [i, (i + 1) % 8]] = 0
    assert least_expected_loss(draws).shape == (0, 8)


def test_representatives_keep_all_sums(rng):
    smaller = 0
    for _ in range(200):
        solution = _random(rng)
        found = representative(solution)
        np.testing.assert_allclose(found.sums(), solution.sums(), atol=1e-10)
        again = representative(found)
        np.testing.assert_array_equal(again.labels, found.labels)
        order = rng.permutation(len(solution.labels))
        shuffled = solution._replace(labels=solution.labels[order], weights=[solution.weights[m] for m in order])
        np.testing.assert_allclose(representative(shuffled).sums(), solution.sums(), atol=1e-10)
        smaller += len(found.labels) < len(solution.labels)
        pairs = [(a, b) for a in range(len(found.labels)) for b in range(len(found.labels)) if a != b]
        assert not any(refines(found.labels[a], found.labels[b]) for a, b in pairs)
    assert smaller > 5


def test_the_example_of_the_thesis():
    """Figures 4.3 to 4.5."""
    samples = [np.array([[0, 0, 1, 1]]), np.array([[1, 1, 0, -1]]), np.array([[0, 1, -1, 0]])]
    forms = [common_form(Solution(labels, [np.zeros((2, 2))], 0.0, 1.0)) for labels in samples]
    form = average(forms)
    expected = np.array([[3, 2, 0, 1], [2, 3, 0, 0], [0, 0, 2, 1], [1, 0, 1, 2]]) / 3.0
    np.testing.assert_allclose(form.together[0], expected)
    assert collapse(form, 0.5, 0.5).labels.tolist() == [[0, 0, 1, 2]]
    assert collapse(form, 0.9, 0.5).labels.tolist() == [[0, 0, -1, -1]]


def test_equal_draws_collapse_to_themselves(rng):
    for _ in range(20):
        solution = representative(_random(rng))
        form = average([common_form(solution)] * 5)
        found = representative(collapse(form))
        np.testing.assert_array_equal(found.labels, solution.labels)
        for one, other in zip(found.weights, solution.weights, strict=True):
            np.testing.assert_allclose(one, other)
        assert len(calibrated(form, 1.0, 1.0).labels) == len(solution.labels)


def test_labels_are_read_back(rng):
    for _ in range(50):
        labels = representative(_random(rng)).labels
        np.testing.assert_array_equal(decode(*encode(labels)), labels)


@pytest.mark.parametrize("tilt", [0.0, 0.7, 3.0, 12.0, 60.0])
def test_precisions_of_links(tilt, rng):
    """Mean and Laplace transform of the Polya-Gamma law (Polson, Scott and Windle 2013)."""
    drawn = polya_gamma(rng, np.full((200, 200), tilt)).ravel()
    mean = 0.25 if tilt == 0.0 else np.tanh(tilt / 2.0) / (2.0 * tilt)
    transform = np.cosh(tilt / 2.0) / np.cosh(np.sqrt((tilt**2 / 2.0 + 1.0) / 2.0))
    for values, expected in ((drawn, mean), (np.exp(-drawn), transform)):
        assert abs(values.mean() - expected) < 4.5 * values.std() / np.sqrt(len(values))
