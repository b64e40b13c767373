"""Distributions of the number of components of a finite mixture, on 1, 2, ...: by name, as objects, or as log numbers.

References: Miller & Harrison 2018; Fruehwirth-Schnatter, Malsiner-Walli & Gruen 2021, *Generalized mixtures of finite
mixtures and telescoping sampling*, section 2 (the beta-negative-binomial prior).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import ArrayLike
from scipy.special import betaln, gammainc, gammaln

from ..core.random import as_generator
from .concentration import check_count
from .hyperpriors import Law, is_number
from .numerics.line import slice_step
from .numerics.ratios import FloatArray

# The largest number of components that sums over them go to, and the probability that a listed law may lack.
LARGEST = 1 << 17
_LACKING = 1e-10
# Degree of the polynomials in 1 / K by which sums over many K are thinned.
_DEGREE = 11
# Chains begin with so many components at least, and with all but this probability of more.
_FEWEST_AT_START, _BEYOND_START = 10, 0.05


class ComponentCount(Law):
    """A distribution of the number of components, on 1, 2, ...

    A new one says `log_pmf`, `log_tail` and `sample`; `last` where the number is bounded.

    Examples
    --------
    >>> from countless.priors import GeometricCount
    >>> round(float(GeometricCount(0.5).log_pmf(1)), 6)  # log(1/2)
    -0.693147
    """

    is_count: ClassVar[bool] = True
    form: ClassVar[str] = "distribution of the number of components"
    # Whether probabilities are positive everywhere and log-concave: sums over components can then be thinned.
    is_log_concave: ClassVar[bool] = False

    @abstractmethod
    def log_pmf(self, k: ArrayLike) -> FloatArray:
        """Log probability of k components."""

    @abstractmethod
    def log_tail(self, k: float) -> float:
        """Log of a number that the probability of more than k components does not exceed."""

    @property
    def last(self) -> int:
        """The largest number of components that sums go to."""
        return LARGEST

    def nodes(self, first: int) -> tuple[FloatArray, FloatArray]:
        """Numbers of components and weights, for means of functions of K that are smooth in 1 / K beyond `first`."""
        return _nodes(self, first)

    def start(self, n_clusters: int) -> int:
        """Room for a chain to find more clusters: at least 10 components, and all but 5 percent of the probability."""
        k = max(_FEWEST_AT_START, n_clusters)
        while k < self.last and self.log_tail(float(k)) > math.log(_BEYOND_START):
            k += 1
        return min(k, self.last)

    def log_density_on_line(self, value: float) -> float:
        """The log probability: a whole number has no line."""
        return float(self.log_pmf(value))

    def step(self, rng: np.random.Generator, current: float, log_likelihood: Callable[[float], float]) -> int:
        """A slice-sampling step on the log of k + u, where u is uniform on [0, 1) and drawn anew.

        k + u has the density p(k) at every u, so that its log has the density p(k) (k + u).
        """

        def log_target(point: float) -> float:
            if not 0.0 <= point <= math.log(self.last + 1.0):
                return -math.inf
            k = min(math.floor(math.exp(point)), self.last)
            log_probability = self.log_density_on_line(k)
            return log_probability + log_likelihood(k) + point if log_probability > -math.inf else -math.inf

        found = slice_step(log_target, math.log(current + rng.random()), rng)
        return min(math.floor(math.exp(found)), self.last)

    def mode(self, log_likelihood: Callable[[float], float]) -> int:
        """The most probable number: every one up to 128, then the best of a geometric grid and its neighbourhood."""

        def height(k: int) -> float:
            log_probability = self.log_density_on_line(k)
            return log_probability + log_likelihood(k) if log_probability > -math.inf else -math.inf

        tried = sorted({k for k in (*range(1, 129), *(int(128 * 1.1**j) for j in range(73))) if k <= self.last})
        heights = [height(k) for k in tried]
        at = int(np.argmax(heights))
        low, high = tried[max(at - 1, 0)], tried[min(at + 1, len(tried) - 1)]
        while high - low > 2:
            third = (high - low) // 3
            if height(low + third) < height(high - third):
                low += third
            else:
                high -= third
        return max((tried[at], *range(low, high + 1)), key=height)


@dataclass(frozen=True)
class GeometricCount(ComponentCount):
    r"""Geometric distribution of the number of components, :math:`p(k) = s (1 - s)^{k-1}`, k = 1, 2, ...

    Parameters
    ----------
    success : float
        Between 0 and 1; the mean is 1 / success.

    Examples
    --------
    >>> from countless.priors import GeometricCount
    >>> round(float(GeometricCount(0.5).log_pmf(1)), 6)
    -0.693147
    """

    success: float = 0.1

    is_log_concave: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not is_number(self.success) or not 0.0 < self.success < 1.0:
            raise ValueError(f"success must be a number between 0 and 1, got {self.success!r}")

    def log_pmf(self, k: ArrayLike) -> FloatArray:
        """Log probability of k components."""
        count = np.asarray(k, dtype=np.float64)
        logs = math.log(self.success) + (count - 1.0) * math.log1p(-self.success)
        return np.where(count >= 1.0, logs, -np.inf)

    def log_tail(self, k: float) -> float:
        """k log(1 - success)."""
        return k * math.log1p(-self.success)

    def sample(self, rng: Any = None) -> int:
        """Draw a number of components."""
        return int(as_generator(rng).geometric(self.success))


@dataclass(frozen=True)
class PoissonCount(ComponentCount):
    r"""Shifted Poisson distribution of the number of components, :math:`k - 1 \sim \text{Poisson}(\text{rate})`.

    Parameters
    ----------
    rate : float
        Positive; the mean is 1 + rate.

    Examples
    --------
    >>> from countless.priors import PoissonCount
    >>> float(PoissonCount(2.0).log_pmf(1))
    -2.0
    """

    rate: float = 9.0

    is_log_concave: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not is_number(self.rate) or not 0.0 < self.rate < math.inf:
            raise ValueError(f"rate must be a positive finite number, got {self.rate!r}")

    def log_pmf(self, k: ArrayLike) -> FloatArray:
        """Log probability of k components."""
        count = np.asarray(k, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            logs = (count - 1.0) * math.log(self.rate) - self.rate - gammaln(count)
        return np.where(count >= 1.0, logs, -np.inf)

    def log_tail(self, k: float) -> float:
        """The incomplete gamma function."""
        with np.errstate(divide="ignore"):
            return float(np.log(gammainc(k, self.rate)))

    def sample(self, rng: Any = None) -> int:
        """Draw a number of components."""
        return 1 + int(as_generator(rng).poisson(self.rate))


@dataclass(frozen=True)
class UniformCount(ComponentCount):
    """Every number of components from 1 to `most` with the same probability.

    Parameters
    ----------
    most : int
        At least 1.

    Examples
    --------
    >>> from countless.priors import UniformCount
    >>> round(float(UniformCount(4).log_pmf(2)), 6)
    -1.386294
    """

    most: int = 30

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", check_count("most", self.most))

    @property
    def last(self) -> int:
        """`most`."""
        return self.most

    def log_pmf(self, k: ArrayLike) -> FloatArray:
        """Log probability of k components."""
        count = np.asarray(k, dtype=np.float64)
        return np.where((count >= 1.0) & (count <= self.most), -math.log(self.most), -np.inf)

    def log_tail(self, k: float) -> float:
        """The share of the numbers above k."""
        return math.log(1.0 - k / self.most) if k < self.most else -math.inf

    def sample(self, rng: Any = None) -> int:
        """Draw a number of components."""
        return int(as_generator(rng).integers(1, self.most + 1))


@dataclass(frozen=True)
class BetaNegativeBinomialCount(ComponentCount):
    r"""Shifted beta-negative-binomial distribution of the number of components, :math:`k - 1 \sim BNB(\alpha, a, b)`.

    .. math:: p(k) = \frac{\Gamma(\alpha + x)\, B(\alpha + a, x + b)}{x!\, \Gamma(\alpha)\, B(a, b)}, \qquad x = k - 1

    The default, BNB(1, 4, 3), has mean 2 and a heavy tail, as recommended in the reference. Sums over the number of
    components end at 131,072; there the tail of the default has a probability below 1e-17.

    Parameters
    ----------
    alpha, a, b : float
        Positive; the tail falls as k to the power -a.

    References
    ----------
    Fruehwirth-Schnatter, Malsiner-Walli & Gruen 2021, *Generalized mixtures of finite mixtures and telescoping
    sampling*, section 2.2.

    Examples
    --------
    >>> from countless.priors import BetaNegativeBinomialCount
    >>> round(float(BetaNegativeBinomialCount(1.0, 4.0, 3.0).log_pmf(1)), 6)  # log(4 / 7)
    -0.559616
    """

    alpha: float = 1.0
    a: float = 4.0
    b: float = 3.0

    def __post_init__(self) -> None:
        for name in ("alpha", "a", "b"):
            value = getattr(self, name)
            if not is_number(value) or not 0.0 < value < math.inf:
                raise ValueError(f"{name} must be a positive finite number, got {value!r}")

    def log_pmf(self, k: ArrayLike) -> FloatArray:
        """Log probability of k components."""
        count = np.asarray(k, dtype=np.float64)
        x = np.maximum(count - 1.0, 0.0)
        logs = gammaln(self.alpha + x) - gammaln(x + 1.0) - gammaln(self.alpha)
        logs += betaln(self.alpha + self.a, x + self.b) - betaln(self.a, self.b)
        return np.where(count >= 1.0, logs, -np.inf)

    def log_tail(self, k: float) -> float:
        """Twice p(k + 1) (k + alpha + a + b) / a, at most 1: exact but for the factor if alpha is 1."""
        return min(0.0, float(self.log_pmf(k + 1.0)) + math.log(2.0 * (k + self.alpha + self.a + self.b) / self.a))

    def sample(self, rng: Any = None) -> int:
        """Draw a number of components: a Poisson whose rate is a gamma over the odds of a beta."""
        generator = as_generator(rng)
        share = max(float(generator.beta(self.a, self.b)), 1e-12)
        return min(1 + int(generator.poisson(generator.gamma(self.alpha) * (1.0 - share) / share)), LARGEST)


@dataclass(frozen=True)
class ListedCount(ComponentCount):
    """Numbers of components with given log probabilities, the first of which belongs to one component.

    Parameters
    ----------
    logs : sequence of float
        log p(1), log p(2), ...; the probabilities must sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.priors import ListedCount
    >>> ListedCount(np.log([0.25, 0.75])).last
    2
    """

    logs: tuple[float, ...]

    def __post_init__(self) -> None:
        logs = np.asarray(self.logs, dtype=np.float64)
        if logs.ndim != 1 or logs.size == 0 or np.isnan(logs).any() or not abs(np.exp(logs).sum() - 1.0) < _LACKING:
            total = float(np.exp(logs).sum())
            raise ValueError(
                "components must be log probabilities log p(1), log p(2), ... whose exponentials sum to one, got "
                f"{logs.size} numbers with the sum {total:.8g}"
            )
        object.__setattr__(self, "logs", tuple(float(log) for log in logs - np.logaddexp.reduce(logs)))

    def __repr__(self) -> str:
        return f"ListedCount({len(self.logs)} numbers)" if len(self.logs) > 8 else f"ListedCount(logs={self.logs})"

    @property
    def last(self) -> int:
        """How many numbers are listed."""
        return len(self.logs)

    def log_pmf(self, k: ArrayLike) -> FloatArray:
        """Log probability of k components."""
        count = np.asarray(k, dtype=np.float64)
        return np.asarray(self._table[np.clip(count, 0.0, self.last + 1.0).astype(np.int64)])

    def log_tail(self, k: float) -> float:
        """The sum of those beyond k."""
        return float(self._log_tails[min(int(k), self.last)])

    @cached_property
    def _table(self) -> FloatArray:
        return np.array([-np.inf, *self.logs, -np.inf])

    @cached_property
    def _log_tails(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.append(np.log(np.cumsum(np.exp(self.logs)[::-1])[::-1]), -np.inf)

    def sample(self, rng: Any = None) -> int:
        """Draw a number of components."""
        return 1 + int(as_generator(rng).choice(self.last, p=np.exp(self.logs)))


@lru_cache(maxsize=64)
def _nodes(law: ComponentCount, first: int) -> tuple[FloatArray, FloatArray]:
    """Every K up to `first`; then each doubling has Chebyshev nodes in 1 / K, for all but 1e-16 of the probability.

    The weights of the nodes give polynomials in 1 / K of degree 11 their exact means under the law.
    """
    last = min(first, law.last)
    k = np.arange(1.0, last + 1.0)
    numbers, weights = [k], [np.exp(law.log_pmf(k))]
    while last < law.last and law.log_tail(float(last)) > math.log(1e-16):
        k = np.arange(last + 1.0, min(2 * last, law.last) + 1.0)
        inverse = 1.0 / k
        middle, half = (inverse[0] + inverse[-1]) / 2, max((inverse[0] - inverse[-1]) / 2, 1e-300)
        angles = np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1)
        chosen = np.unique(np.round(1.0 / (middle + half * np.cos(angles))))
        degree = chosen.size - 1
        basis = chebvander((inverse - middle) / half, degree)
        numbers.append(chosen)
        weights.append(
            np.linalg.solve(chebvander((1.0 / chosen - middle) / half, degree).T, np.exp(law.log_pmf(k)) @ basis)
        )
        last = int(k[-1])
    return np.concatenate(numbers), np.concatenate(weights)


NAMES: dict[str, type[ComponentCount]] = {
    "geometric": GeometricCount,
    "poisson": PoissonCount,
    "uniform": UniformCount,
    "beta-negative-binomial": BetaNegativeBinomialCount,
}


def component_count(name: str, given: Any) -> ComponentCount:
    """The distribution that a user means: an object, a name, log probabilities, or a function that returns them.

    A function, an object with ``log_pmf``, or a frozen distribution of scipy with ``logpmf`` is asked for the log
    probabilities of 1, 2, ... until they sum to one.
    """
    if isinstance(given, ComponentCount):
        return given
    if isinstance(given, str) and given in NAMES:
        return NAMES[given]()
    if isinstance(given, np.ndarray | list | tuple):
        return ListedCount(tuple(given))
    ask = getattr(given, "log_pmf", None) or getattr(given, "logpmf", None) or (given if callable(given) else None)
    if ask is None or isinstance(given, type):
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, NAMES))}, an object such as GeometricCount(success), log "
            f"probabilities of 1, 2, ..., a function or a frozen distribution that gives them, got {given!r}"
        )
    if hasattr(given, "support") and given.support()[0] < 1:
        raise ValueError(f"{name} must be a distribution on 1, 2, ..., got one that begins at {given.support()[0]:g}")
    size = 64
    while True:
        logs = np.broadcast_to(np.asarray(ask(np.arange(1, size + 1)), dtype=np.float64), size)
        total = float(np.exp(logs).sum())
        if abs(total - 1.0) < 1e-14 or (size == LARGEST and abs(total - 1.0) < _LACKING):
            return ListedCount(tuple(logs))
        if size == LARGEST or not total < 1.0 + _LACKING:
            raise ValueError(
                f"{name}: the probabilities of 1, 2, ..., {size} components must sum to one, got {total:.8g}"
            )
        size *= 2
