"""Tables in: a CSV or TSV file of numbers with a header, and one sentence for whatever is wrong with it."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".tsv": "\t", ".tab": "\t"}


def read_table(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None, ignore: Iterable[str] = ()
) -> pd.DataFrame:
    """Read a table of numbers from a CSV or TSV file.

    Parameters
    ----------
    path : path
        UTF-8 text with column names in the first line. ``.tsv`` and ``.tab`` are separated by tabs; elsewhere
        the comma, semicolon or tab that is most frequent in the first line is taken.
    columns : sequence of str, optional
        Columns to keep, in this order. Default: all.
    ignore : iterable of str
        Columns to leave out: names, identifiers, known classes.

    Returns
    -------
    DataFrame
        Finite numbers only.

    Raises
    ------
    ValueError
        In one sentence: no such file, a folder, an empty file, no rows, rows of different lengths, not UTF-8,
        column names that repeat or are missing, text, empty cells.

    References
    ----------
    RFC 4180, *Common format and MIME type for comma-separated values files*.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from countless.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "heights.csv"
    ...     _ = path.write_text("name,height\\nAda,1.65\\nJan,1.80\\n")
    ...     read_table(path, ignore=["name"])["height"].tolist()
    [1.65, 1.8]
    """
    import pandas as pd

    path = Path(path)
    text = _read_text(path)
    separator = _separator(path, text)
    header = _check_shape(path, text, separator)
    kept = _select(path, header, columns, ignore)
    try:
        table = pd.read_csv(io.StringIO(text), sep=separator, index_col=False, low_memory=False)
    except pd.errors.ParserError as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}") from None
    table.columns = header
    return _check_cells(path, table[kept])


def _read_text(path: Path) -> str:
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the path of a CSV file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 text (byte {error.start} is {error.object[error.start]:#04x}); save it as UTF-8"
        ) from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    if "\0" in text:
        raise ValueError(f"{path} is not a text file; save the table as CSV")
    if not text.strip():
        raise ValueError(f"{path} is empty")
    return text


def _separator(path: Path, text: str) -> str:
    known = SEPARATORS.get(path.suffix.lower())
    first = text.lstrip("\r\n").splitlines()[0]
    return known or max(",;\t", key=first.count)


def _check_shape(path: Path, text: str, separator: str) -> list[str]:
    """Column names, after a pass that counts the cells of every row."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    header: list[str] = []
    n_rows = 0
    try:
        for cells in reader:
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            if not header:
                header = [cell.strip() for cell in cells]
            elif len(cells) != len(header):
                raise ValueError(
                    f"{path}: line {reader.line_num} has {_cells(len(cells))} and the header {_cells(len(header))}; "
                    "every row needs one cell per column"
                )
            else:
                n_rows += 1
    except csv.Error as error:
        raise ValueError(f"{path}: line {reader.line_num} cannot be read as CSV: {error}") from None
    _check_header(path, header)
    if n_rows == 0:
        raise ValueError(f"{path} holds a header and no rows")
    return header


def _check_header(path: Path, header: list[str]) -> None:
    twice = [name for name, count in Counter(header).items() if count > 1 and name]
    if twice:
        raise ValueError(f"{path}: two columns are called {twice[0]!r}; give every column a name of its own")
    if "" in header:
        raise ValueError(
            f"{path}: column {header.index('') + 1} has no name; name it, or save the table without its index"
        )
    # A table without names would silently lose its first row; "0", "1", "2", ... are the names pandas gives.
    if all(map(_is_number, header)) and header != [str(number) for number in range(len(header))]:
        raise ValueError(f"{path}: the first line holds numbers; put the names of the columns there")


def _select(path: Path, header: list[str], columns: Sequence[str] | None, ignore: Iterable[str]) -> list[str]:
    ignored = list(ignore)
    wanted = header if columns is None else list(columns)
    for name in [*wanted, *ignored]:
        if name not in header:
            listed = ", ".join(repr(column) for column in header[:20]) + (", ..." if len(header) > 20 else "")
            raise ValueError(f"{path} has no column {name!r}; it has {listed}")
    kept = [name for name in dict.fromkeys(wanted) if name not in ignored]
    if not kept:
        raise ValueError(f"{path}: no column is left to cluster")
    return kept


def _check_cells(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    text = [name for name in table.columns if table[name].dtype.kind not in "biuf"]
    if text:
        raise ValueError(
            f"{path}: {_columns(text)} text (such as {_first_text(table[text[0]])!r}); "
            "encode it as numbers or leave it out with --ignore"
        )
    values = table.to_numpy(dtype=np.float64)
    for kind, bad in (("empty", np.isnan(values)), ("infinite", np.isinf(values))):
        holes = bad.sum(axis=0)
        if holes.any():
            j = int(np.argmax(holes > 0))
            i = int(np.argmax(bad[:, j]))
            raise ValueError(
                f"{path}: column {table.columns[j]!r} has {_cells(int(holes[j]), kind)} "
                f"(first in row {i + 1}; {bad.any(axis=1).sum()} of {len(table)} rows are affected); "
                "fill the cells, drop the rows, or leave the column out with --ignore"
            )
    return table.astype(np.float64).reset_index(drop=True)


def _columns(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    listed = ", ".join(repr(name) for name in names[:5]) + more
    return f"column {listed} holds" if len(names) == 1 else f"columns {listed} hold"


def _cells(n: int, kind: str = "") -> str:
    return f"{n} {kind} cell".replace("  ", " ") + "s" * (n != 1)


def _first_text(column: Any) -> str:
    return next((str(cell) for cell in column.dropna() if not _is_number(str(cell))), "")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
