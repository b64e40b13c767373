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

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Half the width of the window in which pairs count as near, in robust deviations.
WINDOW = 0.25
# Coarseness below this share of the deviation is left alone.
NEGLIGIBLE = 1e-4
# Of a longer table every second, third, ... row says how coarse it is.
MOST_ROWS = 20_000


def resolution(values: FloatArray) -> float:
    """How coarse a column of measurements is, from its cells that are not missing; zero where it does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.gaussian.resolution import resolution
    >>> years = np.round(np.random.default_rng(0).normal(40.0, 15.0, size=2000))
    >>> bool(0.8 < resolution(years) < 1.2), resolution(np.sqrt(np.arange(100.0)))
    (True, 0.0)
    """
    found, counts = np.unique(values, return_counts=True)
    if not 2 <= len(found) < len(values):
        return 0.0
    deviation = _robust_deviation(values)
    ends = np.concatenate([[0], np.cumsum(counts)])
    half = WINDOW * deviation
    first, last = np.searchsorted(found, found - half), np.searchsorted(found, found + half, side="right")
    equal, near = counts @ (counts - 1), counts @ (ends[last] - ends[first] - 1)
    coarse = 2.0 * half * float(equal / near)
    return coarse if coarse > NEGLIGIBLE * deviation else 0.0


def _robust_deviation(values: FloatArray) -> float:
    """The standard deviation, or what the quartiles make of it where that is less and not zero."""
    low, high = np.quantile(values, [0.25, 0.75])
    deviation, by_quartiles = float(np.std(values)), float(high - low) / 1.349
    return min(deviation, by_quartiles) if by_quartiles > 0.0 else deviation


def spread_equal_cells(X: FloatArray, columns: IntArray) -> FloatArray:
    """Rows with the equal cells of some columns spread over the resolution of their column; always in the same way.

    A row that comes several times is a repetition, as a weight would be, and no rounding: its copies stay equal. In a
    table of one column there is no telling the two apart, and equal rows are spread. Rows whose cells all differ are
    returned as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.gaussian.resolution import spread_equal_cells
    >>> X = np.repeat([[1.0], [2.0], [4.0], [8.0]], 5, axis=0)
    >>> len(np.unique(spread_equal_cells(X, np.array([0]))))
    20
    """
    found = resolutions(X, columns)
    if not found:
        return X
    distinct, back = distinct_rows(X)
    out = distinct.copy()
    rng = np.random.default_rng(20180611)
    for j, coarse in found.items():
        known = ~np.isnan(distinct[:, j])
        out[known, j] += coarse * _places(distinct[known, j], rng)
    return out[back]


def resolutions(X: FloatArray, columns: IntArray) -> dict[int, float]:
    """Resolutions of those columns where it matters, repeated rows counted once.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.gaussian.resolution import resolutions
    >>> X = np.column_stack([np.arange(40) // 2, np.sqrt(np.arange(40.0))])
    >>> sorted(resolutions(X, np.array([0, 1])))
    [0]
    """
    some = X[:: max(1, len(X) // MOST_ROWS)]
    if not any(resolution(some[~np.isnan(some[:, j]), j]) for j in columns):
        return {}
    distinct, _ = distinct_rows(some)
    found = {int(j): resolution(distinct[~np.isnan(distinct[:, j]), j]) for j in columns}
    return {j: coarse for j, coarse in found.items() if coarse > 0.0}


def distinct_rows(X: FloatArray) -> tuple[FloatArray, IntArray]:
    """Rows that differ, and where each row is among them; of one column every row counts as different."""
    if X.shape[1] == 1:
        return X, np.arange(len(X))
    distinct, back = np.unique(X, axis=0, return_inverse=True)
    return distinct, back.reshape(-1)


def _places(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Places between -1/2 and 1/2, at equal distances among equal values, in random order."""
    order = np.lexsort((rng.random(len(values)), values))
    _, first, inverse, counts = np.unique(values[order], return_index=True, return_inverse=True, return_counts=True)
    out = np.empty(len(values))
    out[order] = (np.arange(len(values)) - first[inverse] + 0.5) / counts[inverse] - 0.5
    return out
