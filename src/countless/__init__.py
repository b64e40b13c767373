"""countless: clustering when you do not know how many.

Public names load when they are first used, so that ``import countless`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_MODULES = ("datasets", "estimators", "families", "inference", "metrics", "plots", "posterior", "priors")
_NAMES = {"DPMixture": "estimators"}

__all__ = ["__version__", *_MODULES, *_NAMES]

if TYPE_CHECKING:
    from . import datasets, estimators, families, inference, metrics, plots, posterior, priors
    from .estimators import DPMixture


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module 'countless' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
