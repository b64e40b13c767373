"""Statistics of rows and of clusters: of each row, and added up by label.

The statistics of a cluster are the sum of those of its rows, each times the weight of the row. Where the array of
weights is empty each row counts once. A row with a negative label belongs to no cluster.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import inner_kernel, kernel
from ..families import verbs

# Each row counts once.
NO_WEIGHTS = np.empty(0)


@inner_kernel
def weight_of(weights, i):
    """Weight of row ``i``; an empty array counts each row once."""
    return weights[i] if weights.size else 1.0


@inner_kernel
def add_row(statistics, weight, sums, k):
    """Add the statistics of one row, times its weight, to those of cluster ``k``."""
    for s in range(sums.shape[1]):
        sums[k, s] += weight * statistics[s]


@kernel
def row_statistics_of(family, rows, out):
    """Statistics of each row."""
    for i in range(rows.shape[0]):
        verbs.row_statistics(family, rows[i], out[i])


@kernel
def add_by_label(family, rows, weights, labels, sums, work):
    """Add the statistics of each row to those of its cluster; ``work`` has room for the statistics of one row."""
    for i in range(rows.shape[0]):
        if labels[i] >= 0:
            verbs.row_statistics(family, rows[i], work)
            add_row(work, weight_of(weights, i), sums, labels[i])


@kernel
def add_known_by_label(statistics, weights, labels, sums):
    """The same for rows whose statistics are there already, as ``row_statistics_of`` leaves them."""
    for i in range(labels.size):
        if labels[i] >= 0:
            add_row(statistics[i], weight_of(weights, i), sums, labels[i])
