"""What distinguishes clusters: per column or category, the distance of each cluster from all rows.

Numbers: the difference of means in standard deviations of the column. Categories, zeros and ones, and shares of a
total: the log odds ratio of the cluster against all rows, half a row added to each count (Haldane 1956), times
sqrt(3) / pi, which makes it a difference in standard deviations too (Chinn 2000), as in ``posterior.summaries``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...families.columns import Column
from ...posterior.partition.summaries import DEVIATIONS
from .fit import Fit
from .style import shown_names

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
    """All columns, one feature for each category; of two categories, the second only."""
    found: list[Feature] = []
    names = shown_names(fit.data.names), shown_names(fit.data.names, 18)
    parts = [j for j, column in enumerate(fit.data.columns) if column.cells == "shares"]
    totals = np.nansum(fit.data.rows[:, parts], axis=1)
    for j, column in enumerate(fit.data.columns):
        cells = fit.data.rows[:, j]
        seen = ~np.isnan(cells)
        if seen.any():
            name = names[column.is_categorical][j]
            weights = totals[seen] if column.cells == "shares" else np.ones(int(seen.sum()))
            found += _of_column(j, name, column, cells[seen], fit.labels[seen], weights, fit.n_clusters)
    return found


def _of_column(
    j: int,
    name: str,
    column: Column,
    cells: FloatArray,
    labels: NDArray[np.int64],
    weights: FloatArray,
    n_clusters: int,
) -> list[Feature]:
    sizes = _sums(labels, weights, n_clusters)
    levels = column.levels
    yes_or_no = bool(np.all((cells == 0.0) | (cells == 1.0))) and np.ptp(cells) > 0.0
    if levels is None and (column.cells == "shares" or yes_or_no):
        return [_of_level(j, name, _sums(labels, cells, n_clusters), sizes)]
    if levels is None:
        centre, spread = float(cells.mean()), float(cells.std())
        # About the centre: the means of a far-off column keep their digits.
        values = _sums(labels, cells - centre, n_clusters) / _or_nan(sizes)
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
    overall = total / max(n, 1.0)
    shares = inside / _or_nan(sizes)
    odds = DEVIATIONS * (np.log((inside + 0.5) / (sizes - inside + 0.5)) - np.log((total + 0.5) / (n - total + 0.5)))
    variance = overall * (1.0 - overall)
    between = float(np.nansum(sizes * (shares - overall) ** 2) / n / variance) if variance > 0.0 else 0.0
    return Feature(j, name, True, overall, shares, np.where(sizes > 0.0, odds, np.nan), between)


def _sums(labels: NDArray[np.int64], cells: FloatArray, n_clusters: int) -> FloatArray:
    return np.bincount(labels, cells, minlength=n_clusters).astype(np.float64)


def _or_nan(sizes: FloatArray) -> FloatArray:
    return np.where(sizes > 0.0, sizes, np.nan)
