"""Input and output: tables of numbers in, files that are whole or absent out."""

from __future__ import annotations

from .._files import check_folder, write_together, write_whole
from .tables import read_table

__all__ = ["check_folder", "read_table", "write_together", "write_whole"]
