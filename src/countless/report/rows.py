"""The rows of the page: which of them, which columns, their cells with as many digits as are needed, and a plane.

The plane is that of the first two principal components. Numbers are standardised; a category l of share p enters as
(1[l] - p) / sqrt(p), as in multiple correspondence analysis (Greenacre 2017, *Correspondence analysis in
practice*), scaled so that each column has a variance of one; a missing cell counts as the mean of its column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Cells and columns beyond which a page would be too large, or too wide to be read.
MOST_CELLS = 900_000
MOST_COLUMNS = 60
# Clusters of up to this many rows are shown whole.
SMALL = 100
# Digits by which the cells of a column differ.
DIGITS = 5
# Categories of one column that enter the plane: the most frequent ones.
MOST_LEVELS = 20


@dataclass(frozen=True)
class Shown:
    """Numbers of the rows and of the columns that the page holds."""

    rows: IntArray
    columns: IntArray

    @classmethod
    def of(cls, data: Any, labels: NDArray[Any], most_rows: int) -> Shown:
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


def cells(data: Any, shown: Shown) -> list[dict[str, Any]]:
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


def plane(data: Any, shown: Shown) -> dict[str, Any] | None:
    """The shown rows in the plane of the first two principal components, with their shares of the variance."""
    encoded = np.concatenate([_encoded(data.rows[:, j], column) for j, column in enumerate(data.columns)], axis=1)
    if len(data.columns) < 2 or encoded.shape[1] < 2 or len(encoded) < 3:
        return None
    values, vectors = np.linalg.eigh(encoded.T @ encoded)
    total = float(values.sum())
    if total <= 0.0:
        return None
    axes = vectors[:, ::-1][:, :2]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    points = encoded[shown.rows] @ axes
    return {
        "x": plain(points[:, 0], DIGITS),
        "y": plain(points[:, 1], DIGITS),
        "share": [round(float(value) / total, 4) for value in values[::-1][:2]],
    }


def _encoded(cells: FloatArray, column: Any) -> FloatArray:
    known = ~np.isnan(cells)
    if not known.any():
        return np.zeros((len(cells), 0))
    if column.levels is None:
        mean, scale = cells[known].mean(), cells[known].std()
        return np.where(known, (cells - mean) / (scale or 1.0), 0.0)[:, None] if scale else np.zeros((len(cells), 0))
    shares = np.bincount(cells[known].astype(np.int64), minlength=len(column.levels)) / known.sum()
    codes = [code for code in np.argsort(-shares, kind="stable")[:MOST_LEVELS] if 0.0 < shares[code] < 1.0]
    if not codes:
        return np.zeros((len(cells), 0))
    scale = np.sqrt(max(len(codes) - 1, 1))
    parts = [np.where(known, ((cells == code) - shares[code]) / (np.sqrt(shares[code]) * scale), 0.0) for code in codes]
    return np.stack(parts, axis=1)
