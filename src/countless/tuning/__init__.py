"""Tuning: how hyperparameters of the family are learned (Raykov et al. 2016, app. A). One file each."""

from __future__ import annotations

import importlib
import pkgutil

from .base import TUNINGS, Tuning, register, resolve_tuning

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
globals().update({cls.__name__: cls for cls in TUNINGS.values()})

__all__ = ["TUNINGS", "Tuning", "register", "resolve_tuning"]
__all__ += [cls.__name__ for cls in TUNINGS.values()]
