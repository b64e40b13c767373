"""Inference: how the posterior is found. The engines by their public names, and what one's own needs."""

from __future__ import annotations

from .. import models as _models
from ..chains import Draws, Field, Inference, Move, Sampler, Schedule, Watch, register
from ..chains.engine import ENGINES
from ..chains.moves import register as register_move
from ..core.register import import_folder
from ..models.mixture.engines.choice import resolve_inference
from ..models.mixture.problem import Problem
from ..models.mixture.records import Components, Truncation
from ..models.mixture.state import State

# Every folder of ``models`` with a package of engines is in here, without a word about it elsewhere.
import_folder(_models.__name__, _models.__path__, only="engines")
_engines = {cls.__name__: cls for cls in ENGINES.values() if cls.__module__.startswith(_models.__name__)}
globals().update(_engines)


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
__all__ += list(_engines)
