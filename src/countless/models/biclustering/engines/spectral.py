"""Clusters of rows and of columns from singular vectors: where a search begins, and nothing more.

From one cluster of rows and one of columns no single item has anywhere better to go: structure shows only when both
sides are divided at once. Singular vectors of the matrix divide both (Dhillon 2001 for counts scaled by the roots of
their margins, here with the mean margin added, which keeps rows of few counts quiet).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.cluster import KMeans

from ....families.categorical import Categorical
from ....partitions.seats import FloatArray, IntArray
from ..block_models.base import Matrix
from ..problem import Problem

MOST_COMPONENTS = 40
# Rows that k-means is shown; all others go to the nearest centre.
MOST_ROWS = 20_000


def embeddings(problem: Problem, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Coordinates of rows and of columns, the most important ones first; none where the matrix is too small."""
    matrix = problem.matrix
    family = getattr(problem.model, "family", None)
    if isinstance(family, Categorical):
        levels = np.unique(matrix.values[~np.isnan(matrix.values)])
        parts = [_scaled(matrix._replace(values=np.where(matrix.values == level, 1.0, 0.0))) for level in levels]
        rows = _vectors(sparse.hstack(parts).tocsr(), rng)[0]
        columns = _vectors(sparse.vstack(parts).tocsr(), rng)[1]
        return rows, columns
    return _vectors(_scaled(matrix), rng)


def _scaled(matrix: Matrix) -> sparse.csr_matrix:
    """Counts over the roots of their margins, or other numbers less their mean; missing cells are as expected."""
    there = ~np.isnan(matrix.values)
    values = matrix.values[there]
    if (len(values) and values.min() < 0.0) or len(matrix.values) == matrix.shape[0] * matrix.shape[1]:
        mean = values.sum() / max(1, matrix.n_cells)
        whole = np.full(matrix.shape, -mean)
        whole[matrix.rows[there], matrix.columns[there]] = values - mean
        whole[matrix.rows[~there], matrix.columns[~there]] = 0.0
        return sparse.csr_matrix(whole)
    rows, columns = (part + part.mean() + 1e-12 for part in matrix.margins())
    scaled = values / np.sqrt(rows[matrix.rows[there]] * columns[matrix.columns[there]])
    return sparse.csr_matrix((scaled, (matrix.rows[there], matrix.columns[there])), shape=matrix.shape)


def _vectors(matrix: sparse.csr_matrix, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    count = min(MOST_COMPONENTS, min(matrix.shape) - 1)
    if count < 1:
        return np.zeros((matrix.shape[0], 1)), np.zeros((matrix.shape[1], 1))
    if min(matrix.shape) <= 400 and matrix.shape[0] * matrix.shape[1] <= 4_000_000:
        left, sizes, right = np.linalg.svd(matrix.toarray(), full_matrices=False)
        left, sizes, right = left[:, : count + 1], sizes[: count + 1], right[: count + 1]
    else:
        left, sizes, right = svds(matrix, k=count, v0=rng.normal(size=min(matrix.shape)), tol=1e-3)
        order = np.argsort(-sizes)
        left, sizes, right = left[:, order], sizes[order], right[order]
    # What all directions of noise have in common counts for nothing.
    weights = np.maximum(sizes - sizes[-1], 0.0)
    return left * weights, right.T * weights


def labels_from(coordinates: FloatArray, n_clusters: int, rng: np.random.Generator) -> IntArray:
    """k-means with so many clusters, or as many as there are different points."""
    wanted = min(n_clusters, len(np.unique(coordinates.round(12), axis=0)))
    if wanted < 2:
        return np.zeros(len(coordinates), dtype=np.int64)
    shown = coordinates
    if len(shown) > MOST_ROWS:
        shown = shown[np.sort(rng.choice(len(shown), MOST_ROWS, replace=False))]
    found = KMeans(wanted, n_init=1, max_iter=25, random_state=int(rng.integers(2**31))).fit(shown)
    labels = np.unique(found.predict(coordinates), return_inverse=True)[1]
    return np.ascontiguousarray(labels, dtype=np.int64)
