"""Numbers for JSON: finite, and with as many digits as are needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Significant digits in which the numbers of a column can differ.
DIGITS = 5


def digits(column: FloatArray) -> int:
    """Significant digits that keep the numbers of a column distinct."""
    known = column[np.isfinite(column)]
    largest = float(np.abs(known).max()) if len(known) else 0.0
    spread = float((known / largest).std()) if largest > 0.0 else 0.0
    return 9 if spread == 0.0 else int(np.clip(DIGITS + np.ceil(-np.log10(spread)), DIGITS, 15))


def plain(values: FloatArray, significant: int = DIGITS) -> list[float | int | None]:
    """Whole numbers as such, others rounded; None where a number is not finite."""
    return [
        None
        if not np.isfinite(value)
        else int(value)
        if value == int(value) and abs(value) < 1e15
        else float(f"{value:.{significant}g}")
        for value in np.asarray(values, dtype=np.float64).tolist()
    ]


def shares(values: FloatArray) -> list[float]:
    """Probabilities in three digits; only certainty is rounded to 0 or 1."""
    rounded = np.clip(np.round(values, 3), 0.001, 0.999)
    return np.where((values > 0.0) & (values < 1.0), rounded, values).tolist()
