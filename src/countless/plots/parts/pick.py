"""Some of many: which rows or steps are shown where all of them would not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def spaced(n: int, at_most: int) -> IntArray:
    """Numbers of at most ``at_most`` of ``n`` ordered things, evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).round().astype(np.int64))


def thinned(n: int, at_most: int) -> IntArray:
    """Numbers of at most ``at_most`` of ``n`` rows, drawn at random with a fixed seed, in order."""
    if n <= at_most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, size=at_most, replace=False))


def spread(labels: NDArray[Any], at_most: int, whole: int) -> IntArray:
    """Numbers of at most ``at_most`` rows, in order: up to ``whole`` rows of each cluster, the others at random.

    ``whole`` is lowered where the clusters are so many that these rows alone would be more than half of ``at_most``.
    """
    n = len(labels)
    if n <= at_most:
        return np.arange(n)
    order = np.random.default_rng(0).permutation(n)
    by_cluster = order[np.argsort(labels[order], kind="stable")]
    starts = np.searchsorted(labels[by_cluster], labels[by_cluster])
    rank = np.empty(n, dtype=np.int64)
    rank[by_cluster] = np.arange(n) - starts
    whole = min(whole, max(1, at_most // (2 * (int(labels.max()) + 1))))
    first = order[rank[order] < whole][:at_most]
    rest = order[rank[order] >= whole][: at_most - len(first)]
    return np.sort(np.concatenate([first, rest]))
