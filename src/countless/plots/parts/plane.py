"""A plane for the rows: two columns as they are, or the first two principal components of several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ...core.text import count
from ...families.columns import Column
from ...posterior.data import Data
from .style import shown_name

FloatArray = NDArray[np.float64]

# Categories beyond the most frequent ones get no direction of their own.
MOST_LEVELS = 30
# Rows that the directions are found from, where a table is long and wide.
MOST_ROWS = 20_000
# Half the width that equal cells are spread over.
JITTER = 0.3


class Plane(NamedTuple):
    """Places of rows, which rows these are, and what the two axes show."""

    places: FloatArray
    rows: NDArray[np.int64]
    names: tuple[str, str]
    levels: tuple[tuple[str, ...] | None, tuple[str, ...] | None]
    note: str
    dates: tuple[bool, bool] = (False, False)


def two_columns(data: Data, first: int, second: int) -> Plane:
    """Two columns as they are; categories and whole numbers are jittered, so that equal cells do not overlap."""
    cells = data.rows[:, [first, second]]
    rows = np.flatnonzero(~np.isnan(cells).any(axis=1))
    columns = data.columns[first], data.columns[second]
    if len(rows) == 0:
        raise ValueError(f"columns: no row has a cell in both {columns[0].name!r} and {columns[1].name!r}")
    missing = len(cells) - len(rows)
    note = f"{count(missing, 'row')} with a missing cell left out" if missing else ""
    return Plane(
        _spread_out(cells[rows], columns),
        rows,
        (shown_name(columns[0].name, 60), shown_name(columns[1].name, 60)),
        (columns[0].levels, columns[1].levels),
        note,
        (columns[0].is_date, columns[1].is_date),
    )


def principal(data: Data, picked: list[int]) -> Plane:
    """First two principal components of the columns, each column with one unit of variance.

    Categories are as many columns of zeros and ones, which share the unit of variance; a missing cell is the mean of
    its column.
    """
    sheet = indicators(data, picked)
    few = sheet if len(sheet) <= MOST_ROWS else sheet[:: -(-len(sheet) // MOST_ROWS)]
    d = sheet.shape[1]
    spread = few.T @ few
    wanted = None if d < 3 else (d - 2, d - 1)
    values, vectors = scipy.linalg.eigh(spread, subset_by_index=wanted)
    directions = vectors[:, ::-1][:, :2]
    # The sign of an eigenvector is arbitrary, and may differ between machines.
    directions = directions * np.where(directions.sum(axis=0) < 0.0, -1.0, 1.0)
    shares = values[::-1][:2] / max(float(np.trace(spread)), np.finfo(float).tiny)
    names = (
        f"principal component 1 of {len(picked)} columns ({shares[0]:.0%} of the variance)",
        f"principal component 2 ({shares[1]:.0%})",
    )
    missing = np.isnan(data.rows[:, picked]).any()
    return Plane(
        sheet @ directions,
        np.arange(len(sheet)),
        names,
        (None, None),
        "missing cells at the mean of their column" if missing else "",
    )


def indicators(data: Data, picked: list[int]) -> FloatArray:
    """Columns of mean zero without missing cells, of variance one for each column of the table."""
    parts = []
    for j in picked:
        cells, column = data.rows[:, j], data.columns[j]
        block = _zeros_and_ones(cells) if column.is_categorical else cells[:, None]
        # A column whose cells are all missing has no mean.
        missing = np.isnan(cells)
        if missing.all():
            continue
        centred = block - block[~missing].mean(axis=0)
        centred[missing] = 0.0
        variance = float((centred**2).mean(axis=0).sum())
        parts.append(centred / np.sqrt(variance) if variance > 0.0 else centred)
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(data.rows), 1))


def _zeros_and_ones(codes: FloatArray) -> FloatArray:
    levels, counts = np.unique(codes[~np.isnan(codes)], return_counts=True)
    frequent = levels[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
    return (codes[:, None] == frequent).astype(np.float64)


def _spread_out(cells: FloatArray, columns: tuple[Column, Column]) -> FloatArray:
    """Cells on a coarse grid, jittered so that equal ones do not hide each other."""
    places = cells.copy()
    some = cells[: 4 * MOST_ROWS]
    crowded = len(np.unique(some, axis=0)) <= 0.5 * len(some)
    rng = np.random.default_rng(0)
    for axis, column in enumerate(columns):
        whole = not np.any(cells[:, axis] != np.floor(cells[:, axis]))
        if column.is_categorical or (crowded and whole):
            places[:, axis] += rng.uniform(-JITTER, JITTER, size=len(cells))
    return places
