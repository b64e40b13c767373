"""Partition priors: how rows fall into clusters before any data are seen.

Every file of this folder is imported and what it lists in `__all__` becomes public, so that a new prior is
one new file; `verbs.py` holds the contract.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from .concentration import Gamma
from .names import register, resolve_prior
from .verbs import PartitionTable, Prior

if TYPE_CHECKING:  # type checkers cannot follow the loop below
    from .crp import CRP
    from .finite_dirichlet import FiniteDirichlet
    from .mixture_of_finite import GeometricCount, MixtureOfFinite, PoissonCount
    from .pitman_yor import PitmanYor
    from .simulators import Sticks, polya_urn, restaurant, stick_breaking

__all__ = [
    "CRP",
    "FiniteDirichlet",
    "Gamma",
    "GeometricCount",
    "MixtureOfFinite",
    "PartitionTable",
    "PitmanYor",
    "PoissonCount",
    "Prior",
    "Sticks",
    "polya_urn",
    "register",
    "resolve_prior",
    "restaurant",
    "stick_breaking",
]

for _found in pkgutil.iter_modules(__path__):
    if not _found.name.startswith("_"):
        _module = importlib.import_module(f"{__name__}.{_found.name}")
        for _name in _module.__all__:
            globals()[_name] = getattr(_module, _name)
            if _name not in __all__:
                __all__.append(_name)
del _found, _module, _name
