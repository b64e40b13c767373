"""Matrices as users hand them in: arrays, data frames with names, sparse matrices; and ratings turned into counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...core.validate import as_rows, positive_number
from .block_models import Asymmetric, BlockModel
from .block_models.base import Matrix
from .cells import as_matrix

Names = tuple[tuple[str, ...], tuple[str, ...]]


def read_matrix(X: Any, tied: bool) -> tuple[Matrix, Names]:
    """The matrix, and names of its rows and columns where it has any."""
    names = _names(X)
    if sparse.issparse(X):
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X must hold numbers only, got a sparse matrix of {X.dtype}")
        if np.isinf(X.data.astype(np.float64)).any() if hasattr(X, "data") and X.format != "lil" else False:
            raise ValueError("X contains infinity; drop or fill such cells before the fit")
        matrix = as_matrix(X)
    else:
        if (X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim) == 1:
            raise ValueError(
                "X must be a table of rows and columns, got 1 dimension. Reshape your data: X.reshape(-1, 1) is one "
                "column, X.reshape(1, -1) one row"
            )
        matrix = as_matrix(as_rows(X, missing=True))
    for n, word in zip(matrix.shape, ("sample", "feature"), strict=True):
        if n < 2:
            side = {"sample": "rows", "feature": "columns"}[word]
            raise ValueError(
                f"X has {n} {word}(s) (shape={matrix.shape}) while a minimum of 2 is required: {side} cannot be grouped"
            )
    if tied:
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"tied: rows and columns must be the same items, but X has shape {matrix.shape}")
        if names[0] and names[1] and names[0] != names[1]:
            at = next(i for i, (one, other) in enumerate(zip(*names, strict=True)) if one != other)
            raise ValueError(
                f"tied: rows and columns must have the same names, but row {at} is {names[0][at]!r} and column {at} "
                f"{names[1][at]!r}"
            )
    return matrix, names


def read_new_matrix(X: Any, shape: tuple[int, int]) -> Matrix:
    """A matrix of the shape of the fit, with NaN where nothing is asked."""
    matrix = as_matrix(X if sparse.issparse(X) else as_rows(X, missing=True))
    if matrix.shape != shape:
        raise ValueError(f"X has shape {matrix.shape}, but the fit had {shape}; cells that are not asked for are NaN")
    return matrix


def _names(X: Any) -> Names:
    """Names of rows and columns of a data frame; an index that only numbers the rows has none."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return (), ()
    named = tuple(map(str, columns)) if all(isinstance(name, str) for name in columns) else ()
    index = getattr(X, "index", None)
    if index is None or getattr(index, "dtype", np.dtype(np.int64)).kind in "iu":
        return (), named
    return tuple(map(str, index)), named


def presence(matrix: Matrix, rescale: float | None) -> Matrix:
    """One count for each cell that holds anything."""
    if rescale is not None:
        raise ValueError("presence and rescale do not go together; leave one of them out")
    if (matrix.values < 0).any():
        raise ValueError("presence: cells must be at least 0, to be there or not")
    return matrix._replace(values=np.where(np.isnan(matrix.values), np.nan, 1.0))


def rescaled(matrix: Matrix, total: Any, model: BlockModel) -> Matrix:
    """Counts in proportion to ratings that add up to about ``total``."""
    total = positive_number("rescale", total)
    values = matrix.values
    if np.isnan(values).any() or (values < 0).any():
        raise ValueError("rescale: ratings must be at least 0 and none missing, to become counts")
    sums = matrix.margins()[0]
    if isinstance(model, Asymmetric):
        if not sums.all():
            raise ValueError(f"rescale: row {int((sums == 0).argmax())} has no counts to be made equal to the others")
        factors = (total / len(sums)) / sums[matrix.rows]
    else:
        factors = np.full(len(values), total / max(sums.sum(), 1e-300))
    counts = np.floor(values * factors + 0.5)
    kept = counts > 0
    return Matrix(matrix.shape, matrix.rows[kept], matrix.columns[kept], counts[kept])
