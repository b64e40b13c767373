"""Checks and counts that concern the learned numbers of a prior: their ranges, cluster sizes, expected clusters."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from .hyperpriors import Beta, Gamma, Hyperprior, is_number
from .numerics.line import slice_step as slice_step
from .numerics.ratios import IntArray


def check_learned(name: str, value: object, above: float = 0.0, below: float = math.inf) -> float | Hyperprior | None:
    """Return a valid learned parameter, or raise.

    Valid are a number between `above` and `below` (both excluded), a hyperprior whose values stay below `below`, and
    None.
    """
    if value is None or (isinstance(value, Hyperprior) and value.below <= below):
        return value
    if isinstance(value, Real) and is_number(value) and above < float(value) < below:
        return float(value)
    if below < math.inf:
        wanted = f"a number above {above:g} and below {below:g}"
    else:
        wanted = "a positive finite number" if above == 0.0 else f"a finite number above {above:g}"
    form = hyperprior_for(below).form
    raise ValueError(f"{name} must be {wanted}, a {form} or None, got {value!r}")


def hyperprior_for(below: float) -> type[Hyperprior]:
    """The kind of hyperprior for parameters that stay below a bound."""
    return Gamma if below == math.inf else Beta


def check_count(name: str, value: object, at_least: int = 1) -> int:
    """Return a whole number of at least `at_least`, or raise."""
    if isinstance(value, Real) and is_number(value):
        number = float(value)
        if number.is_integer() and number >= at_least:
            return int(number)
    raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}")


class SizeCounts:
    """Cluster sizes in the form that probabilities need.

    Attributes
    ----------
    n_rows : int
    n_clusters : array of int (1,)
    distinct, repeats : arrays of int
        Each distinct size once, and how often it occurs.
    """

    def __init__(self, present: IntArray) -> None:
        self._present = present
        self.n_rows = int(present.sum())
        self.n_clusters: IntArray = np.array([present.size], dtype=np.int64)

    @classmethod
    def of(cls, sizes: ArrayLike | SizeCounts) -> SizeCounts:
        """Check and count sizes; zeros are ignored. What has been counted stays as it is."""
        if isinstance(sizes, SizeCounts):
            return sizes
        values = np.asarray(sizes)
        whole = values.dtype.kind in "iu" or not np.any(values != np.floor(values))
        if values.ndim != 1 or not whole or (values.size and values.min() < 0):
            raise ValueError(f"sizes must be a list of whole numbers of at least 0, got {sizes!r}")
        return cls(values[values > 0].astype(np.int64))

    @cached_property
    def _counted(self) -> tuple[IntArray, IntArray]:
        return np.unique(self._present, return_counts=True)

    @property
    def distinct(self) -> IntArray:
        return self._counted[0]

    @property
    def repeats(self) -> IntArray:
        return self._counted[1]


def solve_for_clusters(
    expected: Callable[[float], float], wanted: float, what: str, name: str, scale: type[Hyperprior]
) -> float:
    """Find where an increasing expected number of clusters equals `wanted`: Brent's method on the line of `scale`.

    `name` and `what` are for the error: the parameter, and the rows and prior.
    """
    from scipy.optimize import brentq

    low, high = (scale.to_line(value) for value in scale.extremes)
    least, most = expected(scale.from_line(low)), expected(scale.from_line(high))
    if not least < wanted < most:
        raise ValueError(
            f"n_clusters: no {name} gives {wanted:g} expected clusters among {what}; "
            f"choose a number above {least:.4g} and below {most:.4g}"
        )
    root = brentq(lambda point: expected(scale.from_line(point)) - wanted, low, high, xtol=1e-13)
    return scale.from_line(root)
