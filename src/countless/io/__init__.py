"""Input and output: tables in, files that are whole or absent out, runs and models read back and continued."""

from __future__ import annotations

from ..core.files import check_folder, write_together, write_whole
from .rehearsals import warmup
from .runs import load, resume
from .tables import read_table

__all__ = ["check_folder", "load", "read_table", "resume", "warmup", "write_together", "write_whole"]
