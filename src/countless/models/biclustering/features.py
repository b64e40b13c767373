"""Features from column clusters: the mean of each, or the column that is nearest to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...partitions.seats import FloatArray, IntArray
from .block_models.base import Matrix
from .cells import as_sparse


def _indicator(labels: IntArray) -> Any:
    n = len(labels)
    return sparse.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, int(labels.max()) + 1))


def grouped(X: Any, labels: IntArray, representatives: IntArray | None) -> FloatArray:
    """Means of the columns of each cluster, over cells that are not missing; or the representatives."""
    if representatives is not None:
        chosen = sparse.csr_array(X)[:, representatives].toarray() if sparse.issparse(X) else X[:, representatives]
        return np.asarray(chosen, dtype=np.float64)
    indicator = _indicator(labels)
    if sparse.issparse(X):
        return np.asarray((sparse.csr_array(X) @ indicator).toarray() / np.bincount(labels))
    there = ~np.isnan(X)
    sums = np.where(there, X, 0.0) @ indicator.toarray()
    counts = there.astype(np.float64) @ indicator.toarray()
    return np.asarray(np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0))


def column_of(matrix: Matrix, labels: IntArray) -> IntArray:
    """The column of each cluster with the least squared distance from the mean of the cluster; zeros where missing."""
    cells = as_sparse(matrix._replace(values=np.nan_to_num(matrix.values)))
    sizes = np.bincount(labels)
    means = (cells @ _indicator(labels)).toarray() / sizes
    squares = np.asarray(cells.multiply(cells).sum(axis=0)).ravel()
    found = np.empty(len(sizes), dtype=np.int64)
    for k in range(len(sizes)):
        members = np.flatnonzero(labels == k)
        distance = squares[members] - 2.0 * (cells.T @ means[:, k])[members]
        found[k] = members[int(np.argmin(distance))]
    return found
