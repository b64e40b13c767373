"""Tables of mixed columns: how they are read, and how the families of their columns make one."""

from __future__ import annotations

from .table import Block, Table

__all__ = ["Block", "Table"]
