"""countless: clustering when you do not know how many.

Public names load when they are first used, so that ``import countless`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names of this package that live in one of its rooms.
_ROOM_OF = {
    "ConvergenceWarning": "core.warnings",
    "DPMeans": "estimators",
    "DPMeansHMM": "estimators",
    "DPMixture": "estimators",
    "FiniteMixture": "estimators",
    "InfiniteHMM": "estimators",
    "MixtureSearch": "estimators",
    "Partitional": "estimators",
    "compare": "models.comparison",
    "load": "io",
    "warmup": "io",
}

__all__ = [
    "ConvergenceWarning",
    "DPMeans",
    "DPMeansHMM",
    "DPMixture",
    "FiniteMixture",
    "InfiniteHMM",
    "MixtureSearch",
    "Partitional",
    "__version__",
    "compare",
    "datasets",
    "estimators",
    "families",
    "inference",
    "io",
    "load",
    "metrics",
    "plots",
    "posterior",
    "priors",
    "report",
    "transitions",
    "tuning",
    "warmup",
]

if TYPE_CHECKING:
    from . import (
        datasets,
        estimators,
        families,
        inference,
        io,
        metrics,
        plots,
        posterior,
        priors,
        report,
        transitions,
        tuning,
    )
    from .core.warnings import ConvergenceWarning
    from .estimators import DPMeans, DPMeansHMM, DPMixture, FiniteMixture, InfiniteHMM, MixtureSearch, Partitional
    from .io import load, warmup
    from .models.comparison import compare


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(importlib.import_module(f".{_ROOM_OF[name]}", __name__), name)
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    if name[:1].isupper():
        # The estimator of a folder in models that nobody has listed above.
        estimators = importlib.import_module(".estimators", __name__)
        if name in estimators.__all__:
            return getattr(estimators, name)
    raise AttributeError(f"module 'countless' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
