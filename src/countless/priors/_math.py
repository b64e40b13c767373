"""Ratios of gamma functions that stay accurate where a difference of two log-gammas would cancel.

Reference: Abramowitz & Stegun 1964, 6.1.41 (Stirling's series) and 6.3.18 (the digamma series).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# From here on four terms of Stirling's series are exact to double precision.
_ASYMPTOTIC = 20.0
_LIFT = 20


def log_gamma_ratio(x: ArrayLike, shift: ArrayLike) -> FloatArray:
    """Return log Gamma(x + shift) - log Gamma(x) for x > 0 and shift >= 0, without cancellation.

    With a whole number `shift` this is the log of the rising factorial x (x+1) ... (x+shift-1).
    """
    start, step = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(shift, dtype=np.float64))
    large = start >= _ASYMPTOTIC
    if large.all():
        return _stirling_ratio(start, step)
    result = np.empty(start.shape)
    result[large] = _stirling_ratio(start[large], step[large])
    result[~large] = _small_ratio(start[~large], step[~large])
    return result


def _stirling_ratio(x: FloatArray, shift: FloatArray) -> FloatArray:
    end = x + shift
    ratio = (x - 0.5) * np.log1p(shift / x) + shift * (np.log(end) - 1.0)
    return np.asarray(ratio + (_stirling_series(end) - _stirling_series(x)))


def _stirling_series(x: FloatArray) -> FloatArray:
    square = 1.0 / (x * x)
    return np.asarray((1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x)


def _small_ratio(x: FloatArray, shift: FloatArray) -> FloatArray:
    result = np.empty(x.shape)
    far = shift >= 1.0
    result[far] = gammaln(x[far] + shift[far]) - gammaln(x[far])
    # A short shift would cancel, so the pair is lifted to where Stirling's series holds.
    start, step = x[~far], shift[~far]
    lifted = _stirling_ratio(start + _LIFT, step)
    for i in range(_LIFT):
        lifted -= np.log1p(step / (start + i))
    result[~far] = lifted
    return result


def digamma_difference(x: float, n: float) -> float:
    """Return digamma(x + n) - digamma(x) = sum of 1/(x+i) for i < n, also where x is far larger than n."""
    if x < _ASYMPTOTIC:
        return float(digamma(x + n) - digamma(x))

    def series(y: float) -> float:
        square = 1.0 / (y * y)
        return 0.5 / y + square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))

    return float(np.log1p(n / x) + (series(x) - series(x + n)))
