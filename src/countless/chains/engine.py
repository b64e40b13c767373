"""Engines: how a posterior is found, as small immutable objects for people, and the register of their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..core.register import Register
from .contract import Move
from .draws import Draws
from .watch import Watch

ENGINES: Register[type[Inference]] = Register("inference", "countless.inference")
register = ENGINES.add


class Inference(ABC):
    """Base of all engines; subclasses are frozen dataclasses with their settings as fields."""

    # Which model class it serves: engines of one register serve different problems.
    serves: ClassVar[str] = "mixture"
    # Whether rows may count more or less than once.
    weighs_rows: ClassVar[bool] = False
    # Whether missing cells can be drawn along with everything else.
    draws_missing: ClassVar[bool] = False

    @abstractmethod
    def run(self, problem: Any, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Find the posterior of a problem."""

    def pilot(self, start: Any = None) -> Self:
        """The same engine for one of many trial runs: shorter, and from ``start`` where it can begin somewhere."""
        return self._with(start=start) if start is not None and "start" in self._settings() else self

    def with_moves(self, *moves: Move) -> Self:
        """The same engine with further moves in each sweep, where it is made of moves."""
        if "extra_moves" not in self._settings():
            able = [cls.__name__ for cls in engines_for(self.serves).values() if "extra_moves" in cls._settings()]
            raise ValueError(f"inference: {type(self).__name__} draws no hyperparameters; choose {' or '.join(able)}")
        return self._with(extra_moves=(*getattr(self, "extra_moves", ()), *moves))

    @classmethod
    def _settings(cls) -> list[str]:
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]

    def _with(self, **changes: Any) -> Self:
        return replace(self, **changes)  # type: ignore[type-var]


def engines_for(model: str) -> dict[str, type[Inference]]:
    """The engines that serve a model class, by short name."""
    return {name: cls for name, cls in ENGINES.items() if cls.serves == model}
