"""The learned parameter of a partition prior, which most priors call the concentration.

Its inference given a partition: slice sampling (Neal 2003) and the posterior mode in log space (Raykov, Boukouvalas &
Little 2016, app. A). `hyperpriors.py` has its distributions.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..core.random import as_generator
from ._math import IntArray
from .hyperpriors import Beta, Gamma, Hyperprior, is_number, mode_on_line


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


class SizeCounts(NamedTuple):
    """Cluster sizes in the form that probabilities need: each distinct size once, with how often it occurs."""

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


class Learnable(ABC):
    """A frozen dataclass one field of which, named by `learned`, is a number, a hyperprior or None.

    `Prior` is the one subclass; its docstring says what a new prior defines. Here is all that concerns the learned
    field: its default, its range, and its inference given a partition.
    """

    learned: ClassVar[str] = "concentration"
    concentration: float | Hyperprior | None

    # None: Gamma(1, 1) or Beta(1, 1). A gamma with mean 1 makes one decade either side of 1 likely, so that data of any
    # size decide, and keeps the prior number of clusters near log(n). A fixed value would decide that number by itself.
    _default: ClassVar[float | Hyperprior | None] = None

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        if cls.learned != "concentration":
            above = [base for base in cls.__mro__ if issubclass(base, Learnable) and base is not Learnable]
            if any("concentration" in inspect.get_annotations(base) for base in above):
                raise TypeError(
                    f"{cls.__name__}: engines read the learned field, {cls.learned!r}, as `concentration`; "
                    "give the field `concentration` another name"
                )
            # Read-only, so that it cannot differ from the field.
            cls.concentration = property(lambda self: getattr(self, self.learned))  # type: ignore[assignment]

    def __post_init__(self) -> None:
        name = self.learned
        if not hasattr(self, name):
            raise TypeError(
                f"{type(self).__name__} has no field {name!r} to learn; add it, or set `learned` to the name of a field"
            )
        object.__setattr__(self, name, check_learned(name, getattr(self, name), *self._bounds))

    # -- what a prior defines -------------------------------------------------------------------------

    @property
    def _bounds(self) -> tuple[float, float]:
        """Open interval of valid numbers for the learned parameter."""
        return 0.0, math.inf

    @abstractmethod
    def expected_clusters(self, n: int) -> float:
        """Expected number of clusters among n rows."""

    @abstractmethod
    def log_prob_components(self, counts: ArrayLike) -> float:
        """Log probability of labels whose components have these counts; the learned parameter is a number."""

    @abstractmethod
    def _log_prob(self, sizes: SizeCounts) -> float:
        """Log probability of a partition with these cluster sizes; the learned parameter is a number."""

    # -- the learned parameter ------------------------------------------------------------------------

    def resolve(self, n_rows: int) -> Self:
        """Return the prior with a learned parameter of None replaced by the default.

        The default is learned, with the hyperprior Gamma(1, 1) for a concentration, unless the class says otherwise:
        the number of clusters depends strongly on the concentration, so that it should not be guessed.
        """
        if self.concentration is not None:
            return self
        return self._replace(hyperprior_for(self._bounds[1])() if self._default is None else self._default)

    @property
    def is_learned(self) -> bool:
        """Whether the learned parameter has a hyperprior and is inferred with the partition."""
        return self._hyperprior() is not None

    def with_concentration(self, value: float) -> Self:
        """Return the same prior with the learned parameter fixed at a number."""
        return self._replace(float(value))

    def initial(self) -> Self:
        """Return the prior with the learned parameter fixed at its prior mean, where chains start."""
        value = self.resolve(1).concentration
        return self._replace(value.mean if isinstance(value, Hyperprior) else value)

    def log_concentration_prior(self, value: float) -> float:
        """Log density of the *log* of the learned parameter at `value` (of its logit, below 1); zero if it is fixed.

        With respect to the log, so that log p(partition | c) + log_concentration_prior(c) is the
        objective whose mode `mode_concentration` returns: the objective of a MAP engine that adds this term never
        falls.
        """
        hyperprior = self._hyperprior()
        return 0.0 if hyperprior is None else hyperprior.log_density_on_line(value)

    def draw_concentration(self, rng: Any, current: float, sizes: ArrayLike) -> float:
        """Draw the learned parameter from a transition that leaves its distribution given cluster sizes invariant.

        A slice-sampling step on the log (the logit, for a parameter below 1) (Neal 2003). `sizes` are the cluster
        sizes; zeros are ignored. A fixed parameter is returned unchanged.
        """
        counts = SizeCounts.of(sizes)
        return self._slice_step(rng, current, lambda prior: prior._log_prob(counts))

    def draw_concentration_of_components(self, rng: Any, current: float, counts: ArrayLike) -> float:
        """Draw the learned parameter from a transition for the labels of truncated sticks.

        `counts` are the numbers of rows of all components in the order of the sticks, zeros included. The sticks are
        integrated out (`log_prob_components`). So the step is right for the truncated prior, under which cluster sizes
        have another distribution than `draw_concentration` assumes, and for every prior with sticks.
        """
        rows = np.asarray(counts)
        return self._slice_step(rng, current, lambda prior: prior.log_prob_components(rows))

    def mode_concentration(self, sizes: ArrayLike) -> float:
        """Mode of p(log of the learned parameter | cluster sizes), as in Raykov et al. 2016, app. A.

        The mode of the *log* is also where a gradient step in log space stops; it exceeds the mode of
        the parameter itself. A fixed parameter is returned unchanged.
        """
        hyperprior = self._hyperprior()
        if hyperprior is None:
            return self.resolve(1)._require_number()
        counts = SizeCounts.of(sizes)
        log_target = self._log_posterior(hyperprior, lambda prior: prior._log_prob(counts))
        return hyperprior.from_line(mode_on_line(log_target, hyperprior))

    @classmethod
    def expecting(cls, n_clusters: float, n_rows: int, **others: Any) -> Self:
        """Build the prior whose expected number of clusters among n_rows rows is n_clusters.

        Parameters
        ----------
        n_clusters : float
            Expected number of clusters; it need not be whole.
        n_rows : int
            Number of rows.
        **others
            The other fields of the class, e.g. ``discount=0.5``.

        Examples
        --------
        >>> from countless.priors import CRP
        >>> round(CRP.expecting(5, 100).expected_clusters(100), 6)
        5.0
        """
        n = check_count("n_rows", n_rows)
        build: Callable[..., Self] = cls
        lowest, below = build(**others)._bounds
        value = solve_for_clusters(
            lambda distance: build(**{cls.learned: lowest + distance}, **others).expected_clusters(n),
            float(n_clusters),
            f"{n} rows under {cls.__name__}",
            cls.learned,
            hyperprior_for(below),
        )
        return build(**{cls.learned: lowest + value}, **others)

    # -- shared steps ---------------------------------------------------------------------------------

    def _hyperprior(self) -> Hyperprior | None:
        """Distribution of the learned parameter; None where it is fixed."""
        value = self.resolve(1).concentration
        return value if isinstance(value, Hyperprior) else None

    def _log_posterior(
        self, hyperprior: Hyperprior, log_likelihood: Callable[[Self], float]
    ) -> Callable[[float], float]:
        """Log density, up to a constant, of the learned parameter on the line of its hyperprior.

        `log_likelihood` takes the prior with a fixed parameter.
        """

        def log_target(point: float) -> float:
            value = hyperprior.from_line(point)
            log_density = hyperprior.log_density_on_line(value)
            if log_density == -math.inf:  # the ends of the range, which are not valid numbers
                return -math.inf
            return log_likelihood(self.with_concentration(value)) + log_density

        return log_target

    def _slice_step(self, rng: Any, current: float, log_likelihood: Callable[[Self], float]) -> float:
        hyperprior = self._hyperprior()
        if hyperprior is None:
            return float(current)
        log_target = self._log_posterior(hyperprior, log_likelihood)
        return hyperprior.from_line(slice_step(log_target, hyperprior.to_line(current), as_generator(rng)))

    def _require_number(self) -> float:
        if not isinstance(self.concentration, float):
            raise ValueError(
                f"{self.learned}: a table needs a number, got {self.concentration!r}; "
                "use initial() or with_concentration(value)"
            )
        return self.concentration

    def _replace(self, value: float | Hyperprior | None) -> Self:
        return dataclasses.replace(self, **{self.learned: value})  # type: ignore[type-var]
