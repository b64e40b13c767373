"""Numbers that stand for missing cells, such as -999: found where they are far from everything else in their column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# What people write for a missing cell.
USUAL = (-9.0, *(sign * (10.0**digits - 1.0) for digits in range(2, 7) for sign in (-1.0, 1.0)))
# Fewer cells than these are rather an outlier.
FEWEST = 2


def suspected_missing(values: FloatArray) -> float | None:
    """A number that may mark missing cells; None where there is none.

    It is one of the usual ones, comes more than once, and is farther from all other numbers than these are from each
    other.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.table.sentinels import suspected_missing
    >>> suspected_missing(np.array([-999.0, 31.0, 45.0, -999.0, 28.0]))
    -999.0
    >>> suspected_missing(np.array([99.0, 31.0, 80.0, 99.0, 28.0])) is None
    True
    """
    for end in (float(values.min()), float(values.max())):
        others = values[values != end]
        if end in USUAL and len(values) - len(others) >= FEWEST and len(others) and np.ptp(others) > 0.0:
            gap = float(np.abs(others - end).min())
            if gap > np.ptp(others):
                return end
    return None
