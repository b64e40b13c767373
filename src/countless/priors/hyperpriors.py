"""Hyperpriors: distributions of the parameter of a prior that is learned.

A hyperprior maps its values to the whole real line (by the log or the logit), where its density is smooth. Slice
sampling, the search for a mode and quadrature all work on that line, so that none of them needs to know the range of
the parameter.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, betaln, expit, gammainc, gammainccinv, gammaincinv, gammaln, logsumexp

from ..core.random import as_generator
from ._math import FloatArray

# Below this value every prior equals its limit at zero to double precision, so that the rest of the mass is one atom.
_NEGLIGIBLE = 1e-14
_TAIL = 1e-17
_NODES_PER_PANEL = 16


class Hyperprior(ABC):
    """Distribution of a learned parameter; subclasses are frozen dataclasses.

    The *line* of a hyperprior is an increasing function of the value that covers all real numbers.

    Examples
    --------
    >>> from countless.priors import Beta, Gamma
    >>> Gamma().to_line(1.0), Beta().to_line(0.5)
    (0.0, 0.0)
    """

    # Supremum of the values, the form that error messages show, and the range searched by ``Prior.expecting``.
    below: ClassVar[float]
    form: ClassVar[str]
    extremes: ClassVar[tuple[float, float]]

    @property
    @abstractmethod
    def mean(self) -> float:
        """Mean of the parameter; chains start there."""

    @staticmethod
    @abstractmethod
    def to_line(value: float) -> float:
        """Map a value to the line."""

    @staticmethod
    @abstractmethod
    def from_line(point: float) -> float:
        """Map a point of the line to a value; far out it may round to the end of the range."""

    @abstractmethod
    def log_density_on_line(self, value: float) -> float:
        """Log density of the point ``to_line(value)``; minus infinity at the ends of the range."""

    @abstractmethod
    def cdf(self, value: float) -> float:
        """Probability of a parameter up to `value`."""

    @abstractmethod
    def sample(self, rng: Any = None) -> float:
        """Draw one value."""

    @abstractmethod
    def quadrature(self, n_rows: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights for expectations of smooth functions of the parameter, such as V_n(t) of `n_rows` rows."""

    @abstractmethod
    def mode_range(self) -> tuple[float, float]:
        """Range of the line that contains the mode given any partition."""


@dataclass(frozen=True)
class Gamma(Hyperprior):
    r"""Gamma distribution of a learned positive parameter, with mean ``shape / rate``.

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

    below: ClassVar[float] = math.inf
    form: ClassVar[str] = "Gamma(shape, rate)"
    extremes: ClassVar[tuple[float, float]] = (1e-10, 1e15)

    def __post_init__(self) -> None:
        _check_positive(self, "shape", "rate")

    @property
    def mean(self) -> float:
        """Prior mean, shape / rate."""
        return self.shape / self.rate

    def log_density(self, value: ArrayLike) -> FloatArray:
        """Log density with respect to the parameter itself (not its logarithm)."""
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
        """Log density of the log of the parameter where the parameter is `value`: one more factor `value`."""
        if value <= 0.0:  # below the smallest double, where a tiny shape may lead
            return -math.inf
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant + self.shape * math.log(value) - self.rate * value

    @staticmethod
    def to_line(value: float) -> float:
        """The log."""
        return math.log(value)

    @staticmethod
    def from_line(point: float) -> float:
        """The exponential."""
        return math.exp(point)

    def log_density_on_line(self, value: float) -> float:
        """`log_density_of_log`: the line of a positive parameter is its log."""
        return self.log_density_of_log(value)

    def cdf(self, value: float) -> float:
        """Regularised incomplete gamma function."""
        return float(gammainc(self.shape, self.rate * value))

    def sample(self, rng: Any = None) -> float:
        """Draw one value."""
        drawn = as_generator(rng).gamma(self.shape, 1.0 / self.rate)
        # A very small shape can underflow to zero, which is not a positive parameter.
        return max(float(drawn), float(np.finfo(np.float64).tiny))

    def quadrature(self, n_rows: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights for expectations of smooth functions of the parameter.

        Gauss-Legendre panels on the log scale. They are narrower where a partition of `n_rows` rows distinguishes
        concentrations better, which it does to about 1/sqrt(expected clusters).
        """
        low = max(float(gammaincinv(self.shape, _TAIL)) / self.rate, _NEGLIGIBLE)
        high = float(gammainccinv(self.shape, _TAIL)) / self.rate
        atom = self.cdf(low)
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

    def mode_range(self) -> tuple[float, float]:
        """From about shape / (rate + log n) to (shape + n) / rate, for n of up to 1e10 rows."""
        low = min(math.log(self.mean), math.log(self.shape), 0.0) - 10.0
        return low, math.log(self.shape + 1e10) - math.log(self.rate) + 1.0


@dataclass(frozen=True)
class Beta(Hyperprior):
    r"""Beta distribution of a learned parameter between 0 and 1, with mean ``a / (a + b)``.

    .. math:: p(d) = \frac{d^{a-1} (1-d)^{b-1}}{B(a, b)}

    Parameters
    ----------
    a, b : float
        Positive numbers; ``Beta(1, 1)`` is uniform.

    References
    ----------
    Pitman 2006, *Combinatorial stochastic processes*, section 3.2: a discount lies between 0 and 1.

    Examples
    --------
    >>> from countless.priors import Beta
    >>> Beta(1.0, 3.0).mean
    0.25
    """

    a: float = 1.0
    b: float = 1.0

    below: ClassVar[float] = 1.0
    form: ClassVar[str] = "Beta(a, b)"
    extremes: ClassVar[tuple[float, float]] = (1e-10, 1.0 - 1e-10)

    def __post_init__(self) -> None:
        _check_positive(self, "a", "b")

    @property
    def mean(self) -> float:
        """Prior mean, a / (a + b)."""
        return self.a / (self.a + self.b)

    @staticmethod
    def to_line(value: float) -> float:
        """The logit."""
        return math.log(value) - math.log1p(-value)

    @staticmethod
    def from_line(point: float) -> float:
        """The logistic function."""
        return 1.0 / (1.0 + math.exp(-point)) if point > 0.0 else math.exp(point) / (1.0 + math.exp(point))

    def log_density_on_line(self, value: float) -> float:
        """Log density of the logit of the parameter where the parameter is `value`."""
        if not 0.0 < value < 1.0:
            return -math.inf
        return self.a * math.log(value) + self.b * math.log1p(-value) - float(betaln(self.a, self.b))

    def cdf(self, value: float) -> float:
        """Regularised incomplete beta function."""
        return float(betainc(self.a, self.b, value))

    def sample(self, rng: Any = None) -> float:
        """Draw one value."""
        drawn = float(as_generator(rng).beta(self.a, self.b))
        # Small parameters can round to 0 or 1, which are outside the range.
        return min(max(drawn, float(np.finfo(np.float64).tiny)), math.nextafter(1.0, 0.0))

    def quadrature(self, n_rows: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights on Gauss-Legendre panels of the logit scale.

        A partition of `n_rows` rows has at most `n_rows` clusters, and so distinguishes logits to about
        1/sqrt(n_rows) at best.
        """
        low = self.to_line(max(float(betaincinv(self.a, self.b, _TAIL)), _NEGLIGIBLE))
        high = -self.to_line(max(float(betaincinv(self.b, self.a, _TAIL)), _NEGLIGIBLE))
        n_panels = max(12, math.ceil((high - low) * (0.4 + 0.05 * math.sqrt(n_rows))))
        points, widths = _panel_nodes(np.linspace(low, high, n_panels + 1))
        nodes = expit(points)
        # From the points, because 1 - node has few digits near one.
        logs = -self.a * np.logaddexp(0.0, -points) - self.b * np.logaddexp(0.0, points) - betaln(self.a, self.b)
        weights = widths * np.exp(logs)
        keep = weights > _TAIL
        ends = np.array([self.from_line(low), self.from_line(high)])
        masses = np.array([self.cdf(ends[0]), float(betainc(self.b, self.a, self.from_line(-high)))])
        return np.concatenate([nodes[keep], ends]), np.concatenate([weights[keep], masses])

    def mode_range(self) -> tuple[float, float]:
        """All logits whose values differ from 0 and 1 in double precision."""
        return -36.0, 36.0


def log_expectation(log_function: Callable[[float], float], hyperprior: Hyperprior) -> float:
    """Log of the mean of exp(log_function(value)) over a hyperprior, by quadrature around the peak of the integrand."""

    def log_integrand(point: float) -> float:
        value = hyperprior.from_line(point)
        log_density = hyperprior.log_density_on_line(value)
        return log_function(value) + log_density if log_density > -math.inf else -math.inf

    floor = hyperprior.to_line(_NEGLIGIBLE)
    peak = max(mode_on_line(log_integrand, hyperprior), floor)
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
    points, widths = _panel_nodes(edges)
    lowest = hyperprior.from_line(ends[0])
    with np.errstate(divide="ignore"):
        terms = np.log(widths) + np.array([log_integrand(float(point)) for point in points])
        atom = float(np.log(hyperprior.cdf(lowest)))
    return float(logsumexp(np.append(terms, atom + log_function(lowest))))


def mode_on_line(log_target: Callable[[float], float], hyperprior: Hyperprior) -> float:
    """Point of the line where a log density is highest: a coarse scan, then Brent's method.

    The scan makes the answer independent of a starting value.
    """
    from scipy.optimize import minimize_scalar

    low, high = hyperprior.mode_range()
    grid = np.arange(low, high)
    heights = np.array([log_target(float(point)) for point in grid])
    if heights.max() == -np.inf:  # impossible for every value: no point is better than the mean
        return hyperprior.to_line(hyperprior.mean)
    best = float(grid[int(np.argmax(heights))])
    found = minimize_scalar(
        lambda point: -log_target(point),
        bounds=(best - 1.0, best + 1.0),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(found.x)


def is_number(value: object) -> bool:
    """Whether a value is a real number: neither a truth value nor NaN."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and not math.isnan(value)


def _check_positive(hyperprior: Hyperprior, *names: str) -> None:
    for name in names:
        value = getattr(hyperprior, name)
        if not is_number(value) or not 0.0 < value < math.inf:
            raise ValueError(f"{name} must be a positive finite number, got {value!r}")
        object.__setattr__(hyperprior, name, float(value))


def _panel_nodes(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    half = np.diff(edges)[:, None] / 2
    centre = (edges[1:] + edges[:-1])[:, None] / 2
    return (centre + half * nodes).ravel(), (half * weights).ravel()
