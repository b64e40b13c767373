"""Ratios of gamma functions, accurate also where two log-gammas would cancel.

Reference: Abramowitz & Stegun 1964, 6.1.41 (Stirling's series) and 6.3.18 (the digamma series).
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Number = TypeVar("Number", float, FloatArray)

# Above this, four terms of Stirling's series are exact to double precision.
_ASYMPTOTIC = 20.0
_LIFT = 20


def log_gamma_ratio(x: ArrayLike, shift: ArrayLike) -> FloatArray:
    """Return log Gamma(x + shift) - log Gamma(x) for x > 0 and shift >= 0, without cancellation.

    For an integer `shift` this is the log of the rising factorial x (x+1) ... (x+shift-1).
    """
    if isinstance(x, float) and isinstance(shift, int | float):
        return np.asarray(_scalar_ratio(x, float(shift)))
    start, step = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(shift, dtype=np.float64))
    large = start >= _ASYMPTOTIC
    if large.all():
        return _stirling_ratio(start, step)
    result = np.empty(start.shape)
    result[large] = _stirling_ratio(start[large], step[large])
    result[~large] = _small_ratio(start[~large], step[~large])
    return result


def _scalar_ratio(x: float, shift: float) -> float:
    """The same for two numbers; a slice-sampling step needs thousands of these."""
    if x < _ASYMPTOTIC and shift >= 1.0:
        return math.lgamma(x + shift) - math.lgamma(x)
    lift = 0.0
    while x < _ASYMPTOTIC:
        lift += math.log1p(shift / x)
        x += 1.0
    end = x + shift
    ratio = (x - 0.5) * math.log1p(shift / x) + shift * (math.log(end) - 1.0)
    return ratio + (_stirling_series(end) - _stirling_series(x)) - lift


def _stirling_ratio(x: FloatArray, shift: FloatArray) -> FloatArray:
    end = x + shift
    ratio = (x - 0.5) * np.log1p(shift / x) + shift * (np.log(end) - 1.0)
    return np.asarray(ratio + (_stirling_series(end) - _stirling_series(x)))


def _stirling_series(x: Number) -> Number:
    square = 1.0 / (x * x)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x


def log_gamma_ratio_short(x: FloatArray, shift: float) -> FloatArray:
    """The same ratio for one small shift and a long array of x, with a single logarithm for each.

    Around w = x + (shift - 1)/2 the even terms of the expansion cancel (Tricomi & Erdelyi 1951), which leaves
    shift log w less the odd Bernoulli polynomials B_k((1 + shift)/2) 2 / (k (k-1) w^(k-1)).
    """
    if shift > 2.0 or x.size == 0:
        return log_gamma_ratio(x, shift)
    n_small = int(np.searchsorted(x, _ASYMPTOTIC)) if x[0] < _ASYMPTOTIC else 0
    a = 0.5 * (1.0 + shift)
    third = a * (0.5 + a * (-1.5 + a))
    fifth = a * (-1 / 6 + a**2 * (5 / 3 + a * (-5 / 2 + a)))
    seventh = a * (1 / 6 + a**2 * (-7 / 6 + a**2 * (7 / 2 + a * (-7 / 2 + a))))
    ninth = a * (-3 / 10 + a**2 * (2 + a**2 * (-21 / 5 + a**2 * (6 + a * (-9 / 2 + a)))))
    w = x[n_small:] + 0.5 * (shift - 1.0)
    square = 1.0 / (w * w)
    series = square * (third / 3 + square * (fifth / 10 + square * (seventh / 21 + square * (ninth / 36))))
    return np.concatenate([log_gamma_ratio(x[:n_small], shift), shift * np.log(w) - series])


def _small_ratio(x: FloatArray, shift: FloatArray) -> FloatArray:
    result = np.empty(x.shape)
    far = shift >= 1.0
    result[far] = gammaln(x[far] + shift[far]) - gammaln(x[far])
    # A small shift would cancel, so x is raised to where Stirling's series is accurate.
    start, step = x[~far], shift[~far]
    lifted = _stirling_ratio(start + _LIFT, step)
    for i in range(_LIFT):
        lifted -= np.log1p(step / (start + i))
    result[~far] = lifted
    return result


def digamma_difference(x: float, n: float) -> float:
    """Return digamma(x + n) - digamma(x) = sum of 1/(x+i) for i < n, accurate also where x is far larger than n."""
    if x < _ASYMPTOTIC:
        return float(digamma(x + n) - digamma(x))

    def series(y: float) -> float:
        square = 1.0 / (y * y)
        return 0.5 / y + square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))

    return float(np.log1p(n / x) + (series(x) - series(x + n)))
