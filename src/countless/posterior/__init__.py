"""Posterior: draws of the partition, summaries of them, and predictions."""

from __future__ import annotations

from ..models.mixture.predictive import Predictor
from .partition.ball import CredibleBall
from .partition.certainty import Certainty
from .posterior import Posterior

__all__ = ["Certainty", "CredibleBall", "Posterior", "Predictor"]
