"""Estimators in the manner of scikit-learn: they validate, choose, call and store."""

from __future__ import annotations

from ..models.dp_means.estimator import DPMeans
from ..models.finite.estimator import FiniteMixture
from ..models.finite.search import MixtureSearch
from ..models.mixture.estimator import DPMixture
from ..models.partitional.estimator import Partitional

__all__ = ["DPMeans", "DPMixture", "FiniteMixture", "MixtureSearch", "Partitional"]
