"""Experiments of the source papers, one file each, including those that failed."""

from __future__ import annotations

from .splitting import Splitting, split_by_criterion

__all__ = ["Splitting", "split_by_criterion"]
