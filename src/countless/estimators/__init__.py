"""Estimators in the manner of scikit-learn: they validate, choose, call and store."""

from __future__ import annotations

from .dp_means import DPMeans
from .dp_mixture import DPMixture
from .finite_mixture import FiniteMixture
from .mixture_search import MixtureSearch
from .reference import Partitional

__all__ = ["DPMeans", "DPMixture", "FiniteMixture", "MixtureSearch", "Partitional"]
