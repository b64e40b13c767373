"""Visits as users hand them in: designs, outcomes and subjects, checked once, each mistake in one sentence."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....core.errors import ColumnOfText, MissingCell
from ....core.validate import as_rows, by_first_appearance

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# A column is collinear with others where they leave less than this share of it.
COLLINEAR = 1e-9
# Numbers that can be squared and summed.
LARGEST = 1e120


def read_design(design: Any, name: str, n: int | None = None) -> tuple[FloatArray, tuple[str, ...]]:
    """A design as float64 with the names of its columns; None is a design without columns."""
    if design is None or (getattr(design, "ndim", 0) == 2 and design.shape[1] == 0 and name == "fixed"):
        return np.empty((n or 0, 0)), ()
    if hasattr(design, "columns") and hasattr(design, "to_numpy"):
        names = tuple(str(column) for column in design.columns)
    elif getattr(design, "name", None) is not None and np.ndim(design) == 1:
        names = (str(design.name),)
    else:
        names = ()
    try:
        rows = as_rows(design, name)
    except MissingCell as error:
        where = f"column {names[error.column]!r}" if names else f"column {error.column}"
        raise ValueError(
            f"{name} contains NaN ({where}, row {error.row}); designs must be complete, only outcomes may be missing"
        ) from None
    except ColumnOfText as error:
        raise ValueError(
            f"{name}: column {error.column!r} holds text; turn it into numbers, or use a formula"
        ) from None
    except ValueError as error:
        found = re.search(r"infinity \(first in row (\d+), column (\d+)\)", str(error))
        if found is None or not names:
            raise
        where = f"column {names[int(found.group(2))]!r}, row {found.group(1)}"
        raise ValueError(f"{name} contains infinity ({where}); leave such visits out") from None
    too_large = np.abs(rows).max(axis=0, initial=0.0) > LARGEST
    if too_large.any():
        at = int(too_large.argmax())
        place = repr(names[at]) if names else str(at)
        raise ValueError(f"{name}: column {place} holds numbers beyond {LARGEST:g}, whose squares overflow")
    if n is not None and len(rows) != n:
        raise ValueError(f"{name} has {len(rows)} rows, but there are {n} visits")
    return rows, names or tuple(f"{name} {j}" for j in range(rows.shape[1]))


def read_outcomes(y: Any, n: int, missing: bool = True) -> FloatArray:
    """Outcomes, one per visit; NaN is a missing one."""
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) != n:
        raise ValueError(f"y must hold {n} outcomes, one per visit, got shape {array.shape}")
    if array.dtype.kind == "c":
        raise ValueError("y must hold real numbers, got complex ones")
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("y must hold numbers, got text") from None
    if np.isinf(values).any():
        raise ValueError(f"y contains infinity (row {int(np.isinf(values).argmax())})")
    if np.abs(values).max(initial=0.0, where=~np.isnan(values)) > LARGEST:
        raise ValueError(f"y holds numbers beyond {LARGEST:g}, whose squares overflow; use larger units")
    if not missing and np.isnan(values).any():
        raise ValueError(f"y contains NaN (row {int(np.isnan(values).argmax())}); leave missing outcomes out")
    return values


def read_groups(groups: Any, n: int) -> NDArray[Any]:
    """The subject of each visit, by name."""
    if groups is None:
        raise ValueError("groups must name the subject of each visit, got None")
    if hasattr(groups, "to_numpy"):
        groups = groups.to_numpy()
    array = np.asarray(groups)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) != n:
        raise ValueError(f"groups must name the subject of each of {n} visits, got shape {array.shape}")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise ValueError(f"groups: the visit in row {int((~np.isfinite(array)).argmax())} has no subject")
        return array.astype(np.int64) if np.all(array == np.floor(array)) else array
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    for i, name in enumerate(array):
        if name is None or name != name:
            raise ValueError(f"groups: the visit in row {i} has no subject")
    return np.array([str(name) for name in array], dtype=object)


def coded(groups: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Names of the subjects in order of first appearance, and the number of each visit's subject."""
    unique, inverse = np.unique(groups, return_inverse=True)
    codes = by_first_appearance(inverse.reshape(-1))
    names = np.empty(len(unique), dtype=groups.dtype)
    names[codes] = groups
    return names, codes


def codes_of(groups: NDArray[Any], subjects: NDArray[Any]) -> IntArray:
    """Number of each visit's subject among known ones; -1 for one that is new."""
    number = {name: i for i, name in enumerate(subjects.tolist())}
    return np.array([number.get(name, -1) for name in groups.tolist()], dtype=np.int64)


def check_strangers(strangers: NDArray[Any], subjects: NDArray[Any]) -> None:
    """Raise ValueError where a new subject is written as a known one is, one as text, the other as a number."""
    known = {str(name) for name in subjects.tolist()}
    for name in strangers.tolist():
        if str(name) in known:
            one, other = ("text", "numbers") if isinstance(name, str) else ("a number", "text")
            raise ValueError(f"groups: {name!r} is {one}, but the subjects of the fit are {other}")


def check_designs(X: FloatArray, fixed: FloatArray, names: tuple[str, ...], fixed_names: tuple[str, ...]) -> None:
    """Raise ValueError where a column is zero or follows from others before it, with the names of both.

    The means of the effects are free, so that columns of the fixed effects must not repeat those of X.
    """
    design = np.hstack([X, fixed])
    listed = [*(("X", name) for name in names), *(("fixed", name) for name in fixed_names)]
    size = np.sqrt(np.sum(design**2, axis=0))
    kept: list[int] = []
    basis = np.empty((len(design), 0))
    for j, (where, name) in enumerate(listed):
        if size[j] == 0.0:
            raise ValueError(f"{where}: column {name!r} is zero in every visit; leave it out")
        column = design[:, j] / size[j]
        left = column - basis @ (basis.T @ column)
        left -= basis @ (basis.T @ left)
        length = float(np.sqrt(left @ left))
        if length < COLLINEAR:
            weights = np.linalg.lstsq(design[:, kept] / size[kept], column, rcond=None)[0]
            others = [listed[k] for k, weight in zip(kept, weights, strict=True) if abs(weight) > 1e-6]
            if (
                np.ptp(design[:, j]) == 0.0
                and len(others) == 1
                and np.ptp(design[:, kept[int(np.argmax(np.abs(weights)))]]) == 0.0
            ):
                raise ValueError(f"{where}: column {name!r} is constant, as {others[0][1]!r} is; leave one of them out")
            both = ", ".join(repr(other) for _, other in others)
            hint = " (effects of subjects have a mean of their own)" if where == "fixed" else ""
            raise ValueError(f"{where}: column {name!r} is a combination of {both}; leave it out{hint}")
        kept.append(j)
        basis = np.hstack([basis, (left / length)[:, None]])
