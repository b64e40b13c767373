"""Posterior: draws of the partition, summaries of them, and predictions."""

from __future__ import annotations

from .draws import Posterior
from .predictive import Predictor

__all__ = ["Posterior", "Predictor"]
