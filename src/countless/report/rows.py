"""The rows of the page: which of them, which columns, their cells with as many digits as are needed, and a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plots._plane import principal
from ..posterior.data import Data

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Cells and columns beyond which a page would be too large, or too wide to be read.
MOST_CELLS = 900_000
MOST_COLUMNS = 60
# Clusters of up to this many rows are shown whole.
SMALL = 100
# Digits by which the cells of a column differ.
DIGITS = 5


@dataclass(frozen=True)
class Shown:
    """Numbers of the rows and of the columns that the page holds."""

    rows: IntArray
    columns: IntArray

    @classmethod
    def of(cls, data: Data, labels: NDArray[Any], most_rows: int) -> Shown:
        """At most ``most_rows`` rows, always the same ones, small clusters whole; the columns that tell most."""
        n_columns = min(data.rows.shape[1], MOST_COLUMNS)
        rows = spread(labels, min(most_rows, MOST_CELLS // n_columns), SMALL)
        if n_columns == data.rows.shape[1]:
            return cls(rows, np.arange(n_columns))
        telling = [separation(data.rows[:, j], labels, column.levels) for j, column in enumerate(data.columns)]
        best = np.argsort(-np.asarray(telling), kind="stable")[:n_columns]
        return cls(rows, np.sort(best))


def spread(labels: NDArray[Any], at_most: int, whole: int) -> IntArray:
    """Numbers of at most so many rows, in order: up to ``whole`` of each cluster, the others at random."""
    n = len(labels)
    if n <= at_most:
        return np.arange(n)
    order = np.random.default_rng(0).permutation(n)
    by_cluster = order[np.argsort(labels[order], kind="stable")]
    starts = np.searchsorted(labels[by_cluster], labels[by_cluster])
    rank = np.empty(n, dtype=np.int64)
    rank[by_cluster] = np.arange(n) - starts
    whole = min(whole, max(1, at_most // (2 * (int(labels.max()) + 1))))
    first = order[rank[order] < whole][:at_most]
    rest = order[rank[order] >= whole][: at_most - len(first)]
    return np.sort(np.concatenate([first, rest]))


def separation(cells: FloatArray, labels: NDArray[Any], levels: tuple[str, ...] | None) -> float:
    """Share of the variance of a column between clusters; of its indicators, for categories."""
    known = ~np.isnan(cells)
    x, z = cells[known], labels[known]
    if len(x) < 2:
        return 0.0
    counts = np.maximum(np.bincount(z), 1)
    parts = [x] if levels is None else [(x == code).astype(float) for code in range(len(levels))]
    total = sum(float(part.var()) for part in parts)
    sizes = np.bincount(z)
    between = sum(
        float(np.average((np.bincount(z, part) / counts - part.mean()) ** 2, weights=sizes)) for part in parts
    )
    return between / total if total > 0.0 else 0.0


def cells(data: Data, shown: Shown) -> list[dict[str, Any]]:
    """Each shown column with its cells; null for a missing one."""
    out = []
    for j in shown.columns:
        column, values = data.columns[j], data.rows[shown.rows, j]
        out.append(
            {
                "name": column.name,
                "family": column.family,
                "levels": None if column.levels is None else [str(level) for level in column.levels],
                "missing": int(np.isnan(data.rows[:, j]).sum()),
                "cells": plain(values, digits(data.rows[:, j])),
            }
        )
    return out


def digits(column: FloatArray) -> int:
    """Significant digits with which the cells of a column can be told apart."""
    known = column[np.isfinite(column)]
    largest = float(np.abs(known).max()) if len(known) else 0.0
    spread = float((known / largest).std()) if largest > 0.0 else 0.0
    return 9 if spread == 0.0 else int(np.clip(DIGITS + np.ceil(-np.log10(spread)), DIGITS, 15))


def plain(values: FloatArray, significant: int) -> list[float | int | None]:
    """Numbers for JSON: whole ones as such, others rounded, None for NaN."""
    return [
        None
        if value != value
        else int(value)
        if value == int(value) and abs(value) < 1e15
        else float(f"{value:.{significant}g}")
        for value in values.tolist()
    ]


def shares(values: FloatArray) -> list[float]:
    """Probabilities for JSON; what is not certain is not rounded to certainty."""
    rounded = np.clip(np.round(values, 3), 0.001, 0.999)
    return np.where((values > 0.0) & (values < 1.0), rounded, values).tolist()


def plane(data: Data, shown: Shown) -> dict[str, Any] | None:
    """The shown rows in the plane of the first two principal components; None where there is no plane."""
    if len(data.columns) < 2 or len(data.rows) < 3:
        return None
    found = principal(data, list(range(len(data.columns))))
    if found.places.shape[1] < 2:
        return None
    points = found.places[shown.rows]
    return {"x": plain(points[:, 0], DIGITS), "y": plain(points[:, 1], DIGITS), "names": found.names}
