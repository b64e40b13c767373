"""Experiments of the source papers, one file each, including those that failed; each file registers its study."""

from __future__ import annotations

from ..core.register import import_folder
from .splitting import Splitting, split_by_criterion
from .study import STUDIES, Study

import_folder(__name__, __path__)

__all__ = ["STUDIES", "Splitting", "Study", "split_by_criterion"]
