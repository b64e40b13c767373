"""What users are told of columns of measurements: equal values that were rounded or heap, and redundant columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import fill_missing
from ..columns import Column
from .heaps import heaped_columns
from .resolution import MOST_ROWS, resolutions

if TYPE_CHECKING:
    from ..base import Family

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Least eigenvalue of a correlation matrix, over the largest, below which columns are one too many; and the least part
# of a column in such a combination.
REDUNDANT, LEAST_PART = 1e-8, 1e-4
# Spread of a column, in units of its largest cell, that may be rounding.
CONSTANT = 1e-12


def with_notes(columns: Sequence[Column], family: Family, X: FloatArray) -> tuple[Column, ...]:
    """Columns with notes on their measurements; the family is resolved, columns are those of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> from countless.families.gaussian.notes import with_notes
    >>> X = np.column_stack([np.arange(40) // 2, np.sqrt(np.arange(40.0))])
    >>> family = cl.families.Gaussian().resolve(X)
    >>> [column.note[:27] for column in with_notes(family.describe_columns(["years", "root"]), family, X)]
    ['equal values are taken as r', '']
    """
    order = family.order(X.shape[1])
    measured = order[family.measured_columns(len(order))]
    notes: dict[int, list[str]] = {j: [column.note] if column.note else [] for j, column in enumerate(columns)}
    for j, coarse in resolutions(X, measured).items():
        notes[j].append(f"equal values are taken as rounded to {coarse:.2g}")
    for j in measured[heaped_columns(fill_missing(X[:, measured]))]:
        notes[int(j)].append("many cells heap on a few values, so the spread of its clusters is not learned")
    redundant = collinear(X[:: max(1, len(X) // MOST_ROWS)][:, measured])
    for j in measured[redundant]:
        others = [columns[i].name for i in measured[redundant] if i != j]
        said = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        notes[int(j)].append(f"collinear with {said}; leave one of them out")
    return tuple(replace(column, note="; ".join(notes[j])) for j, column in enumerate(columns))


def collinear(X: FloatArray) -> NDArray[np.bool_]:
    """Which columns are part of an exact linear relation between columns; from the rows without missing cells.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.gaussian.notes import collinear
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> collinear(np.column_stack([X, X[:, 0] - X[:, 1]])).tolist()
    [True, True, False, True]
    """
    rows = X[~np.isnan(X).any(axis=1)]
    out = np.zeros(X.shape[1], dtype=bool)
    if len(rows) < 2:
        return out
    # Units in which the largest cell is one: squares of tiny and of huge numbers are none.
    rows = rows / np.maximum(np.abs(rows).max(axis=0), np.finfo(np.float64).tiny)
    rows = rows - rows.mean(axis=0)
    lengths = np.sqrt(np.sum(rows**2, axis=0))
    # As many columns as rows are always collinear, which says nothing about them; a constant one is no relation.
    varies = np.flatnonzero(lengths > CONSTANT)
    if not 2 <= len(varies) < len(rows) - 1:
        return out
    directions = rows[:, varies] / lengths[varies]
    values, vectors = np.linalg.eigh(directions.T @ directions)
    parts = vectors[:, values < REDUNDANT * values[-1]]
    out[varies] = (np.abs(parts) > LEAST_PART).any(axis=1)
    return out
