"""The one boundary where what users hand in is checked and brought to the form that kernels take.

Kernels see C-contiguous, writeable float64 and int64 arrays only; each other form would be compiled again.
Every message names the argument, what came, and what fits.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import ColumnOfText, MissingCell, UnknownName

Value = TypeVar("Value")

_KINDS = {"U": "text", "S": "text", "M": "dates", "m": "time spans"}


def as_rows(X: Any, name: str = "X", missing: bool = False) -> NDArray[np.float64]:
    """Rows as a C-contiguous float64 matrix; one-dimensional input is one column.

    Missing cells (NaN) are refused unless ``missing`` are allowed.

    Examples
    --------
    >>> from countless.core.validate import as_rows
    >>> as_rows([1, 2, 3]).shape
    (3, 1)
    """
    text = _text_columns(X)
    if text:
        raise ColumnOfText(name, text[0])
    if hasattr(X, "toarray"):
        raise TypeError(f"{name} is sparse; pass a dense array, for example {name}.toarray()")
    if np.ma.is_masked(X):
        raise ValueError(f"{name} is a masked array with hidden cells; drop or fill such cells before the fit")
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(f"{name} must be a table of rows and columns, got rows of different lengths") from None
    if array.dtype.kind == "c":
        raise ValueError(f"{name}: Complex data not supported, use real numbers")
    if array.dtype.kind in "USmM":
        raise ValueError(f"{name} must hold numbers only, got {_KINDS[array.dtype.kind]}; turn them into numbers first")
    try:
        array = np.array(array, dtype=np.float64, order="C", copy=None)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} must hold numbers only: {error}") from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{name} must be a table of rows and columns, got {array.ndim} dimensions")
    if array.shape[1] == 0:
        raise ValueError(f"{name} has 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    bad = np.isinf(array) if missing else ~np.isfinite(array)
    if bad.any():
        i, j = (int(place) for place in np.argwhere(bad)[0])
        if np.isnan(array[bad]).any():
            raise MissingCell(name, i, j)
        raise ValueError(
            f"{name} contains infinity (first in row {i}, column {j}); drop or fill such cells before the fit"
        )
    if not array.flags.writeable or not array.flags.c_contiguous:
        array = np.array(array, order="C")
    return array


def _text_columns(X: Any) -> list[str]:
    """Names of the columns of a data frame that hold text."""
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return []
    names = []
    for j, (column, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        kind = str(dtype).lower()
        if any(word in kind for word in ("str", "utf8", "date", "time")) or (
            any(word in kind for word in ("object", "categor")) and not _holds_numbers(X, j)
        ):
            names.append(str(column))
    return names


def _holds_numbers(X: Any, j: int) -> bool:
    """Whether the cells of a column of mixed type or of categories are numbers after all."""
    try:
        cells = np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[:, j])
        cells.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return not any(isinstance(cell, str) for cell in cells)


def as_labels(labels: Any, name: str = "labels", n_rows: int | None = None) -> NDArray[np.int64]:
    """Cluster labels as int64, renumbered 0, 1, 2, ... by first appearance."""
    array = np.asarray(labels)
    if array.ndim != 1 or (n_rows is not None and len(array) != n_rows):
        wanted = "one label per row" if n_rows is None else f"{n_rows} labels, one per row"
        raise ValueError(f"{name} must hold {wanted}, got shape {array.shape}")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{name} contains NaN; give every row a label")
    return by_first_appearance(array)


def by_first_appearance(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Renumber labels 0, 1, 2, ... in the order in which they first occur.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.core.validate import by_first_appearance
    >>> by_first_appearance(np.array([7, 7, 2, 7, 5])).tolist()
    [0, 0, 1, 0, 2]
    """
    if labels.dtype.kind in "iu" and len(labels) and labels.min() >= 0 and labels.max() < len(labels):
        # No sorting: of several writes to one place the last one stays, which is the first occurrence.
        first = np.full(int(labels.max()) + 1, len(labels))
        first[labels[::-1]] = np.arange(len(labels))[::-1]
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        return rank[labels]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def by_size(labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """Renumber labels 0, 1, 2, ... by the size of their clusters, the largest first; ties by first appearance.

    Every clustering that a user sees is numbered so. ``weights`` is how often each row counts.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.core.validate import by_size
    >>> by_size(np.array([7, 2, 2, 5, 5, 2])).tolist()
    [2, 0, 0, 1, 1, 0]
    """
    numbered = by_first_appearance(labels)
    rank = np.empty(int(numbered.max(initial=-1)) + 1, dtype=np.int64)
    rank[np.argsort(-np.bincount(numbered, weights), kind="stable")] = np.arange(len(rank))
    return rank[numbered]


def choose(name: str, key: Any, options: Mapping[str, Value], otherwise: str = "") -> Value:
    """The option called ``key``, or one sentence that lists what exists."""
    if isinstance(key, str) and key in options:
        return options[key]
    if isinstance(key, type):
        listed = ", ".join(map(repr, sorted(options)))
        raise TypeError(f"{name}: got the class {key.__name__}; pass an instance, {key.__name__}(), or one of {listed}")
    raise UnknownName(name, key, sorted(options), otherwise)


def whole_number(name: str, value: Any, minimum: int) -> int:
    """An integer of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ValueError(f"{name} must be a whole number of at least {minimum}, got {value!r}")
    return int(value)


def positive_number(name: str, value: Any) -> float:
    """A finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0.0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be a number above 0, got {value!r}")
    return float(value)


def as_weights(weights: Any, n_rows: int) -> NDArray[np.float64] | None:
    """How often each row counts: one number of at least zero per row, or None where each counts once."""
    if weights is None:
        return None
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold one number per row") from None
    if array.ndim == 0:
        array = np.full(n_rows, float(array))
    if array.shape != (n_rows,):
        raise ValueError(f"sample_weight must hold {n_rows} numbers, one per row, got shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0.0).any() or not array.any():
        raise ValueError("sample_weight must hold finite numbers of at least 0, not all of them zero")
    return None if np.all(array == 1.0) else array


def counted(rows: NDArray[np.float64], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Rows repeated by their weights, so that what is computed from rows alone heeds the weights.

    Whole numbers repeat exactly; others are rounded so that there are about as many rows as before.
    """
    if weights is None:
        return rows
    whole = np.all(weights == np.floor(weights)) and weights.sum() <= 10 * len(rows)
    share = weights if whole else weights * (max(len(rows), 1000) / weights.sum())
    edges = np.floor(np.cumsum(share) + 0.5).astype(np.int64)
    return np.repeat(rows, np.diff(edges, prepend=0), axis=0)
