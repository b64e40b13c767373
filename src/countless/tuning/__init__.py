"""Tuning: how hyperparameters of the family are learned (Raykov et al. 2016, app. A). One file each."""

from __future__ import annotations

from ..core.register import import_folder
from .base import TUNINGS, Tuning, register, resolve_tuning

import_folder(__name__, __path__)
globals().update({cls.__name__: cls for cls in TUNINGS.values()})

__all__ = ["TUNINGS", "Tuning", "register", "resolve_tuning"]
__all__ += [cls.__name__ for cls in TUNINGS.values()]
