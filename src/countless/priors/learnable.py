"""The learned numbers of a partition prior, the first of which most priors call the concentration.

Their inference given a partition: slice sampling (Neal 2003) of one after the other, and the posterior mode in log
space (Raykov, Boukouvalas & Little 2016, app. A). `hyperpriors.py` has their distributions.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.random import as_generator
from .concentration import SizeCounts, check_count, check_learned, hyperprior_for, solve_for_clusters
from .hyperpriors import Hyperprior, Law

Some = TypeVar("Some", bound="Learnable")

# What engines call the first learned number, whatever its field is called.
FIRST = "concentration"
# Rounds over several learned numbers in the search for their mode, and the gain at which it ends.
_MOST_ROUNDS, _LEAST_GAIN = 100, 1e-10


class Learnable(ABC):
    """A frozen dataclass some fields of which, named by `learned`, are numbers, laws or None.

    `Prior` is the one subclass; its docstring says what a new prior defines. Here is all that concerns the learned
    fields: their defaults, their ranges, and their inference given a partition. A prior whose learned fields are all
    numbers is called *fixed*; engines hold one beside the prior itself.
    """

    learned: ClassVar[Any] = FIRST
    concentration: float | Hyperprior | None

    # None: Gamma(1, 1) or Beta(1, 1). A gamma with mean 1 makes one decade either side of 1 likely, so that data of any
    # size decide, and keeps the prior number of clusters near log(n). A fixed value would decide that number by itself.
    _default: ClassVar[float | Hyperprior | None] = None

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        if cls._fields()[0] != FIRST:
            above = [base for base in cls.__mro__ if issubclass(base, Learnable) and base is not Learnable]
            if any(FIRST in inspect.get_annotations(base) for base in above):
                raise TypeError(
                    f"{cls.__name__}: engines read the learned field, {cls._fields()[0]!r}, as `concentration`; "
                    "give the field `concentration` another name"
                )
            # Read-only, so that it cannot differ from the field.
            cls.concentration = property(lambda self: getattr(self, self._fields()[0]))  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in self._fields():
            if not hasattr(self, name):
                raise TypeError(
                    f"{type(self).__name__} has no field {name!r} to learn; add it, or set `learned` to the name of a "
                    "field"
                )
            object.__setattr__(self, name, self._checked(name, getattr(self, name)))

    # -- what a prior defines -------------------------------------------------------------------------

    @property
    def _bounds(self) -> tuple[float, float]:
        """Open interval of valid numbers for the first learned field."""
        return 0.0, math.inf

    def _checked(self, name: str, value: Any) -> Any:
        """A valid value of a learned field, or an error."""
        return check_learned(name, value, *self._bounds)

    def _default_of(self, name: str) -> Any:
        """What None stands for in a learned field."""
        return hyperprior_for(self._bounds[1])() if self._default is None else self._default

    @abstractmethod
    def expected_clusters(self, n: int) -> float:
        """Expected number of clusters among n rows."""

    @abstractmethod
    def log_prob_components(self, counts: ArrayLike) -> float:
        """Log probability of labels whose components have these counts; the prior is fixed."""

    @abstractmethod
    def _log_prob(self, sizes: SizeCounts) -> float:
        """Log probability of a partition with these cluster sizes; the prior is fixed."""

    # -- the learned fields ---------------------------------------------------------------------------

    @classmethod
    def _fields(cls) -> tuple[str, ...]:
        """Names of the fields that can be learned; the first is the concentration of engines."""
        return (cls.learned,) if isinstance(cls.learned, str) else tuple(cls.learned)

    def resolve(self, n_rows: int) -> Self:
        """Return the prior with learned fields of None replaced by their defaults.

        The default is learned, with the hyperprior Gamma(1, 1) for a concentration, unless the class says otherwise:
        the number of clusters depends strongly on the concentration, so that it should not be guessed.
        """
        missing = [name for name in self._fields() if getattr(self, name) is None]
        return self._replace({name: self._default_of(name) for name in missing}) if missing else self

    @property
    def is_learned(self) -> bool:
        """Whether any field has a hyperprior and is inferred with the partition."""
        return bool(self._laws())

    @property
    def learned_names(self) -> tuple[str, ...]:
        """Names under which draws have the learned numbers: the first is always ``"concentration"``."""
        return tuple(FIRST if name == self._fields()[0] else name for name in self._laws())

    def law_of(self, name: str) -> Law:
        """Distribution of a learned number, by its name in draws."""
        return self._laws()[self._field(name)]

    def with_concentration(self, value: float) -> Self:
        """Return the same prior with the first learned field fixed at a number; other fields stay."""
        return self._replace({self._fields()[0]: float(value)})

    def with_numbers(self, numbers: Mapping[str, Any]) -> Self:
        """Return the same prior with learned fields fixed at numbers, by their names in draws.

        Examples
        --------
        >>> from countless.priors import PitmanYor
        >>> PitmanYor().with_numbers({"concentration": 2.0, "discount": 0.5})
        PitmanYor(concentration=2.0, discount=0.5)
        """
        values: dict[str, Any] = {}
        for name, value in numbers.items():
            field = self._field(name)
            law = self._laws().get(field)
            values[field] = int(value) if law is not None and law.is_count else float(value)
        return self._replace(values)

    def numbers_of(self, fixed: Self) -> dict[str, float]:
        """The numbers that a fixed prior has for the fields that are learned here, by their names in draws."""
        return {name: getattr(fixed, self._field(name)) for name in self.learned_names}

    def at_means(self, draws: Any, n_clusters: int) -> Self:
        """The prior fixed at means of draws of its numbers; whole numbers are rounded, and allow so many clusters."""
        numbers: dict[str, float] = {}
        for name in self.learned_names:
            mean = float(np.mean(draws[name]))
            numbers[name] = max(round(mean), n_clusters) if self.law_of(name).is_count else mean
        return self.with_numbers(numbers)

    def initial(self, n_clusters: int = 1) -> Self:
        """Return the prior fixed where chains of so many clusters start: real numbers at their prior means."""
        return self.resolve(1)._replace({name: law.start(n_clusters) for name, law in self._laws().items()})

    def reopened(self, fixed: Self, n_clusters: int) -> Self:
        """A fixed prior from which a search may find more clusters: whole numbers go back to where chains start."""
        counts = {name: law for name, law in self._laws().items() if law.is_count}
        return fixed._replace({name: law.start(n_clusters) for name, law in counts.items()}) if counts else fixed

    def fixed_at(self, at: float | Self) -> Self:
        """The fixed prior that a concentration stands for, with all else where chains start; a fixed prior stays."""
        if isinstance(at, Learnable):
            return at
        first = self.initial()
        return first.with_concentration(at) if FIRST in self.learned_names else first

    # -- their inference ------------------------------------------------------------------------------

    def log_concentration_prior(self, value: float) -> float:
        """Log density of the *log* of the first learned field at `value` (of its logit, below 1); zero if it is fixed.

        With respect to the log, so that log p(partition | c) + log_concentration_prior(c) is the
        objective whose mode `mode_concentration` returns: the objective of a MAP engine that adds this term never
        falls.
        """
        law = self._laws().get(self._fields()[0])
        return 0.0 if law is None else law.log_density_on_line(value)

    def log_hyperprior(self, fixed: Self) -> float:
        """Log density of all learned numbers, on their lines, at those of a fixed prior."""
        return sum(law.log_density_on_line(getattr(fixed, name)) for name, law in self._laws().items())

    def draw_learned(self, rng: Any, fixed: Self, sizes: ArrayLike) -> Self:
        """Draw all learned numbers, one after the other, given cluster sizes; returns a fixed prior.

        Each step leaves the distribution of its number given the sizes and the other numbers invariant. The first
        number is drawn by `draw_concentration`, the others by the step of their law.
        """
        counts, generator = SizeCounts.of(sizes), as_generator(rng)

        def first(only: Self, value: float) -> float:
            return only.draw_concentration(generator, value, counts)

        return self._draw_in_turn(generator, fixed, first, lambda prior: prior._log_prob(counts))

    def draw_learned_of_components(self, rng: Any, fixed: Self, counts: ArrayLike) -> Self:
        """The same for the labels of truncated sticks, whose components have these counts."""
        rows, generator = np.asarray(counts), as_generator(rng)

        def first(only: Self, value: float) -> float:
            return only.draw_concentration_of_components(generator, value, rows)

        return self._draw_in_turn(generator, fixed, first, lambda prior: prior.log_prob_components(rows))

    def mode_learned(self, fixed: Self, sizes: ArrayLike) -> Self:
        """Fixed prior at the mode of all learned numbers given cluster sizes, each on its line.

        One number after the other is set to its mode, from those of `fixed`, until the density stands still.
        """
        laws, counts = self._laws(), SizeCounts.of(sizes)
        best = fixed._log_prob(counts) + self.log_hyperprior(fixed)
        for _ in range(_MOST_ROUNDS if len(laws) > 1 else len(laws)):
            before = best
            for name, law in laws.items():
                tried = fixed._replace({name: law.mode(_likelihood(fixed, name, lambda p: p._log_prob(counts)))})
                height = tried._log_prob(counts) + self.log_hyperprior(tried)
                if height > best or (height == best and len(laws) == 1):
                    fixed, best = tried, height
            if not best > before + _LEAST_GAIN:
                break
        return fixed

    def draw_concentration(self, rng: Any, current: float, sizes: ArrayLike | SizeCounts) -> float:
        """Draw the first learned field from a transition that leaves its distribution given cluster sizes invariant.

        A slice-sampling step on the log (the logit, for a parameter below 1) (Neal 2003). `sizes` are the cluster
        sizes; zeros are ignored. A fixed parameter is returned unchanged; other fields are numbers.
        """
        counts = SizeCounts.of(sizes)
        return self._step(rng, current, lambda prior: prior._log_prob(counts))

    def draw_concentration_of_components(self, rng: Any, current: float, counts: ArrayLike) -> float:
        """Draw the first learned field from a transition for the labels of truncated sticks.

        `counts` are the numbers of rows of all components in the order of the sticks, zeros included. The sticks are
        integrated out (`log_prob_components`). So the step is right for the truncated prior, under which cluster sizes
        have another distribution than `draw_concentration` assumes, and for every prior with sticks.
        """
        rows = np.asarray(counts)
        return self._step(rng, current, lambda prior: prior.log_prob_components(rows))

    def mode_concentration(self, sizes: ArrayLike) -> float:
        """Mode of p(log of the first learned field | cluster sizes), as in Raykov et al. 2016, app. A.

        The mode of the *log* is also where a gradient step in log space stops; it exceeds the mode of
        the parameter itself. A fixed parameter is returned unchanged; other fields are numbers.
        """
        name = self._fields()[0]
        law = self._laws().get(name)
        if law is None:
            return self.resolve(1)._require_number()
        counts = SizeCounts.of(sizes)
        return law.mode(_likelihood(self, name, lambda prior: prior._log_prob(counts)))

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
        name = cls._fields()[0]
        lowest, below = build(**others)._bounds
        value = solve_for_clusters(
            lambda distance: build(**{name: lowest + distance}, **others).expected_clusters(n),
            float(n_clusters),
            f"{n} rows under {cls.__name__}",
            name,
            hyperprior_for(below),
        )
        return build(**{name: lowest + value}, **others)

    # -- shared steps ---------------------------------------------------------------------------------

    def _laws(self) -> dict[str, Law]:
        """Fields that are learned, with their distributions."""
        return self._found_laws

    @cached_property
    def _found_laws(self) -> dict[str, Law]:
        found = {}
        for name in self._fields():
            value = getattr(self, name)
            value = self._default_of(name) if value is None else value
            if isinstance(value, Law):
                found[name] = value
        return found

    def _hyperpriors(self) -> dict[str, Hyperprior]:
        """The same for the fields that are real numbers, which the general answers integrate out."""
        return {name: law for name, law in self._laws().items() if isinstance(law, Hyperprior)}

    def _field(self, name: str) -> str:
        return self._fields()[0] if name == FIRST else name

    def _draw_in_turn(
        self,
        rng: np.random.Generator,
        fixed: Self,
        first: Callable[[Self, float], float],
        log_likelihood: Callable[[Self], float],
    ) -> Self:
        for name, law in self._laws().items():
            value = getattr(fixed, name)
            if name == self._fields()[0]:
                value = first(fixed._with_law(name, law), value)
            else:
                value = law.step(rng, value, _likelihood(fixed, name, log_likelihood))
            fixed = fixed._with_law(name, value)
        return fixed

    def _step(self, rng: Any, current: float, log_likelihood: Callable[[Self], float]) -> float:
        name = self._fields()[0]
        law = self._laws().get(name)
        if law is None:
            return float(current)
        return law.step(as_generator(rng), current, _likelihood(self, name, log_likelihood))

    def _require_number(self, name: str | None = None) -> float:
        field = name or self._fields()[0]
        value = getattr(self, field)
        if not isinstance(value, float):
            raise ValueError(
                f"{field}: a table needs a number, got {value!r}; use initial() or with_concentration(value)"
            )
        return value

    def _with_law(self, name: str, value: Any) -> Self:
        """``_replace`` of one field by a law or by what was drawn from it, neither of which needs a check."""
        twin = copy(self)
        twin.__dict__.pop("_found_laws", None)
        twin.__dict__[name] = value
        return twin

    def _replace(self, values: Mapping[str, Any]) -> Self:
        return dataclasses.replace(self, **values)  # type: ignore[type-var]


def _likelihood(prior: Some, name: str, log_likelihood: Callable[[Some], float]) -> Callable[[float], float]:
    """The log likelihood as a function of one field of a prior."""
    return lambda value: log_likelihood(prior._replace({name: value}))
