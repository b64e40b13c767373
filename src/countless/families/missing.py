"""Missing cells where only the distribution of a column matters: for the defaults of hyperparameters, and for units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def fill_missing(X: FloatArray) -> FloatArray:
    """The table with missing cells filled by evenly spaced quantiles of their column, which keep its distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.missing import fill_missing
    >>> fill_missing(np.array([[1.0], [np.nan], [3.0], [2.0]]))[:, 0].tolist()
    [1.0, 2.0, 3.0, 2.0]
    """
    missing = np.isnan(X)
    if not missing.any():
        return np.ascontiguousarray(X)
    filled = np.array(X, order="C")
    for j in np.flatnonzero(missing.any(axis=0)):
        observed = np.sort(X[~missing[:, j], j])
        count = int(missing[:, j].sum())
        # Cells of the data themselves, so that codes stay codes and counts whole.
        places = ((np.arange(count) + 0.5) / count * len(observed)).astype(np.int64)
        filled[missing[:, j], j] = observed[places] if len(observed) else 0.0
    return filled
