"""Tuning: how hyperparameters of the family are learned, as a small immutable object, and the register of names.

Whatever the way, what is learned are log factors of the hyperparameters that the family names in ``tunable``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..chains.draws import Draws
from ..chains.engine import Inference
from ..chains.watch import Watch
from ..core.register import Register
from ..families.base import Family
from .evidence import Evidence

TUNINGS: Register[type[Tuning]] = Register("tuning", "countless.tuning")
register = TUNINGS.add


class Tunable(Protocol):
    """A problem whose family has hyperparameters that can be learned."""

    untuned: Family
    draws_missing: bool

    @property
    def n_rows(self) -> int: ...

    def tuned(self, log_factors: Mapping[str, float], log_hyperprior: float = 0.0) -> Any:
        """The same problem with hyperparameters multiplied."""

    def learning(self) -> Any:
        """The same problem where engines learn the hyperparameters that nobody has set."""

    def some(self, which: Any) -> Any:
        """The same problem for some of the rows."""

    def evidence(self, draws: Draws, which: NDArray[np.int64]) -> Evidence:
        """Log evidence given some draws, as a function of log factors."""

    def hyperparameter_move(self, names: tuple[str, ...], spread: float) -> Any:
        """The move that draws hyperparameters along with everything else."""

    def held_out(self, draws: Draws, others: Any, whole: Any, at_most: int) -> NDArray[np.float64]:
        """Log predictive density of other rows of the problem that this one is a part of."""


class Tuning(ABC):
    """Base of all ways to learn hyperparameters; subclasses are frozen dataclasses with their settings as fields."""

    @abstractmethod
    def run(self, problem: Tunable, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        """Learn the hyperparameters and find the posterior; the draws say by what they were multiplied."""


@dataclass(frozen=True)
class Untuned(Tuning):
    """Hyperparameters stay as they are."""

    def run(self, problem: Tunable, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        """Let the engine do its work."""
        return engine.run(problem, rng, watch)


def resolve_tuning(tune: str | Tuning | None) -> Tuning:
    """Tuning object for a short string, or for None, which leaves hyperparameters alone."""
    if tune is None:
        return Untuned()
    if isinstance(tune, Tuning):
        return tune
    return TUNINGS.resolve("tune", tune, "None or a countless.tuning object")()
