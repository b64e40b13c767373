"""Block models: what the cells of one block look like, and what a cluster of rows or columns adds to that."""

from __future__ import annotations

from .base import MODELS, BlockModel, resolve_model
from .counts import Asymmetric, Factorized, Symmetric
from .frequency import Frequency
from .relational import Relational

__all__ = [
    "MODELS",
    "Asymmetric",
    "BlockModel",
    "Factorized",
    "Frequency",
    "Relational",
    "Symmetric",
    "resolve_model",
]
