"""Posterior: draws of the partition, summaries of them, and predictions."""

from __future__ import annotations

from .ball import CredibleBall
from .certainty import Certainty
from .draws import Posterior
from .predictive import Predictor

__all__ = ["Certainty", "CredibleBall", "Posterior", "Predictor"]
