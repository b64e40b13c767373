"""Inference: how the posterior is found. The engines by their public names, and what one's own needs."""

from __future__ import annotations

from typing import Any

from ..chains import Draws, Field, Inference, Move, Sampler, Schedule, Watch, register
from ..chains.engine import ENGINES
from ..chains.moves import register as register_move
from ..models.mixture import engines as _engines  # noqa: F401  they register themselves
from ..models.mixture.engines.choice import resolve_inference
from ..models.mixture.problem import Problem
from ..models.mixture.records import Components, Truncation
from ..models.mixture.state import State

globals().update({cls.__name__: cls for cls in ENGINES.values() if cls.serves == "mixture"})

__all__ = [
    "ENGINES",
    "Components",
    "Draws",
    "Field",
    "Inference",
    "Move",
    "Problem",
    "Sampler",
    "Schedule",
    "State",
    "Truncation",
    "Watch",
    "register",
    "register_move",
    "resolve_inference",
]
__all__ += [cls.__name__ for cls in ENGINES.values() if cls.serves == "mixture"]


def __getattr__(name: str) -> Any:
    """Engines of other kinds of models, by the names of their classes."""
    from .. import estimators as _estimators  # noqa: F401  they register themselves

    for cls in ENGINES.values():
        if cls.__name__ == name and not name.startswith("_"):
            return cls
    raise AttributeError(f"module 'countless.inference' has no attribute {name!r}")
