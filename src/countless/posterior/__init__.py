"""Posterior: draws of a fit, what they say whatever the model, and what draws of a partition say."""

from __future__ import annotations

from .partition.ball import CredibleBall
from .partition.certainty import Certainty
from .partition.view import PartitionDraws
from .posterior import Posterior

__all__ = ["Certainty", "CredibleBall", "PartitionDraws", "Posterior"]
