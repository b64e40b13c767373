"""scikit-learn estimators: they validate, choose, call and store; the mathematics is elsewhere."""

from __future__ import annotations

from .dp_mixture import DPMixture

__all__ = ["DPMixture"]
