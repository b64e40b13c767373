"""Parquet and Feather files, by way of pyarrow where it is installed: plain columns only."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# What files begin with: Parquet, Arrow (Feather 2), Feather 1.
BEGINNINGS = {b"PAR1": "Parquet", b"ARROW1": "Feather", b"FEA1": "Feather"}
SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".feather": "Feather", ".ftr": "Feather", ".arrow": "Feather"}


def is_arrow(path: Path) -> bool:
    """Whether a file is Parquet or Feather, by its first bytes, or says so in its name."""
    return _kind(path) is not None


def _kind(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            start = file.read(6)
    except OSError:
        return None  # whoever reads it says why
    known = [kind for beginning, kind in BEGINNINGS.items() if start.startswith(beginning)]
    return known[0] if known else SUFFIXES.get(path.suffix.lower())


def read_arrow(path: Path) -> pd.DataFrame:
    """All columns of a Parquet or Feather file; ValueError in one sentence where that cannot be."""
    kind = _kind(path)
    try:
        import pyarrow
        from pyarrow import feather, parquet
    except ImportError:
        raise ValueError(
            f"{path} is a {kind} file, which pyarrow reads: pip install 'countless[parquet]', or save it as CSV"
        ) from None
    try:
        table = parquet.ParquetFile(path).read() if kind == "Parquet" else feather.read_table(path)
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} cannot be read as {kind}: {reason}") from None
    _check_types(path, table.schema)
    # The index that pandas saved with a frame is not one of its columns.
    names = [name for name in table.column_names if not name.startswith("__index_level_")]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{path}: two columns are called {twice!r}; give every column a name of its own")
    frame = table.select(names).to_pandas(ignore_metadata=True)
    return frame.apply(_plain)


def _check_types(path: Path, schema: Any) -> None:
    from pyarrow import types

    for field in schema:
        if types.is_nested(field.type) or types.is_binary(field.type) or types.is_large_binary(field.type):
            raise ValueError(
                f"{path}: column {field.name!r} holds {field.type}; save numbers, text, dates or truth values"
            )


def _plain(column: pd.Series) -> pd.Series:
    """Objects of Python become numbers, dates or truth values, where all of them are."""
    import pandas as pd

    if column.dtype != object:
        return column
    shown = column.dropna()
    if len(shown) == 0:
        return pd.to_numeric(column)
    if all(isinstance(cell, bool) for cell in shown):
        return column.astype("boolean")
    if all(isinstance(cell, decimal.Decimal) for cell in shown):
        return column.astype("float64")
    if all(isinstance(cell, datetime.date) for cell in shown):
        return pd.to_datetime(column)
    return column
