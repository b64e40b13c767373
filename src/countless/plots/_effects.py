"""What tells clusters apart: per column or category, how far each cluster lies from all rows.

Numbers: the difference of means in standard deviations of the column. Categories: the log odds ratio of the category,
the cluster against all rows, with half a row added to each count (Haldane 1956).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._fit import Fit
from ._style import shown_names

FloatArray = NDArray[np.float64]


class Feature(NamedTuple):
    """A column, or one category of it.

    ``values`` are cluster means or shares (NaN: no cell), ``effects`` their distances from ``overall``, and ``telling``
    is the share of the variance of the column (or of being of that category) that lies between the clusters.
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
    names = shown_names(fit.data.names), shown_names(fit.data.names, 18)
    for j, column in enumerate(fit.data.columns):
        cells = fit.data.rows[:, j]
        seen = ~np.isnan(cells)
        if seen.any():
            name = names[column.is_categorical][j]
            found += _of_column(j, name, column.levels, cells[seen], fit.labels[seen], fit.n_clusters)
    return found


def _of_column(
    j: int,
    name: str,
    levels: tuple[str, ...] | None,
    cells: FloatArray,
    labels: NDArray[np.int64],
    n_clusters: int,
) -> list[Feature]:
    sizes = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    if levels is None:
        centre, spread = float(cells.mean()), float(cells.std())
        # About the centre: the means of a far-off column keep their digits.
        values = np.bincount(labels, cells - centre, minlength=n_clusters) / _or_nan(sizes)
        scale = spread if spread > 1e-14 * abs(centre) else np.inf
        between = float(np.nansum(sizes * (values / scale) ** 2) / len(cells))
        means = centre + values
        means[np.abs(means) < 1e-12 * spread] = 0.0
        return [Feature(j, name, False, centre, means, values / scale, between)]
    codes = cells.astype(np.int64)
    counts = np.bincount(labels * len(levels) + codes, minlength=n_clusters * len(levels))
    table = counts.reshape(n_clusters, -1).astype(np.float64)
    picked = [1] if len(levels) == 2 else [int(level) for level in np.flatnonzero(table.sum(axis=0))]
    shown = shown_names(levels, 14)
    return [_of_level(j, f"{name} = {shown[level]}", table[:, level], sizes) for level in picked]


def _of_level(j: int, name: str, inside: FloatArray, sizes: FloatArray) -> Feature:
    total, n = float(inside.sum()), float(sizes.sum())
    overall = total / n
    shares = inside / _or_nan(sizes)
    odds = np.log((inside + 0.5) / (sizes - inside + 0.5)) - np.log((total + 0.5) / (n - total + 0.5))
    variance = overall * (1.0 - overall)
    between = float(np.nansum(sizes * (shares - overall) ** 2) / n / variance) if variance > 0.0 else 0.0
    return Feature(j, name, True, overall, shares, np.where(sizes > 0.0, odds, np.nan), between)


def _or_nan(sizes: FloatArray) -> FloatArray:
    return np.where(sizes > 0.0, sizes, np.nan)
