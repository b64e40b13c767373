"""The register of estimators: a run names the one that made it."""

from __future__ import annotations

from typing import Any

from ..core.register import Register

ESTIMATORS: Register[Any] = Register("estimator", "countless.estimators")
register_estimator = ESTIMATORS.add
