"""Hyperpriors: distributions of the parameters of a prior that are learned.

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
from scipy.special import betainc, betaincinv, betaln, expit, gammainc, gammainccinv, gammaincinv, gammaln

from ..core.random import as_generator
from .numerics.line import NEGLIGIBLE, mode_on_line, panel_nodes, slice_step
from .numerics.ratios import FloatArray

_TAIL = 1e-17


class Law(ABC):
    """Distribution of a learned number of a prior, real or whole: how it is drawn, and where it is most probable.

    Its density is with respect to the line of a real number, or a probability of a whole one.
    """

    # Whether its values are whole numbers, and the form that error messages show.
    is_count: ClassVar[bool] = False
    form: ClassVar[str]

    @abstractmethod
    def start(self, n_clusters: int) -> float:
        """Where a chain begins that has so many clusters."""

    @abstractmethod
    def sample(self, rng: Any = None) -> float:
        """Draw one value."""

    @abstractmethod
    def log_density_on_line(self, value: float) -> float:
        """Log density of a value; minus infinity where it is impossible."""

    @abstractmethod
    def step(self, rng: np.random.Generator, current: float, log_likelihood: Callable[[float], float]) -> float:
        """Draw a value from a transition that leaves density times likelihood invariant."""

    @abstractmethod
    def mode(self, log_likelihood: Callable[[float], float]) -> float:
        """The value where density times likelihood is largest."""


class Hyperprior(Law):
    """Distribution of a learned real number; subclasses are frozen dataclasses.

    The *line* of a hyperprior is an increasing function of the value that covers all real numbers.

    Examples
    --------
    >>> from countless.priors import Beta, Gamma
    >>> Gamma().to_line(1.0), Beta().to_line(0.5)
    (0.0, 0.0)
    """

    # Supremum of the values, the range searched by ``Prior.expecting``, and how much wider than pi / 2 on each side the
    # strip around the line is where densities are analytic: grids may be as much coarser.
    below: ClassVar[float]
    extremes: ClassVar[tuple[float, float]]
    strip: ClassVar[float] = 1.0

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

    @abstractmethod
    def quantiles(self, tail: float) -> tuple[float, float]:
        """Values below and above which there is probability `tail` each, or that are negligibly near the ends."""

    def grid(self, step: float, tail: float = 1e-14) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights at equal steps of the line, for integrals over several hyperpriors at once.

        All but the probability `tail` at each end is covered, and the weights sum to one.
        """
        low, high = (self.to_line(value) for value in self.quantiles(tail))
        values, weights = self.trapezoid(low, high, max(2, math.ceil((high - low) / (step * self.strip)) + 1))
        return values, weights / weights.sum()

    def trapezoid(self, low: float, high: float, n_nodes: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights of the trapezoidal rule between two points of the line; what is beyond is at the ends.

        Its error falls as exp(-pi^2 / step) for the smooth functions of a hyperprior (Trefethen & Weideman 2014).
        """
        points = np.linspace(low, high, n_nodes)
        values = np.array([self.from_line(float(point)) for point in points])
        weights = np.exp([self.log_density_on_line(value) for value in values]) * (points[1] - points[0])
        weights[[0, -1]] *= 0.5
        weights[0] += self.cdf(values[0])
        weights[-1] += 1.0 - self.cdf(values[-1])
        return values, weights

    def start(self, n_clusters: int) -> float:
        """The mean."""
        return self.mean

    def step(self, rng: np.random.Generator, current: float, log_likelihood: Callable[[float], float]) -> float:
        """A slice-sampling step on the line (Neal 2003)."""
        return self.from_line(slice_step(self._log_target(log_likelihood), self.to_line(current), rng))

    def mode(self, log_likelihood: Callable[[float], float]) -> float:
        """The mode on the line."""
        return self.from_line(mode_on_line(self._log_target(log_likelihood), self))

    def _log_target(self, log_likelihood: Callable[[float], float]) -> Callable[[float], float]:
        def log_target(point: float) -> float:
            value = self.from_line(point)
            log_density = self.log_density_on_line(value)
            if log_density == -math.inf:  # the ends of the range, which are not valid numbers
                return -math.inf
            return log_likelihood(value) + log_density

        return log_target


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
        low, high = self.quantiles(_TAIL)
        atom = self.cdf(low)
        if high <= low:
            return np.array([low]), np.array([1.0])
        grid = np.linspace(math.log(low), math.log(high), 2001)
        resolution = 0.4 + 0.25 * np.sqrt(np.exp(grid) * np.log1p(n_rows * np.exp(-grid)))
        progress = np.concatenate([[0.0], np.cumsum((resolution[1:] + resolution[:-1]) * np.diff(grid) / 2)])
        n_panels = max(12, math.ceil(progress[-1]))
        edges = np.interp(np.linspace(0.0, progress[-1], n_panels + 1), progress, grid)
        logs, widths = panel_nodes(edges)
        nodes = np.exp(logs)
        weights = widths * np.exp(self.log_density(nodes) + logs)
        keep = weights > _TAIL
        return np.append(nodes[keep], low), np.append(weights[keep], atom)

    def quantiles(self, tail: float) -> tuple[float, float]:
        """By the inverse of the incomplete gamma function."""
        low = max(float(gammaincinv(self.shape, tail)) / self.rate, NEGLIGIBLE)
        return low, float(gammainccinv(self.shape, tail)) / self.rate

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
    strip: ClassVar[float] = 1.5

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
        low = self.to_line(max(float(betaincinv(self.a, self.b, _TAIL)), NEGLIGIBLE))
        high = -self.to_line(max(float(betaincinv(self.b, self.a, _TAIL)), NEGLIGIBLE))
        n_panels = max(12, math.ceil((high - low) * (0.4 + 0.05 * math.sqrt(n_rows))))
        points, widths = panel_nodes(np.linspace(low, high, n_panels + 1))
        nodes = expit(points)
        # From the points, because 1 - node has few digits near one.
        logs = -self.a * np.logaddexp(0.0, -points) - self.b * np.logaddexp(0.0, points) - betaln(self.a, self.b)
        weights = widths * np.exp(logs)
        keep = weights > _TAIL
        ends = np.array([self.from_line(low), self.from_line(high)])
        masses = np.array([self.cdf(ends[0]), float(betainc(self.b, self.a, self.from_line(-high)))])
        return np.concatenate([nodes[keep], ends]), np.concatenate([weights[keep], masses])

    def quantiles(self, tail: float) -> tuple[float, float]:
        """By the inverse of the incomplete beta function."""
        low = max(float(betaincinv(self.a, self.b, tail)), NEGLIGIBLE)
        return low, 1.0 - max(float(betaincinv(self.b, self.a, tail)), NEGLIGIBLE)

    def mode_range(self) -> tuple[float, float]:
        """All logits whose values differ from 0 and 1 in double precision."""
        return -36.0, 36.0


def is_number(value: object) -> bool:
    """Whether a value is a real number: neither a truth value nor NaN."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and not math.isnan(value)


def _check_positive(hyperprior: Hyperprior, *names: str) -> None:
    for name in names:
        value = getattr(hyperprior, name)
        if not is_number(value) or not 0.0 < value < math.inf:
            raise ValueError(f"{name} must be a positive finite number, got {value!r}")
        object.__setattr__(hyperprior, name, float(value))
