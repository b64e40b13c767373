"""Inference: how the posterior is found. The engines by their public names."""

from __future__ import annotations

from ..chains.engine import ENGINES, Inference, register, resolve_inference
from ..chains.jobs import Components, Draws, Truncation
from ..models.mixture import engines as _engines  # noqa: F401  they register themselves
from ..models.mixture.state import Problem, State

globals().update({cls.__name__: cls for cls in ENGINES.values()})

__all__ = ["ENGINES", "Components", "Draws", "Inference", "Problem", "State", "Truncation", "register"]
__all__ += ["resolve_inference"]
__all__ += [cls.__name__ for cls in ENGINES.values()]
