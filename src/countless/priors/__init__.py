"""Partition priors: how rows fall into clusters before any data are seen. One file each; the folder is the list.

Every module here is imported once, and each prior it registers becomes a name of this package. The docstring of
`Prior` says what a new one defines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.register import import_folder
from .checks import check_prior
from .component_counts import (
    BetaNegativeBinomialCount,
    ComponentCount,
    GeometricCount,
    ListedCount,
    PoissonCount,
    UniformCount,
)
from .hyperpriors import Beta, Gamma, Hyperprior
from .names import PRIORS, register, resolve_prior
from .simulators import Sticks, polya_urn, restaurant, stick_breaking
from .verbs import PartitionTable, Prior

if TYPE_CHECKING:  # type checkers cannot follow the register
    from .crp import CRP
    from .dynamic_mixture_of_finite import DynamicMixtureOfFinite
    from .finite_dirichlet import FiniteDirichlet
    from .mixture_of_finite import MixtureOfFinite
    from .pitman_yor import PitmanYor

import_folder(__name__, __path__)
globals().update({cls.__name__: cls for cls in PRIORS.values()})

__all__ = [
    "CRP",
    "PRIORS",
    "Beta",
    "BetaNegativeBinomialCount",
    "ComponentCount",
    "DynamicMixtureOfFinite",
    "FiniteDirichlet",
    "Gamma",
    "GeometricCount",
    "Hyperprior",
    "ListedCount",
    "MixtureOfFinite",
    "PartitionTable",
    "PitmanYor",
    "PoissonCount",
    "Prior",
    "Sticks",
    "UniformCount",
    "check_prior",
    "polya_urn",
    "register",
    "resolve_prior",
    "restaurant",
    "stick_breaking",
]
__all__ += [cls.__name__ for cls in PRIORS.values() if cls.__name__ not in __all__]
