"""Tuning: how hyperparameters of the family are learned, as a small immutable object, and the register of names.

Whatever the way, what is learned are log factors of the hyperparameters that the family names in ``tunable``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.register import Register
from ..inference import Draws, Inference, Problem

TUNINGS: Register[type[Tuning]] = Register("tuning", "countless.tuning")
register = TUNINGS.add


class Tuning(ABC):
    """Base of all ways to learn hyperparameters; subclasses are frozen dataclasses with their settings as fields."""

    @abstractmethod
    def run(self, problem: Problem, engine: Inference, rng: np.random.Generator, progress: bool | None = None) -> Draws:
        """Learn the hyperparameters and find the posterior; the draws say by what they were multiplied."""


@dataclass(frozen=True)
class Untuned(Tuning):
    """Hyperparameters stay as they are."""

    def run(self, problem: Problem, engine: Inference, rng: np.random.Generator, progress: bool | None = None) -> Draws:
        """Let the engine do its work."""
        return engine.run(problem, rng, progress)


def resolve_tuning(tune: str | Tuning | None) -> Tuning:
    """Tuning object for a short string, or for None, which leaves hyperparameters alone."""
    if tune is None:
        return Untuned()
    if isinstance(tune, Tuning):
        return tune
    return TUNINGS.resolve("tune", tune, "None or a countless.tuning object")()


def with_factors(draws: Draws, log_factors: Mapping[str, float]) -> Draws:
    """Draws that were all made with the same log factors."""
    shape = draws.n_clusters.shape
    return draws._replace(log_factors={name: np.full(shape, value) for name, value in log_factors.items()})


def best_labels(draws: Draws) -> Any:
    """Labels of the draw with the largest log joint."""
    chain, draw = np.unravel_index(int(np.argmax(draws.log_joint)), draws.log_joint.shape)
    return draws.labels[chain, draw].astype(np.int64)
