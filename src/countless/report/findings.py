"""The name under which the command line knows a fit."""

from __future__ import annotations

from ..plots.parts.fit import SURE
from ..plots.parts.fit import Fit as Findings

__all__ = ["SURE", "Findings"]
