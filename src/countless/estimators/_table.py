"""What users hand to an estimator, checked: rows as kernels take them, and one weight per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from .._validate import as_rows

FloatArray = NDArray[np.float64]


def checked_rows(estimator: BaseEstimator, X: Any, reset: bool) -> FloatArray:
    """Rows as float64, at least one of them; columns are remembered (``reset``) or compared with those of the fit."""
    rows = as_rows(X)
    if len(rows) == 0:
        raise ValueError(f"X has 0 rows (shape={rows.shape}); at least 1 is needed")
    if np.asarray(X).ndim == 1:
        raise ValueError(
            "X must be a table of rows and columns, got 1 dimension. Reshape your data: X.reshape(-1, 1) is one "
            "column, X.reshape(1, -1) one row"
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return rows


def row_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """One weight of at least zero per row, not all zero; None stands for ones."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold one number per row") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must hold {n_rows} numbers, one per row, got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
        raise ValueError("sample_weight must hold finite numbers of at least 0, not all of them zero")
    return weights
