"""The rows of a page: which rows and columns it holds, their cells, clusters and probabilities, and a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plots.parts.fit import SURE, Fit
from ..plots.parts.pick import spread
from ..plots.parts.plane import principal
from ..posterior.data import Data
from .numbers import digits, plain, shares

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# More cells would make a page too large, more columns too wide to read.
MOST_CELLS = 900_000
MOST_COLUMNS = 60
# Clusters of up to this many rows are shown whole.
SMALL = 100


@dataclass(frozen=True)
class Shown:
    """Numbers of the rows and columns that a page holds."""

    rows: IntArray
    columns: IntArray

    @classmethod
    def of(cls, data: Data, labels: NDArray[Any], most_rows: int) -> Shown:
        """At most ``most_rows`` rows, the same ones each time, small clusters whole; the most distinctive columns."""
        n_columns = min(data.rows.shape[1], MOST_COLUMNS)
        rows = spread(labels, min(most_rows, MOST_CELLS // n_columns), SMALL)
        if n_columns == data.rows.shape[1]:
            return cls(rows, np.arange(n_columns))
        between = [separation(data.rows[:, j], labels, column.levels) for j, column in enumerate(data.columns)]
        best = np.argsort(-np.asarray(between), kind="stable")[:n_columns]
        return cls(rows, np.sort(best))


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


def rows_content(fit: Fit, shown: Shown) -> dict[str, Any]:
    """The rows that scatter, table and tooltips of a page share."""
    data, sure = fit.data, fit.certainty
    return {
        "n_rows": fit.n_rows,
        "n_columns": len(data.columns),
        "sure": SURE,
        "sizes": fit.sizes.tolist(),
        "number": (shown.rows + 1).tolist(),
        "name": None if data.row_names is None else data.row_names.values[shown.rows].tolist(),
        "cluster": fit.labels[shown.rows].tolist(),
        "p": shares(sure.probability[shown.rows]),
        "second": sure.runner_up[shown.rows].tolist(),
        "p2": shares(sure.runner_up_probability[shown.rows]),
        "columns": cells(data, shown),
        "plane": plane(data, shown),
    }


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
                "dates": column.is_date,
                "missing": int(np.isnan(data.rows[:, j]).sum()),
                "cells": plain(values, digits(data.rows[:, j])),
            }
        )
    return out


def plane(data: Data, shown: Shown) -> dict[str, Any] | None:
    """The shown rows in the plane of the first two principal components; None where there is no plane."""
    if len(data.columns) < 2 or len(data.rows) < 3:
        return None
    found = principal(data, list(range(len(data.columns))))
    if found.places.shape[1] < 2:
        return None
    points = found.places[shown.rows]
    return {"x": plain(points[:, 0]), "y": plain(points[:, 1]), "names": found.names}
