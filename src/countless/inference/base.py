"""Inference: how the posterior is found, as a small immutable object for people, and the register of names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

import numpy as np

from .._validate import choose
from .run import Draws
from .state import Problem

InferenceClass = TypeVar("InferenceClass", bound="type[Inference]")

ENGINES: dict[str, type[Inference]] = {}


class Inference(ABC):
    """Base of all engines; subclasses are frozen dataclasses with their settings as fields."""

    @abstractmethod
    def run(self, problem: Problem, rng: np.random.Generator, progress: bool | None = None) -> Draws:
        """Find the posterior of a problem."""


def register(name: str) -> Any:
    """Class decorator: make an engine known under a short string."""

    def decorate(cls: InferenceClass) -> InferenceClass:
        ENGINES[name] = cls
        return cls

    return decorate


# Rows times columns to the power 1.5 that sampling covers in about two minutes on two cores (60,000 rows of ten
# columns); beyond it, "auto" optimises.
SAMPLING_LIMIT = 2_000_000


def resolve_inference(inference: str | Inference, n_rows: int, n_columns: int) -> Inference:
    """Engine object for a short string; ``"auto"`` picks by the size of the problem."""
    if isinstance(inference, Inference):
        return inference
    if isinstance(inference, str) and inference == "auto":
        cost = n_rows * max(n_columns, 4) ** 1.5
        inference = "gibbs" if cost <= SAMPLING_LIMIT else "map"
    return choose("inference", inference, ENGINES, "'auto' or a countless.inference object")()
