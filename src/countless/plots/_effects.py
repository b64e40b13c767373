"""What tells clusters apart: per column or category, how far each cluster lies from all rows.

Numbers: the difference of means in standard deviations of the column. Categories: the log odds ratio of the category,
the cluster against all rows, with half a row added to each count (Haldane 1956).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..families.columns import Column
from ._fit import Fit
from ._style import shown_name

FloatArray = NDArray[np.float64]


class Feature(NamedTuple):
    """A column, or one category of it.

    ``values`` are cluster means or shares (NaN: no cell), ``effects`` their distances from ``overall``, and ``telling`` is
    the share of the variance of the column (or of being of that category) that lies between the clusters.
    """

    column: int
    name: str
    is_share: bool
    overall: float
    values: FloatArray
    effects: FloatArray
    telling: float


def features(fit: Fit) -> list[Feature]:
    """All columns, categories one by one; of two categories the second says it all."""
    found: list[Feature] = []
    for j, column in enumerate(fit.data.columns):
        cells = fit.data.rows[:, j]
        seen = ~np.isnan(cells)
        if seen.any():
            found += _of_column(j, column, cells[seen], fit.labels[seen], fit.n_clusters)
    return found


def _of_column(j: int, column: Column, cells: FloatArray, labels: NDArray[np.int64], n_clusters: int) -> list[Feature]:
    sizes = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    if column.levels is None:
        centre, spread = float(cells.mean()), float(cells.std())
        # About the centre: the means of a far-off column keep their digits.
        values = np.bincount(labels, cells - centre, minlength=n_clusters) / _or_nan(sizes)
        scale = spread if spread > 1e-14 * abs(centre) else np.inf
        between = float(np.nansum(sizes * (values / scale) ** 2) / len(cells))
        return [Feature(j, shown_name(column.name), False, centre, centre + values, values / scale, between)]
    codes = cells.astype(np.int64)
    counts = np.bincount(labels * len(column.levels) + codes, minlength=n_clusters * len(column.levels))
    table = counts.reshape(n_clusters, -1).astype(np.float64)
    picked = [1] if len(column.levels) == 2 else [int(level) for level in np.flatnonzero(table.sum(axis=0))]
    return [_of_level(j, column, level, table[:, level], sizes) for level in picked]


def _of_level(j: int, column: Column, level: int, inside: FloatArray, sizes: FloatArray) -> Feature:
    total, n = float(inside.sum()), float(sizes.sum())
    overall = total / n
    shares = inside / _or_nan(sizes)
    odds = np.log((inside + 0.5) / (sizes - inside + 0.5)) - np.log((total + 0.5) / (n - total + 0.5))
    variance = overall * (1.0 - overall)
    between = float(np.nansum(sizes * (shares - overall) ** 2) / n / variance) if variance > 0.0 else 0.0
    name = f"{shown_name(column.name, 18)} = {shown_name((column.levels or ())[level], 14)}"
    return Feature(j, name, True, overall, shares, np.where(sizes > 0.0, odds, np.nan), between)


def _or_nan(sizes: FloatArray) -> FloatArray:
    return np.where(sizes > 0.0, sizes, np.nan)
