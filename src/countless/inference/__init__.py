"""Inference: how the posterior is found. One file per move or engine; the folder is the list."""

from __future__ import annotations

import importlib
import pkgutil

from .base import ENGINES, Inference, register, resolve_inference
from .run import Components, Draws, Truncation
from .state import Problem, State

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
globals().update({cls.__name__: cls for cls in ENGINES.values()})

__all__ = ["ENGINES", "Components", "Draws", "Inference", "Problem", "State", "Truncation", "register"]
__all__ += ["resolve_inference"]
__all__ += [cls.__name__ for cls in ENGINES.values()]
