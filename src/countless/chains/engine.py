"""Inference: how the posterior is found, as a small immutable object for people, and the register of names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..core.register import Register
from ..models.mixture.state import Problem
from .jobs import Draws

ENGINES: Register[type[Inference]] = Register("inference", "countless.inference")
register = ENGINES.add


class Inference(ABC):
    """Base of all engines; subclasses are frozen dataclasses with their settings as fields."""

    # Whether rows may count more or less than once.
    weighs_rows: ClassVar[bool] = False
    # Whether missing cells can be drawn along with the clusters.
    draws_missing: ClassVar[bool] = False
    # Who keeps the chains while they run; no setting: engines are equal whoever watches. See ``recorded``.
    recorder: ClassVar[Any] = None

    @abstractmethod
    def run(self, problem: Problem, rng: np.random.Generator, progress: bool | None = None) -> Draws:
        """Find the posterior of a problem."""

    def pilot(self, labels: Any = None) -> Self:
        """The same engine for one of many trial runs: shorter, and from ``labels`` where it can begin somewhere."""
        begun = self._with(start=labels) if labels is not None and "start" in self._settings() else self
        return begun.recorded(None) if self.recorder is not None else begun

    def with_moves(self, *moves: Any) -> Self:
        """The same engine with further moves in each sweep, where it is made of moves."""
        if "extra_moves" not in self._settings():
            able = [cls.__name__ for cls in ENGINES.values() if "extra_moves" in cls._settings()]
            raise ValueError(f"inference: {type(self).__name__} draws no hyperparameters; choose {' or '.join(able)}")
        return self._with(extra_moves=(*getattr(self, "extra_moves", ()), *moves))

    def recorded(self, recorder: Any) -> Self:
        """The same engine with a ``Recorder`` of its chains (or None for none); engines without chains keep none."""
        twin = self._with()
        object.__setattr__(twin, "recorder", recorder)
        return twin

    @classmethod
    def _settings(cls) -> list[str]:
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]

    def _with(self, **changes: Any) -> Self:
        twin = replace(self, **changes)  # type: ignore[type-var]
        if self.recorder is not None:
            object.__setattr__(twin, "recorder", self.recorder)
        return twin


# Rows times columns to the power 1.5 that sampling covers in about two minutes on two cores (60,000 rows of ten
# columns); beyond it, "auto" optimises.
SAMPLING_LIMIT = 2_000_000


def resolve_inference(
    inference: str | Inference,
    n_rows: int,
    n_columns: int,
    sticks: bool = True,
    weighted: bool = False,
    missing: bool = False,
) -> Inference:
    """Engine object for a short string; ``"auto"`` picks by the size of the problem.

    Sampling where it takes minutes at most; beyond, variational, or MAP for a prior without ``sticks``. Rows that are
    ``weighted`` need an engine that can weigh them, and cells ``missing`` in correlated columns one that draws them.
    """
    if isinstance(inference, str) and inference == "auto":
        small = missing or (n_rows * max(n_columns, 4) ** 1.5 <= SAMPLING_LIMIT and not weighted)
        inference = "gibbs" if small else "variational" if sticks else "map"
    if not isinstance(inference, Inference):
        inference = ENGINES.resolve("inference", inference, "'auto' or a countless.inference object")()
    if weighted and not inference.weighs_rows:
        able = " or ".join(sorted(repr(name) for name, cls in ENGINES.items() if cls.weighs_rows))
        raise ValueError(f"sample_weight: {type(inference).__name__} counts every row once; choose inference={able}")
    if missing and not inference.draws_missing:
        able = " or ".join(sorted(repr(name) for name, cls in ENGINES.items() if cls.draws_missing))
        raise ValueError(
            f"X: cells are missing in correlated Gaussian columns, which {type(inference).__name__} cannot draw; "
            f"choose inference={able}, or the family 'diagonal-gaussian' for these columns"
        )
    return inference
