"""Studies of the source papers, one file each: what they found, and what does not work."""

from __future__ import annotations

from .splitting import Splitting, split_by_criterion

__all__ = ["Splitting", "split_by_criterion"]
