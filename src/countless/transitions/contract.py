r"""Transition laws: how states follow each other before any data are seen, with states that are not known in advance.

State p is followed by state k with probability pi_pk, and each row of pi has a Dirichlet process around shared *base
weights* beta (Teh, Jordan, Beal and Blei 2006; Fox, Sudderth, Jordan and Willsky 2011):

    pi_p ~ DP(alpha + kappa, (alpha beta + kappa delta_p) / (alpha + kappa)),    first state ~ DP(alpha, beta).

Rows are integrated out; the base weights of the states in use, and their ``rest``, are kept. With n_pk the number of
steps from p to k, and x rising n for x (x + 1) ... (x + n - 1),

    p(path | beta) = prod_p [prod_k (alpha beta_k + kappa 1{p = k}) rising n_pk] / [(alpha + kappa) rising n_p.]

Engines know a law by its ``concentration`` alpha, ``self_transition`` kappa, and what it says of the base: the law of
the share of the rest that the next state takes (``openings``), the posterior of base weights given how often each was
asked for (``base_shapes``), and two densities.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.random import as_generator
from ..core.register import Register
from ..priors.concentration import check_learned
from ..priors.hyperpriors import Hyperprior
from .paths import count_transitions, log_rows, log_sum_over_tables, path_from_urns

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TRANSITIONS: Register[type[Transitions]] = Register("transitions", "countless.transitions")
register = TRANSITIONS.add


class Transitions(ABC):
    """Base of all transition laws; subclasses are frozen dataclasses whose fields are numbers, hyperpriors or None.

    A law whose numbers are all given is called *fixed*; ``initial``, ``with_numbers`` and the draws of engines give
    such laws. A subclass names the fields that may be learned in ``row_numbers`` and ``base_numbers``, and answers
    ``base_shapes``, ``log_base_constant`` and ``opening`` for itself when it is fixed.
    """

    # Fields that p(path | base weights) depends on, and fields of the law of the base weights.
    row_numbers: ClassVar[tuple[str, ...]] = ("concentration",)
    base_numbers: ClassVar[tuple[str, ...]] = ()
    # What None stands for.
    defaults: ClassVar[Mapping[str, Hyperprior]] = {}
    # Numbers that may be zero where they are given.
    may_be_zero: ClassVar[tuple[str, ...]] = ("self_transition",)

    concentration: Any

    def __post_init__(self) -> None:
        for name in self.learnable():
            object.__setattr__(self, name, self._checked(name, getattr(self, name)))

    def _checked(self, name: str, value: Any) -> Any:
        zero = name in self.may_be_zero and isinstance(value, Real) and value == 0
        return 0.0 if zero else check_learned(name, value)

    # --- what a law says of its base weights; it is fixed ------------------------------------------------------------

    @abstractmethod
    def opening(self, n_states: int) -> tuple[float, float]:
        """Beta shapes of the share of the rest that the next state takes; a second shape of 0 is a share of one.

        Where the share is no random number, the first shape is 0 and the second is the share.
        """

    @abstractmethod
    def base_shapes(self, n_states: int) -> tuple[float, float] | None:
        """What is added to the counts of the states in use, and the shape of the rest, of a Dirichlet distribution.

        A rest of shape 0 is zero. None where base weights are fixed.
        """

    @abstractmethod
    def log_base_constant(self, n_states: int) -> float:
        """Log of c in the density c prod_k beta_k^(offset - 1) rest^(shape - 1) of so many base weights.

        The density is one of unordered states: it counts all ways to name them. Where base weights are fixed, it is
        the log of that number of ways.
        """

    @property
    def stay(self) -> float:
        """Extra mass on staying."""
        return 0.0

    def truncated(self, n_states: int) -> Transitions:
        """The law with at most so many states that stands for this one: its weak limit."""
        raise ValueError(f"{type(self).__name__} has no weak limit; choose another inference")

    # --- what follows ------------------------------------------------------------------------------------------------

    @classmethod
    def learnable(cls) -> tuple[str, ...]:
        """Names of the fields that may be learned."""
        return (*cls.row_numbers, *cls.base_numbers)

    def resolve(self) -> Self:
        """The law with fields of None replaced by their hyperpriors."""
        missing = {name: self.defaults[name] for name in self.learnable() if getattr(self, name) is None}
        return self._with(**missing)

    @property
    def laws(self) -> dict[str, Hyperprior]:
        """Hyperpriors of the numbers that are learned, by name."""
        resolved = self.resolve()
        found = {name: getattr(resolved, name) for name in self.learnable()}
        return {name: law for name, law in found.items() if isinstance(law, Hyperprior)}

    def initial(self) -> Self:
        """The law fixed at the prior means of its numbers."""
        return self._with(**{name: law.mean for name, law in self.laws.items()})

    def draw_fixed(self, rng: Any = None) -> Self:
        """The law fixed at numbers drawn from their hyperpriors."""
        stream = as_generator(rng)
        return self._with(**{name: law.sample(stream) for name, law in self.laws.items()})

    def with_numbers(self, numbers: Mapping[str, float]) -> Self:
        """The law with these numbers fixed."""
        return self._with(**{name: float(value) for name, value in numbers.items()})

    def numbers_of(self, fixed: Transitions) -> dict[str, float]:
        """What a fixed law has for the numbers that are learned here."""
        return {name: getattr(fixed, name) for name in self.laws}

    def log_hyperprior(self, fixed: Transitions) -> float:
        """Log density of all learned numbers, on their lines."""
        return sum(law.log_density_on_line(getattr(fixed, name)) for name, law in self.laws.items())

    def openings(self, capacity: int) -> FloatArray:
        """``opening`` for 0, 1, ... states in use, as kernels take them."""
        most = capacity if self.most is None else min(capacity, self.most)
        table = np.zeros((capacity + 1, 2))
        table[:most] = [self.opening(k) for k in range(most)]
        return table

    @property
    def most(self) -> int | None:
        """Most states that there can be; None for any number."""
        return None

    def open_weights(
        self, rng: np.random.Generator, n_states: int, rest: float, n_new: int
    ) -> tuple[FloatArray, float]:
        """Base weights of so many further states, one after the other, and what rests."""
        weights = np.empty(n_new)
        for at in range(n_new):
            first, second = self.opening(n_states + at)
            share = second if first == 0.0 else 1.0 if second == 0.0 else float(rng.beta(first, second))
            weights[at] = share * rest
            rest = max(rest - weights[at], 0.0) if share < 1.0 else 0.0
        return weights, rest

    def draw_weights(self, rng: np.random.Generator, tables: ArrayLike) -> tuple[FloatArray, float] | None:
        """Base weights of the states in use, and their rest, given how often each was asked for."""
        counts = np.asarray(tables, dtype=np.float64)
        shapes = self.base_shapes(len(counts))
        if shapes is None:
            return None
        offset, rest = shapes
        drawn = rng.standard_gamma(np.append(counts + offset, rest))
        # The smallest of numbers: a weight of zero could not be left again.
        drawn = np.maximum(drawn, np.where(np.append(counts, rest) > 0.0, 1e-290, 0.0))
        drawn /= drawn.sum()
        return drawn[:-1], float(drawn[-1])

    def log_base(self, weights: FloatArray, rest: float, on_line: bool = False) -> float:
        """Log density of the base weights of the states in use; ``on_line``, of their logs (the soft-max basis)."""
        shapes = self.base_shapes(len(weights))
        value = self.log_base_constant(len(weights))
        if shapes is None:
            return value
        less = 0.0 if on_line else 1.0
        value += (shapes[0] - less) * float(np.log(weights).sum())
        return value + ((shapes[1] - less) * math.log(max(rest, 1e-300)) if shapes[1] > 0.0 else 0.0)

    def log_tables(self, tables: ArrayLike) -> float:
        """Log probability of the states that were asked for so many times, with the base weights integrated out."""
        counts = np.asarray(tables, dtype=np.float64)
        shapes = self.base_shapes(len(counts))
        value = self.log_base_constant(len(counts))
        if shapes is None:
            weights, _ = self.open_weights(np.random.default_rng(0), 0, 1.0, len(counts))
            return value + float(counts @ np.log(weights))
        offset, rest = shapes
        value += sum(math.lgamma(count + offset) for count in counts) - math.lgamma(
            counts.sum() + len(counts) * offset + rest
        )
        return value + (math.lgamma(rest) if rest > 0.0 else 0.0)

    def log_rows(self, counts: FloatArray, weights: FloatArray) -> float:
        """Log of p(path | base weights): ``counts[0]`` are those of first states, ``counts[1 + p]`` those after p."""
        return float(log_rows(counts, weights, self.concentration, self.stay))

    def log_prob(self, labels: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Log probability of a partition of the steps of some sequences into states; the law is fixed.

        Exact, by a sum over how often each state was drawn from the base.

        Examples
        --------
        >>> import math
        >>> import countless as cl
        >>> law = cl.transitions.HDP(concentration=1.0, base_concentration=1.0)
        >>> round(math.exp(law.log_prob([0, 0])), 6)  # the second step asks the base, which has given one state
        0.5
        """
        labels = np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1).astype(np.int64)
        first = first_steps(len(labels) if lengths is None else lengths, len(labels))
        n_states = int(labels.max()) + 1
        if self.most is not None and n_states > self.most:
            return -math.inf
        counts = count_transitions(labels, first, n_states)
        return log_sum_over_tables(self, counts)

    def sample(self, lengths: int | ArrayLike, rng: Any = None) -> IntArray:
        """States of sequences of these lengths, one after the other, numbered by first appearance; the law is fixed.

        Examples
        --------
        >>> import countless as cl
        >>> cl.transitions.StickyHDP(1.0, 1.0, 50.0).sample([3, 2], 0).tolist()
        [0, 0, 0, 0, 0]
        """
        lengths = np.atleast_1d(np.asarray(lengths, dtype=np.int64))
        first = first_steps(lengths, int(lengths.sum()))
        return path_from_urns(self, first, as_generator(rng))

    def _with(self, **changes: Any) -> Self:
        return dataclasses.replace(self, **changes) if changes else self  # type: ignore[type-var]


def first_steps(lengths: Any, n_steps: int) -> NDArray[np.bool_]:
    """Which steps begin a sequence."""
    first = np.zeros(n_steps, dtype=np.bool_)
    ends = np.cumsum(np.atleast_1d(np.asarray(lengths, dtype=np.int64)))
    first[np.append(0, ends[:-1])] = True
    return first
