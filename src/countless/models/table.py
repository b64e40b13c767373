"""The rows that users hand to an estimator, checked, as kernels take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..core.validate import as_rows
from ..families import Family

FloatArray = NDArray[np.float64]


def read_rows(estimator: BaseEstimator, X: Any, family: Family) -> tuple[Family, FloatArray]:
    """Rows as the family reads them, and the family that knows how; columns are remembered."""
    known, rows = family.read(X)
    _remember(estimator, X, rows, reset=True)
    return known, rows


def read_new_rows(estimator: BaseEstimator, X: Any, family: Family) -> FloatArray:
    """New rows, read as those of the fit were."""
    rows = family.read_new(X)
    if not family.matches_names:
        _remember(estimator, X, rows, reset=False)
    family.check(rows)
    return rows


def checked_rows(estimator: BaseEstimator, X: Any, reset: bool) -> FloatArray:
    """Rows as float64, at least one of them; columns are remembered (``reset``) or compared with those of the fit."""
    rows = as_rows(X)
    _remember(estimator, X, rows, reset)
    return rows


def _remember(estimator: BaseEstimator, X: Any, rows: FloatArray, reset: bool) -> None:
    if len(rows) == 0:
        raise ValueError(f"X has 0 rows (shape={rows.shape}); at least 1 is needed")
    if (X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim) == 1:
        raise ValueError(
            "X must be a table of rows and columns, got 1 dimension. Reshape your data: X.reshape(-1, 1) is one "
            "column, X.reshape(1, -1) one row"
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)


def column_names(estimator: BaseEstimator) -> list[str]:
    """Names of the columns of the fit; those of an array are counted."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"column {j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]
