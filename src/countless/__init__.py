"""countless: clustering when you do not know how many.

Public names load when they are first used, so that ``import countless`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "DPMeans",
    "DPMixture",
    "FiniteMixture",
    "MixtureSearch",
    "Partitional",
    "__version__",
    "datasets",
    "estimators",
    "families",
    "inference",
    "metrics",
    "plots",
    "posterior",
    "priors",
    "report",
    "tuning",
]

_ESTIMATORS = {"DPMeans", "DPMixture", "FiniteMixture", "MixtureSearch", "Partitional"}

if TYPE_CHECKING:
    from . import datasets, estimators, families, inference, metrics, plots, posterior, priors, report, tuning
    from .estimators import DPMeans, DPMixture, FiniteMixture, MixtureSearch, Partitional


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        return getattr(importlib.import_module(".estimators", __name__), name)
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'countless' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
