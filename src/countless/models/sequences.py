"""Sequences as users hand them in: one after the other with their lengths, or with an id for each row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]


class Sequences(NamedTuple):
    """A table of sequences, one after the other, with their lengths and the column that had their ids."""

    table: Any
    lengths: IntArray
    column: str | None = None


def as_lengths(lengths: ArrayLike | None, groups: ArrayLike | None, n_rows: int) -> IntArray:
    """Lengths of the sequences that rows are divided into; one sequence where nothing is said."""
    if lengths is not None and groups is not None:
        raise ValueError("lengths and groups say the same; give one of them")
    if groups is not None:
        return lengths_of_groups(groups, n_rows)
    if lengths is None:
        return np.array([n_rows], dtype=np.int64)
    found = np.asarray(lengths)
    if found.ndim != 1 or found.dtype.kind not in "iuf" or not found.size or np.any(found != np.floor(found)):
        raise ValueError(f"lengths must be a list of whole numbers, one per sequence, got {lengths!r}")
    whole = found.astype(np.int64)
    if whole.min() < 1:
        at = int(np.argmin(whole))
        raise ValueError(f"lengths: sequence {at} has {whole[at]} steps; leave out sequences without steps")
    if whole.sum() != n_rows:
        raise ValueError(f"lengths add up to {whole.sum()}, but X has {n_rows} rows")
    return whole


def lengths_of(y: Any, lengths: ArrayLike | None, groups: ArrayLike | None, n_rows: int) -> IntArray:
    """Lengths of the sequences that ``fit`` is handed: ``y`` is taken for them where it has no entry for each row."""
    if y is not None and lengths is None and groups is None and np.size(y) != n_rows:
        lengths = y
    return as_lengths(lengths, groups, n_rows)


def lengths_of_groups(groups: ArrayLike, n_rows: int, name: str = "groups", first_row: int = 0) -> IntArray:
    """Lengths of runs of equal ids; an id that comes back is an error, which counts rows from ``first_row``."""
    ids = np.asarray(groups)
    if ids.shape != (n_rows,):
        raise ValueError(f"{name} must hold {n_rows} ids, one per row, got shape {ids.shape}")
    missing = np.array([each is None or each != each for each in ids.tolist()])
    if missing.any():
        raise ValueError(
            f"{name} has no id in row {int(missing.argmax()) + first_row}; every row belongs to a sequence"
        )
    begins = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    seen: set[Any] = set()
    for at in begins.tolist():
        value = ids[at].item() if hasattr(ids[at], "item") else ids[at]
        if value in seen:
            raise ValueError(
                f"{name}: the rows of sequence {value!r} are in two places, the second begins in row {at + first_row}; "
                "sort the table by sequence"
            )
        seen.add(value)
    return np.diff(np.append(begins, n_rows))


def check_times(times: Any, lengths: IntArray, name: str) -> None:
    """Raise ValueError where the times of a sequence do not increase."""
    values = np.asarray(times)
    ends = set(np.cumsum(lengths).tolist())
    for row in range(1, len(values)):
        if row not in ends and not values[row] > values[row - 1]:
            raise ValueError(
                f"{name}: row {row + 1} ({values[row]}) does not come after row {row} ({values[row - 1]}); sort the "
                "table by time"
            )
