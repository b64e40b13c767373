"""Numbers of clusters: by first appearance in draws, by size wherever a user sees them."""

from __future__ import annotations

import numpy as np
import pytest

from countless.core.validate import by_first_appearance, by_size


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, "<U3"])
def test_the_largest_first_and_ties_by_first_appearance(kind):
    labels = np.array([9, 4, 4, 7, 7, 1, 4, 9]).astype(kind)
    assert by_first_appearance(labels).tolist() == [0, 1, 1, 2, 2, 3, 1, 0]
    assert by_size(labels).tolist() == [1, 0, 0, 2, 2, 3, 0, 1]


def test_against_the_definition(rng):
    for _ in range(50):
        labels = rng.integers(8, size=rng.integers(1, 30))
        names, first, sizes = np.unique(labels, return_index=True, return_counts=True)
        order = sorted(range(len(names)), key=lambda k: (-sizes[k], first[k]))
        rank = {names[k]: number for number, k in enumerate(order)}
        expected = [rank[label] for label in labels]
        assert by_size(labels).tolist() == expected
        assert by_size(by_size(labels)).tolist() == expected


def test_rows_count_by_their_weights():
    labels = np.array([0, 0, 0, 1, 2, 2])
    assert by_size(labels, np.array([1.0, 1.0, 1.0, 5.0, 0.5, 0.5])).tolist() == [1, 1, 1, 0, 2, 2]


def test_no_rows():
    assert by_size(np.empty(0, dtype=np.int64)).tolist() == []
