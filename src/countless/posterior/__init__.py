"""Posterior: draws of the partition, summaries of them, and predictions."""

from __future__ import annotations

from .closed_form import ClosedForm
from .draws import Posterior
from .predictive import ByPartition, Predictor

__all__ = ["ByPartition", "ClosedForm", "Posterior", "Predictor"]
