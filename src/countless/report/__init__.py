"""Report: one self-contained HTML page that says what was found, how sure it is, and how to find it again."""

from __future__ import annotations

from .page import render, write

__all__ = ["render", "write"]
