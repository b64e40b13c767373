"""Oracles shared by the tests of the partition priors: every set partition, written out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from cases import PRIOR_CASES

FIXED = [prior for case in PRIOR_CASES.values() for prior in case.others]
LEARNED = [prior for case in PRIOR_CASES.values() for prior in case.learned]


def restricted_growth_strings(n: int) -> Iterator[tuple[int, ...]]:
    """All set partitions of n rows as labels numbered by first appearance."""

    def extend(labels: tuple[int, ...], n_clusters: int) -> Iterator[tuple[int, ...]]:
        if len(labels) == n:
            yield labels
            return
        for label in range(n_clusters + 1):
            yield from extend((*labels, label), max(n_clusters, label + 1))

    return extend((), 0)


@pytest.fixture(params=FIXED, ids=repr)
def fixed_prior(request):
    return request.param


@pytest.fixture(params=LEARNED, ids=repr)
def learned_prior(request):
    return request.param


@pytest.fixture(params=FIXED + LEARNED, ids=repr)
def prior(request):
    return request.param


@pytest.fixture(scope="session")
def all_partitions():
    return {n: list(restricted_growth_strings(n)) for n in range(1, 9)}


@pytest.fixture(scope="session")
def size_counts(all_partitions):
    """For each n: how many set partitions have these cluster sizes."""
    return {
        n: Counter(tuple(sorted(np.bincount(labels).tolist())) for labels in partitions)
        for n, partitions in all_partitions.items()
    }
