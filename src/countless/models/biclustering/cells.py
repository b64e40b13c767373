"""Cells of a matrix in two orders, that of rows and that of columns, with what a model makes of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...partitions.seats import FloatArray, IntArray
from .block_models.base import BlockModel, Matrix, Prepared
from .moves.view import Cells


def as_matrix(X: Any) -> Matrix:
    """Stored cells of a dense or sparse matrix of numbers, in the order of rows; NaN is a missing cell."""
    if sparse.issparse(X):
        ordered = sparse.csr_array(X)
        ordered.sum_duplicates()
        rows = np.repeat(np.arange(X.shape[0], dtype=np.int64), np.diff(ordered.indptr))
        values = ordered.data.astype(np.float64)
        there = values != 0.0
        columns = ordered.indices.astype(np.int64)
        return Matrix(tuple(X.shape), rows[there], columns[there], values[there])
    array = np.asarray(X, dtype=np.float64)
    rows, columns = np.nonzero(array)
    return Matrix(array.shape, rows, columns, array[rows, columns])


def as_sparse(matrix: Matrix) -> Any:
    """The matrix as SciPy's compressed rows; missing cells are stored as NaN."""
    return sparse.csr_array((matrix.values, (matrix.rows, matrix.columns)), shape=matrix.shape)


def _ordered(by: IntArray, other: IntArray, statistics: FloatArray, n: int) -> Cells:
    order = np.lexsort((other, by))
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(by, minlength=n), out=indptr[1:])
    return Cells(indptr, np.ascontiguousarray(other[order]), np.ascontiguousarray(statistics[order]))


@dataclass(frozen=True)
class BothOrders:
    """A matrix as kernels take it.

    Attributes
    ----------
    matrix : Matrix
    prepared : Prepared
    cells : tuple of two Cells
        By rows and by columns.
    """

    matrix: Matrix
    prepared: Prepared
    cells: tuple[Cells, Cells]

    @classmethod
    def of(cls, matrix: Matrix, model: BlockModel) -> BothOrders:
        """What a resolved model makes of a matrix."""
        prepared = model.cells(matrix)
        by_row = _ordered(matrix.rows, matrix.columns, prepared.statistics, matrix.shape[0])
        by_column = _ordered(matrix.columns, matrix.rows, prepared.statistics, matrix.shape[1])
        return cls(matrix, prepared, (by_row, by_column))

    @property
    def has_zero(self) -> bool:
        """Whether cells that hold zero have statistics other than zero."""
        return bool(self.prepared.zero.any())


def mass_by_label(labels: IntArray, weights: FloatArray, n: int) -> NDArray[np.float64]:
    """Sum of weights of the items of each cluster."""
    return np.bincount(labels, weights, minlength=n).astype(np.float64)
