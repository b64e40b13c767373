"""Tables in: text, Parquet, Feather, Excel and JSON lines, and one sentence for whatever is wrong with them."""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrow import is_arrow, read_arrow
from .formats import content, decoded, is_excel, is_json, read_excel, read_json

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".tsv": "\t", ".tab": "\t"}
# Markers of missing cells, in lower case; cells are compared without the spaces around them.
MISSING = ("", "na", "n/a", "n.a.", "nan", "null", "?", "-", "--", ".", "#n/a", "#na", "<na>")
# A column is still one of numbers where at most this share of its cells holds at most so many different words: the
# words are taken for markers of missing cells.
MOST_WORDS, MOST_KINDS_OF_WORDS = 0.05, 3
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?Z?")
TRUTHS = {"true": True, "false": False}


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    ignore: Iterable[str] = (),
    numbers_only: bool = False,
    missing: Iterable[str] = (),
) -> pd.DataFrame:
    """Read a table from a CSV, TSV, Parquet, Feather, Excel or JSON lines file.

    Parameters
    ----------
    path : path
        Text in UTF-8 with column names in the first line, where ``.tsv`` and ``.tab`` are separated by tabs and
        others by the comma, semicolon or tab that is most frequent in the first line; or a Parquet or Feather file
        (with ``pip install countless[parquet]``), the first sheet of an Excel workbook (``countless[excel]``), or JSON
        lines, one object per row, known by their first bytes. Text may be compressed: gzip, bzip2, xz, or a zip file
        with one member.
    columns : sequence of str, optional
        Columns to keep, in this order. Default: all.
    ignore : iterable of str
        Columns to leave out: names, identifiers, known classes.
    numbers_only : bool
        Whether text and missing cells are an error; the columns are then all float64.
    missing : iterable of str
        Further words that mark missing cells. Empty cells, ``NA``, ``N/A``, ``NaN``, ``null``, ``?``, ``-`` and the
        like always do.

    Returns
    -------
    DataFrame
        Columns of whole numbers (floats where cells are missing), floats, truth values, dates (written as
        2024-12-31) and text; missing cells are missing.

    Raises
    ------
    ValueError
        In one sentence: no such file, a folder, an empty file, no rows, rows of different lengths, not UTF-8,
        column names that repeat or are missing, infinite numbers.

    References
    ----------
    RFC 4180, *Common format and MIME type for comma-separated values files*.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from countless.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("name,height,children\\nAda,1.65,2\\nJan,?,0\\n")
    ...     table = read_table(path, ignore=["name"])
    >>> table["children"].tolist(), table["height"].isna().tolist()
    ([2, 0], [False, True])
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the path of a CSV file")
    found = b"" if is_arrow(path) else content(path)
    if is_arrow(path) or is_excel(found) or is_json(found):
        table = _without_marks(_typed_table(path, found, columns, ignore), missing)
    else:
        table = _read_csv(path, decoded(path, found), columns, ignore, missing)
    return _numbers(path, table) if numbers_only else _check_infinite(path, table)


def _typed_table(path: Path, found: bytes, columns: Sequence[str] | None, ignore: Iterable[str]) -> pd.DataFrame:
    """A table from a file whose cells have types."""
    if is_arrow(path):
        table = read_arrow(path)
    else:
        table = read_excel(path, found) if is_excel(found) else read_json(path, found)
    table.columns = [str(name) for name in table.columns]
    _check_header(path, list(table.columns))
    if len(table) == 0:
        raise ValueError(f"{path} holds column names and no rows")
    return table[_select(path, list(table.columns), columns, ignore)]


# --- text files -------------------------------------------------------------------------------------------------


def _read_csv(
    path: Path, text: str, columns: Sequence[str] | None, ignore: Iterable[str], missing: Iterable[str]
) -> pd.DataFrame:
    import pandas as pd

    separator = _separator(path, text)
    header = _check_shape(path, text, separator)
    kept = _select(path, header, columns, ignore)
    further = [mark.strip().lower() for mark in missing]
    marks = {*MISSING, *further}
    spelt = [spelling for mark in sorted(marks) for spelling in {mark, mark.upper(), mark.title()}] + ["NaN"]
    try:
        table = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            index_col=False,
            low_memory=False,
            header=0,
            names=header,
            usecols=kept,
            na_values=spelt,
            keep_default_na=False,
            skipinitialspace=True,
        )
    except (pd.errors.ParserError, OverflowError) as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}") from None
    numbers = [float(mark) for mark in further if _is_number(mark)]
    for name in kept:
        if table[name].dtype.kind not in "biuf":
            table[name] = _typed(path, table[name], marks, separator)
        elif numbers and table[name].dtype.kind in "iuf":
            # A marker in another spelling, -999.0 for -999.
            table[name] = table[name].where(~table[name].isin(numbers))
    return table[kept].reset_index(drop=True)


def _typed(path: Path, column: pd.Series, marks: set[str], separator: str) -> pd.Series:
    """A column that is not plainly numbers: spaces go, markers become missing, then it is what its cells say."""
    import pandas as pd

    cells = [None if pd.isna(cell) else str(cell).strip() for cell in column]
    cells = [None if cell is None or cell.lower() in marks else cell for cell in cells]
    shown = [cell for cell in cells if cell is not None]
    if not shown:
        return pd.Series(np.full(len(cells), np.nan), name=column.name)
    if separator == ";" and all(map(DECIMAL_COMMA.fullmatch, shown)):
        cells = [None if cell is None else cell.replace(",", ".") for cell in cells]
        shown = [cell for cell in cells if cell is not None]
    words = [cell for cell in shown if not NUMBER.fullmatch(cell)]
    if words and len(words) <= MOST_WORDS * len(shown) and len(set(words)) <= MOST_KINDS_OF_WORDS:
        listed = ", ".join(repr(word) for word in dict.fromkeys(words))
        warnings.warn(
            f"{path}: column {column.name!r} holds numbers but for {_cells(len(words))} with {listed}, which count as "
            "missing",
            stacklevel=5,
        )
        cells = [None if cell is None or not NUMBER.fullmatch(cell) else cell for cell in cells]
        words = []
    if not words:
        values = np.array([np.nan if cell is None else float(cell) for cell in cells])
        whole = len(shown) == len(cells) and all(cell.lstrip("+-").isdigit() for cell in shown)
        return pd.Series(
            values.astype(np.int64) if whole and np.abs(values).max() < 2**53 else values, name=column.name
        )
    if all(cell.lower() in TRUTHS for cell in shown):
        truths = [None if cell is None else TRUTHS[cell.lower()] for cell in cells]
        return pd.Series(truths, dtype=bool if len(shown) == len(cells) else "boolean", name=column.name)
    if all(map(DATE.fullmatch, shown)):
        dates = pd.to_datetime(pd.Series(cells, dtype=object), format="ISO8601", errors="coerce", utc=True)
        if dates.notna().sum() == len(shown):
            return dates.dt.tz_localize(None).rename(column.name)
    return pd.Series(cells, dtype="str" if _has_text_type() else object, name=column.name)


def _has_text_type() -> bool:
    import pandas as pd

    return int(pd.__version__.split(".")[0]) >= 3


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


# --- all files --------------------------------------------------------------------------------------------------


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


def _without_marks(table: pd.DataFrame, missing: Iterable[str]) -> pd.DataFrame:
    """The table without the words and numbers that mark missing cells."""
    words = [mark.strip() for mark in missing]
    marks = [*words, *(float(word) for word in words if _is_number(word))]
    return table.where(~table.isin(marks)) if marks else table


def _check_infinite(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    for name in table.columns:
        column = table[name]
        if getattr(column.dtype, "kind", "") == "f":
            _complain_of(path, table, name, "infinite", np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan)))
    return table


def _numbers(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The table as floats; text and missing cells are an error."""
    import pandas as pd

    is_number = {name: pd.api.types.is_numeric_dtype(table[name].dtype) for name in table.columns}
    text = [name for name in table.columns if not is_number[name]]
    if text:
        raise ValueError(
            f"{path}: {_columns(text)} text (such as {_first_text(table[text[0]])!r}); "
            "encode it as numbers or leave it out with --ignore"
        )
    numbers = table.apply(lambda column: column.to_numpy(dtype=np.float64, na_value=np.nan))
    for kind, test in (("empty", np.isnan), ("infinite", np.isinf)):
        for name in numbers.columns:
            _complain_of(path, numbers, name, kind, test(numbers[name].to_numpy()))
    return numbers


def _complain_of(path: Path, table: pd.DataFrame, name: str, kind: str, bad: Any) -> None:
    if bad.any():
        raise ValueError(
            f"{path}: column {name!r} has {_cells(int(bad.sum()), kind)} (first in row {int(np.argmax(bad)) + 1} of "
            f"{len(table)}); fill the cells, drop the rows, or leave the column out with --ignore"
        )


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
