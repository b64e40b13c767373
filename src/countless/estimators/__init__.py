"""scikit-learn estimators: they validate, choose, call and store; the mathematics is elsewhere."""

from __future__ import annotations

from .dp_mixture import DPMixture
from .finite_mixture import FiniteMixture
from .mixture_search import MixtureSearch

__all__ = ["DPMixture", "FiniteMixture", "MixtureSearch"]
