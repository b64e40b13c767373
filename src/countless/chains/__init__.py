"""Chains: what any sampler needs, whatever it draws. ``contract`` says what a model class provides."""

from __future__ import annotations

from .contract import Frozen, Move, Problem, State
from .draws import APPROXIMATION, OPTIMUM, SAMPLED, Draws, Kind
from .engine import ENGINES, Inference, engines_for, register
from .fields import Field
from .sampler import MoveSampler, Sampler
from .schedule import Schedule
from .variables import VariableProblem, VariableState
from .watch import Watch

__all__ = [
    "APPROXIMATION",
    "ENGINES",
    "OPTIMUM",
    "SAMPLED",
    "Draws",
    "Field",
    "Frozen",
    "Inference",
    "Kind",
    "Move",
    "MoveSampler",
    "Problem",
    "Sampler",
    "Schedule",
    "State",
    "VariableProblem",
    "VariableState",
    "Watch",
    "engines_for",
    "register",
]
