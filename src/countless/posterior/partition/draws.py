"""Arrays of drawn partitions: which draws to keep, and the sizes of the clusters of each draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chains.draws import cluster_sizes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
    counts = [np.count_nonzero(sizes, axis=1) for sizes in cluster_sizes(labels)]
    return np.concatenate(counts).astype(np.int64).reshape(labels.shape[:-1])
