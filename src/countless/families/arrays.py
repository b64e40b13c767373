"""Arrays of hyperparameters and rows: checks in one sentence each, moments, units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.jit import exact_kernel

FloatArray = NDArray[np.float64]

# Sums of squares of numbers up to this size stay finite.
LARGEST = 1e150


def log_volumes(rows: FloatArray, scale: FloatArray) -> FloatArray:
    """What a change of units adds to the log density of each row: the log scales of its observed cells."""
    missing = np.isnan(rows)
    whole = np.full(len(rows), np.log(scale).sum())
    return whole - missing @ np.log(scale) if missing.any() else whole


@exact_kernel
def shifted_and_scaled(rows, shift, scale):
    """``(rows - shift) / scale``; without the lock of Python, as passes ask for it a block at a time, in threads."""
    out = np.empty(rows.shape)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i, j] = (rows[i, j] - shift[j]) / scale[j]
    return out


def as_numbers(name: str, value: Any) -> FloatArray:
    """A hyperparameter as an array of floats, or a sentence that names it."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers, got {value!r}") from None


def one_number(name: str, value: Any, above: float, hint: str = "") -> float:
    """A single finite number above a bound."""
    array = as_numbers(name, value)
    if array.ndim or not above < array < np.inf:
        raise ValueError(f"{name} must be one finite number above {above:g}{hint}, got {value!r}")
    return float(array)


def per_column(name: str, value: Any, n_columns: int, positive: bool = True) -> FloatArray:
    """A hyperparameter as one number per column.

    Examples
    --------
    >>> from countless.families import per_column
    >>> per_column("rate", 2.0, n_columns=3)
    array([2., 2., 2.])
    """
    array = as_numbers(name, value)
    if array.ndim > 1 or (array.ndim == 1 and len(array) not in (1, n_columns)):
        raise ValueError(
            f"{name} must be a number or one number for each of the {n_columns} columns, got shape {array.shape}"
        )
    if not np.all(np.isfinite(array)) or (positive and np.any(array <= 0)):
        raise ValueError(f"{name} must be finite{' and positive' if positive else ''}, got {value!r}")
    # A copy: a view would be read-only, another type to the compiler, and would follow the user's array.
    return np.array(np.broadcast_to(array, (n_columns,)))


def blocks(X: FloatArray, size: int = 65_536) -> Iterator[FloatArray]:
    """The rows in parts, so that what is computed from them needs little memory."""
    for start in range(0, len(X), size):
        yield X[start : start + size]


def column_moments(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of each column; a constant column, or a single row, has variance one."""
    if len(X) == 0:
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    require_squares(X, X)
    # About the first row: the mean of a constant column is then exact, however many rows there are.
    shift = sum(((block - X[0]).sum(axis=0) for block in blocks(X)), start=np.zeros(X.shape[1])) / len(X)
    mean = X[0] + shift
    squares = sum((((block - X[0] - shift) ** 2).sum(axis=0) for block in blocks(X)), start=np.zeros(X.shape[1]))
    variance = squares / len(X)
    # Rounding leaves a constant column of large numbers with a tiny variance.
    resolution = (np.maximum(X.max(axis=0), -X.min(axis=0)) * 1e-15) ** 2
    variance[variance <= resolution] = 1.0
    return mean, variance


def require_counts(X: FloatArray, family: str) -> None:
    """Raise unless every cell is a whole number of at least zero.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families import require_counts
    >>> require_counts(np.array([[0.0, 3.0]]), "poisson data")
    """
    if len(X) and np.any(X < 0):
        raise ValueError(f"X: {family} needs counts of at least 0, got {X.min():g}")
    if np.any(np.floor(X) != X):
        raise ValueError(f"X: {family} needs whole numbers, got {X[np.floor(X) != X][0]:g}")


def require_squares(local: FloatArray, X: FloatArray) -> None:
    """Raise unless the squares of all cells of ``local``, which are those of ``X`` in other units, are finite."""
    # fmax and fmin skip missing cells.
    if len(local) and max(np.fmax.reduce(local, axis=None), -np.fmin.reduce(local, axis=None)) > LARGEST:
        i, j = np.argwhere(np.abs(local) > LARGEST)[0]
        raise ValueError(f"X: column {j} holds {X[i, j]:g}, too large to be squared; use other units for it")


def fill_missing(X: FloatArray) -> FloatArray:
    """The table with missing cells filled by evenly spaced quantiles of their column, which keep its distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.arrays import fill_missing
    >>> fill_missing(np.array([[1.0], [np.nan], [3.0], [2.0]]))[:, 0].tolist()
    [1.0, 2.0, 3.0, 2.0]
    """
    missing = np.isnan(X)
    if not missing.any():
        return np.ascontiguousarray(X)
    filled = np.array(X, order="C")
    for j in np.flatnonzero(missing.any(axis=0)):
        observed = np.sort(X[~missing[:, j], j])
        count = int(missing[:, j].sum())
        # Cells of the data themselves, so that codes stay codes and counts whole.
        places = ((np.arange(count) + 0.5) / count * len(observed)).astype(np.int64)
        filled[missing[:, j], j] = observed[places] if len(observed) else 0.0
    return filled
