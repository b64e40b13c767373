"""Families: what the data of one cluster look like. One file each; the folder is the list.

Every module here is imported once, and each family it registers becomes a name of this package.
"""

from __future__ import annotations

import importlib
import pkgutil

from .base import FAMILIES, Family, Layout, localise, register, resolve_family
from .verbs import implements

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
globals().update({cls.__name__: cls for cls in FAMILIES.values()})

__all__ = ["FAMILIES", "Family", "Layout", "implements", "localise", "register", "resolve_family"]
__all__ += [cls.__name__ for cls in FAMILIES.values()]
