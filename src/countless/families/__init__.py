"""Families: what the data of one cluster look like. One file each; the folder is the list.

Every module here is imported once, and each family it registers becomes a name of this package.
"""

from __future__ import annotations

from ..core.jit import inner_kernel, kernel
from ..core.register import import_folder
from ..core.special import digamma, log_beta_ratio, log_rising
from . import verbs
from .arrays import per_column, require_counts
from .base import FAMILIES, Family, FloatArray, Layout, localise, register, resolve_family
from .table.table import Table
from .verbs import implements, learns_two_by_column, linear_in_row

import_folder(__name__, __path__)
globals().update({cls.__name__: cls for cls in FAMILIES.values()})

# Besides the families: what a file with a new one needs.
__all__ = [
    "FAMILIES",
    "Family",
    "FloatArray",
    "Layout",
    "Table",
    "digamma",
    "implements",
    "inner_kernel",
    "kernel",
    "learns_two_by_column",
    "linear_in_row",
    "localise",
    "log_beta_ratio",
    "log_rising",
    "per_column",
    "register",
    "require_counts",
    "resolve_family",
    "verbs",
]
__all__ += [cls.__name__ for cls in FAMILIES.values()]
