"""The concentration of a partition prior: a number, or a gamma law from which it is learned.

Holds the gamma law, quadrature over it, and the two ways to update a concentration given a partition:
slice sampling (Neal 2003) and the posterior mode in log space (Raykov, Boukouvalas & Little 2016, app. A).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammainccinv, gammaincinv, gammaln, logsumexp

from ..core.random import as_generator
from ._math import FloatArray, IntArray

__all__ = ["Gamma"]

# Below this every prior has one cluster to double precision, so that the rest of the gamma law is one atom.
_NEGLIGIBLE = 1e-14
_TAIL = 1e-17
_NODES_PER_PANEL = 16


@dataclass(frozen=True)
class Gamma:
    r"""Gamma law of a concentration that is to be learned, with mean ``shape / rate``.

    .. math:: p(c) = \frac{b^a}{\Gamma(a)} c^{a-1} e^{-b c}, \qquad a = \text{shape}, \; b = \text{rate}

    Parameters
    ----------
    shape, rate : float
        Positive numbers. `rate` is the inverse of the scale.

    References
    ----------
    Escobar & West 1995, *Bayesian density estimation and inference using mixtures*, section 6.

    Examples
    --------
    >>> from countless.priors import Gamma
    >>> Gamma(shape=2.0, rate=4.0).mean
    0.5
    """

    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            value = getattr(self, name)
            if not _is_number(value) or not 0.0 < value < math.inf:
                raise ValueError(f"{name}: a gamma law needs a positive finite number, got {value!r}")
            object.__setattr__(self, name, float(value))

    @property
    def mean(self) -> float:
        """Prior mean, shape / rate."""
        return self.shape / self.rate

    def log_density(self, value: ArrayLike) -> FloatArray:
        """Log density with respect to the concentration itself (not its logarithm)."""
        point = np.asarray(value, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (
                self.shape * math.log(self.rate)
                - gammaln(self.shape)
                + (self.shape - 1.0) * np.log(point)
                - self.rate * point
            )
        return np.where(point > 0.0, inside, -np.inf)

    def log_density_of_log(self, value: float) -> float:
        """Log density of the log concentration, at the concentration `value`: one factor `value` more."""
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant + self.shape * math.log(value) - self.rate * value

    def sample(self, rng: Any = None) -> float:
        """Draw one concentration."""
        drawn = as_generator(rng).gamma(self.shape, 1.0 / self.rate)
        # A very small shape can underflow to zero, which is no concentration.
        return max(float(drawn), float(np.finfo(np.float64).tiny))

    def quadrature(self, n_rows: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights for expectations of smooth functions of the concentration.

        Gauss-Legendre panels in the log of the concentration; they are narrower where a partition of
        `n_rows` rows tells concentrations apart better, which it does to about 1/sqrt(expected clusters).
        """
        low = max(float(gammaincinv(self.shape, _TAIL)) / self.rate, _NEGLIGIBLE)
        high = float(gammainccinv(self.shape, _TAIL)) / self.rate
        atom = float(gammainc(self.shape, self.rate * low))
        if high <= low:
            return np.array([low]), np.array([1.0])
        grid = np.linspace(math.log(low), math.log(high), 2001)
        resolution = 0.4 + 0.25 * np.sqrt(np.exp(grid) * np.log1p(n_rows * np.exp(-grid)))
        progress = np.concatenate([[0.0], np.cumsum((resolution[1:] + resolution[:-1]) * np.diff(grid) / 2)])
        n_panels = max(12, math.ceil(progress[-1]))
        edges = np.interp(np.linspace(0.0, progress[-1], n_panels + 1), progress, grid)
        logs, widths = _panel_nodes(edges)
        nodes = np.exp(logs)
        weights = widths * np.exp(self.log_density(nodes) + logs)
        keep = weights > _TAIL
        return np.append(nodes[keep], low), np.append(weights[keep], atom)


def log_expectation(log_function: Callable[[float], float], gamma: Gamma) -> float:
    """Log of the mean of exp(log_function(c)) over c ~ gamma, by quadrature around its own peak."""

    def log_integrand(log_value: float) -> float:
        value = math.exp(log_value)
        return log_function(value) + gamma.log_density_of_log(value)

    floor = math.log(_NEGLIGIBLE)
    peak = max(mode_of_log(log_integrand, gamma), floor)
    height = log_integrand(peak)
    if height == -math.inf:
        return -math.inf
    ends = []
    for direction in (-1.0, 1.0):
        reach = 0.05
        while log_integrand(peak + direction * reach) > height - 42.0 and (direction > 0 or peak - reach > floor):
            reach *= 1.5
        ends.append(max(peak + direction * reach, floor))
    edges = np.concatenate([np.linspace(ends[0], peak, 9)[:-1], np.linspace(peak, ends[1], 9)])
    logs, widths = _panel_nodes(edges)
    with np.errstate(divide="ignore"):
        terms = np.log(widths) + np.array([log_integrand(float(point)) for point in logs])
        atom = float(np.log(gammainc(gamma.shape, gamma.rate * math.exp(ends[0]))))
    return float(logsumexp(np.append(terms, atom + log_function(math.exp(ends[0])))))


def _panel_nodes(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    half = np.diff(edges)[:, None] / 2
    centre = (edges[1:] + edges[:-1])[:, None] / 2
    return (centre + half * nodes).ravel(), (half * weights).ravel()


def mode_of_log(log_target: Callable[[float], float], gamma: Gamma) -> float:
    """Where a log density of the *log* concentration is highest: a coarse scan, then Brent's method.

    The scan makes the answer independent of where one starts. Its range: given any partition of n rows the
    mode is at most (shape + n) / rate, and about shape / (rate + log n) at least; n up to 1e10 is allowed for.
    """
    from scipy.optimize import minimize_scalar

    centre = math.log(gamma.mean)
    low = min(centre, math.log(gamma.shape), 0.0) - 10.0
    high = math.log(gamma.shape + 1e10) - math.log(gamma.rate) + 1.0
    grid = np.arange(low, high)
    heights = np.array([log_target(float(point)) for point in grid])
    if heights.max() == -np.inf:  # impossible whatever the concentration: no point is better than the mean
        return centre
    best = float(grid[int(np.argmax(heights))])
    found = minimize_scalar(
        lambda point: -log_target(point),
        bounds=(best - 1.0, best + 1.0),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(found.x)


def slice_step(
    log_target: Callable[[float], float],
    current: float,
    rng: np.random.Generator,
    width: float = 1.0,
    max_steps: int = 64,
) -> float:
    """One univariate slice-sampling step with stepping out and shrinkage.

    Leaves exp(log_target) invariant. Reference: Neal 2003, *Slice sampling*, figures 3 and 5.
    """
    level = log_target(current) - rng.exponential()
    left = current - width * rng.random()
    right = left + width
    # The budget of steps is split at random between the two sides: without that the step is not reversible.
    steps_left = int(max_steps * rng.random())
    steps_right = max_steps - 1 - steps_left
    while steps_left > 0 and log_target(left) > level:
        left -= width
        steps_left -= 1
    while steps_right > 0 and log_target(right) > level:
        right += width
        steps_right -= 1
    while True:
        proposal = left + (right - left) * rng.random()
        if log_target(proposal) > level:
            return proposal
        if right - left < 1e-14 * (1.0 + abs(current)):
            return current
        if proposal < current:
            left = proposal
        else:
            right = proposal


def check_concentration(value: object, above: float = 0.0) -> float | Gamma | None:
    """Return a valid concentration, or raise: a number greater than `above`, a `Gamma`, or None."""
    if value is None or isinstance(value, Gamma):
        return value
    if isinstance(value, Real) and _is_number(value) and above < float(value) < math.inf:
        return float(value)
    wanted = "a positive finite number" if above == 0.0 else f"a finite number above {above:g}"
    raise ValueError(f"concentration must be {wanted}, a Gamma(shape, rate) or None, got {value!r}")


def check_count(name: str, value: object, at_least: int = 1) -> int:
    """Return a whole number of at least `at_least`, or raise."""
    if isinstance(value, Real) and _is_number(value):
        number = float(value)
        if number.is_integer() and number >= at_least:
            return int(number)
    raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}")


class SizeCounts(NamedTuple):
    """Cluster sizes in the form that probabilities need: sizes repeat, so each is looked up once."""

    n_rows: int
    n_clusters: IntArray
    distinct: IntArray
    repeats: IntArray

    @classmethod
    def of(cls, sizes: ArrayLike) -> SizeCounts:
        """Check and count sizes; zeros are ignored."""
        values = np.asarray(sizes)
        if values.ndim != 1 or np.any(values < 0) or np.any(values != np.floor(values)):
            raise ValueError(f"sizes must be a list of whole numbers of at least 0, got {sizes!r}")
        present = values[values > 0].astype(np.int64)
        distinct, repeats = np.unique(present, return_counts=True)
        return cls(int(present.sum()), np.array([present.size], dtype=np.int64), distinct, repeats)


def solve_for_clusters(expected: Callable[[float], float], wanted: float, what: str) -> float:
    """Find the positive number where an increasing expected count is `wanted`: Brent's method on its log."""
    from scipy.optimize import brentq

    low, high = math.log(1e-10), math.log(1e15)
    least, most = expected(math.exp(low)), expected(math.exp(high))
    if not least < wanted < most:
        raise ValueError(
            f"n_clusters: no concentration gives {wanted:g} expected clusters among {what}; "
            f"choose a number above {least:.4g} and below {most:.4g}"
        )
    root = brentq(lambda log_value: expected(math.exp(log_value)) - wanted, low, high, xtol=1e-13)
    return math.exp(root)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and not math.isnan(value)
