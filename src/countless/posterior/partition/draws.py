"""Arrays of drawn partitions: which draws to keep, and the sizes of the clusters of each draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Labels that are counted at a time: their codes take 8 bytes each.
BLOCK = 4_000_000


def spaced(n_draws: int, at_most: int) -> IntArray:
    """Indices of at most so many draws, evenly spaced.

    Examples
    --------
    >>> from countless.posterior.partition.draws import spaced
    >>> spaced(9, 3).tolist()
    [0, 4, 8]
    """
    return np.linspace(0, n_draws - 1, min(n_draws, at_most)).astype(np.int64)


def thinned(draws: NDArray[Any], at_most: int | None) -> NDArray[Any]:
    """At most so many draws of an array (draw, item), evenly spaced; all of them for None."""
    return draws if at_most is None or len(draws) <= at_most else draws[spaced(len(draws), at_most)]


def cluster_counts(labels: NDArray[Any]) -> IntArray:
    """Number of clusters of each draw of ``labels`` (chain, draw, item).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.posterior.partition.draws import cluster_counts
    >>> cluster_counts(np.array([[[0, 0, 1], [0, 1, 2]]])).tolist()
    [[2, 3]]
    """
    counts = [np.count_nonzero(sizes, axis=1) for sizes in _sizes(labels)]
    return np.concatenate(counts).astype(np.int64).reshape(labels.shape[:-1])


def entropy_and_largest(labels: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Entropy of the shares of the clusters (in nats) and the largest share, for each draw of (chain, draw, item).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.posterior.partition.draws import entropy_and_largest
    >>> entropy, largest = entropy_and_largest(np.array([[[0, 0, 1, 1], [0, 0, 0, 0]]]))
    >>> entropy.round(4).tolist(), largest.tolist()
    ([[0.6931, 0.0]], [[0.5, 1.0]])
    """
    entropy, largest = [], []
    for sizes in _sizes(labels):
        shares = sizes / labels.shape[-1]
        entropy.append(-np.sum(shares * np.log(np.where(sizes > 0, shares, 1.0)), axis=1))
        largest.append(shares.max(axis=1))
    shape = labels.shape[:-1]
    # The absolute value turns -0.0, the entropy of one cluster, into 0.0.
    return np.abs(np.concatenate(entropy)).reshape(shape), np.concatenate(largest).reshape(shape)


def _sizes(labels: NDArray[Any]) -> Iterator[IntArray]:
    """Sizes of the clusters (draw, label) of all draws, a block of draws at a time."""
    n_items = labels.shape[-1]
    flat = labels.reshape(-1, n_items)
    n_labels = int(flat.max()) + 1
    step = max(1, BLOCK // max(n_items, n_labels))
    for start in range(0, len(flat), step):
        part = flat[start : start + step]
        codes = part + np.arange(len(part), dtype=np.int64)[:, None] * n_labels
        yield np.bincount(codes.reshape(-1), minlength=len(part) * n_labels).reshape(len(part), n_labels)
