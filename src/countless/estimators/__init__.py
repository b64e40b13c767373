"""scikit-learn estimators: they validate, choose, call and store; the mathematics is elsewhere."""

from __future__ import annotations

from .dp_means import DPMeans
from .dp_mixture import DPMixture
from .reference import Partitional

__all__ = ["DPMeans", "DPMixture", "Partitional"]
