"""Sections of the report that only biclusterings have."""

from __future__ import annotations

from typing import Any


def sections(model: Any) -> list[Any]:
    """None yet."""
    return []
