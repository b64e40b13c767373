r"""Measurements that are equal because they were rounded: how coarse they are, and rows that are spread over that.

A density knows no equal cells. Where there are many, a cluster of rows that share one value has any density it likes,
and such spikes win over clusters that mean something. Values of a smooth density f that are rounded to multiples of r
are equal with probability :math:`r \int f^2`, and within h of each other with probability :math:`2 h \int f^2`. So

.. math:: r = 2 h \, P(x = x') / P(|x - x'| \le h),

with h a quarter of a robust standard deviation: about one year for ages in years, half of a deviation at most, and zero
where no two cells are equal. Equal cells are then spread evenly over r: no cluster can be narrower than
:math:`r / \sqrt{12}` by the rounding of its rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .columns import Column

if TYPE_CHECKING:
    from .base import Family

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Half the width of the window in which pairs count as near, in robust deviations.
WINDOW = 0.25
# Coarseness below this share of the deviation is left alone.
NEGLIGIBLE = 1e-4


def resolution(values: FloatArray, weights: FloatArray | None = None) -> float:
    """How coarse a column of measurements is; zero where it does not matter.

    Parameters
    ----------
    values : array
        Cells that are not missing.
    weights : array, optional
        How often each counts.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.resolution import resolution
    >>> years = np.round(np.random.default_rng(0).normal(40.0, 15.0, size=2000))
    >>> bool(0.8 < resolution(years) < 1.2), resolution(np.sqrt(np.arange(100.0)))
    (True, 0.0)
    """
    found, inverse = np.unique(values, return_inverse=True)
    if len(found) < 2 or (len(found) == len(values) and weights is None):
        return 0.0
    counts = np.bincount(inverse, weights=weights).astype(np.float64)
    total = counts.sum()
    equal = counts @ counts - total
    deviation = _robust_deviation(found, counts)
    if equal <= 0.0 or not deviation > 0.0:
        return 0.0
    ends = np.concatenate([[0.0], np.cumsum(counts)])
    half = WINDOW * deviation
    first, last = np.searchsorted(found, found - half), np.searchsorted(found, found + half, side="right")
    near = counts @ (ends[last] - ends[first]) - total
    coarse = 2.0 * half * equal / near
    return float(coarse) if coarse > NEGLIGIBLE * deviation else 0.0


def _robust_deviation(values: FloatArray, counts: FloatArray) -> float:
    """The standard deviation, or what the quartiles make of it where that is less and not zero; values are sorted."""
    shares = np.cumsum(counts) / counts.sum()
    low, high = values[np.searchsorted(shares, [0.25, 0.75])]
    centre = counts @ values / counts.sum()
    deviation = float(np.sqrt(counts @ (values - centre) ** 2 / counts.sum()))
    by_quartiles = float(high - low) / 1.349
    return min(deviation, by_quartiles) if by_quartiles > 0.0 else deviation


def spread_equal_cells(X: FloatArray, columns: IntArray, weights: FloatArray | None = None) -> FloatArray:
    """Rows with the equal cells of some columns spread over the resolution of their column; always in the same way.

    Rows whose cells are all different are returned as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.resolution import spread_equal_cells
    >>> X = np.repeat([[1.0], [2.0], [4.0], [8.0]], 5, axis=0)
    >>> len(np.unique(spread_equal_cells(X, np.array([0]))))
    20
    """
    out = X
    rng = np.random.default_rng(20180611)
    for j in columns:
        rows = np.flatnonzero(~np.isnan(X[:, j]))
        coarse = resolution(X[rows, j], None if weights is None else weights[rows])
        if coarse > 0.0:
            out = X.copy() if out is X else out
            out[rows, j] += coarse * _places(X[rows, j], rng)
    return out


def with_resolutions(
    columns: Sequence[Column], family: Family, X: FloatArray, weights: FloatArray | None = None
) -> tuple[Column, ...]:
    """Columns with a note where their equal cells are spread; the family is resolved, columns are those of ``X``."""
    order = family.arrange(np.arange(X.shape[1], dtype=np.float64)[None, :])[0].astype(np.int64)
    out = list(columns)
    for j in order[family.measured_columns(len(order))]:
        known = ~np.isnan(X[:, j])
        coarse = resolution(X[known, j], None if weights is None else weights[known])
        if coarse > 0.0:
            note = f"equal values are taken as rounded to {coarse:.2g}"
            out[j] = replace(out[j], note=f"{out[j].note}; {note}" if out[j].note else note)
    return tuple(out)


def _places(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Places between -1/2 and 1/2, at equal distances among equal values, in random order."""
    order = np.lexsort((rng.random(len(values)), values))
    _, first, inverse, counts = np.unique(values[order], return_index=True, return_inverse=True, return_counts=True)
    out = np.empty(len(values))
    out[order] = (np.arange(len(values)) - first[inverse] + 0.5) / counts[inverse] - 0.5
    return out
