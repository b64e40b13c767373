"""Where the shared workloads are, and a plain table."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

SHARED = Path(os.environ.get("COUNTLESS_BENCH", Path(__file__).resolve().parents[2] / "shared"))


def use_shared(folder: str) -> None:
    """Put a folder of the shared benchmarks on the import path, or stop with a sentence."""
    path = SHARED / folder
    if not path.is_dir():
        sys.exit(f"{path} is not there; set COUNTLESS_BENCH to the folder that holds bench/ and yardstick/")
    sys.path.insert(0, str(path))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as their content."""
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
