"""Tables as users have them, read into rows of numbers: what each column holds, and its cells encoded.

Every choice is a ``Column`` that can be observed and overridden. Numbers stay what they are, categories become codes,
a missing cell becomes NaN.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import ArgumentError
from ..columns import IGNORED, NO_AND_YES, OTHER, Column
from .codes import MOST_CODES, are_codes
from .sentinels import suspected_missing
from .written import PARTS, PLAIN_DATE, SERIAL, SERIAL_ZERO, Style, are_serials, part_of, style_of

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

# A column of text with more different values than this keeps the most frequent ones; the rest become one category.
MOST_LEVELS = 40
# Whole numbers from 0 up to this are counts; larger ones are measurements.
LARGEST_COUNT = 100
# Share of cells that are numbers from which a column of text is taken for one of numbers that went wrong.
MOSTLY_NUMBERS = 0.5
# What is said of a column that is left out because it names the rows.
A_NAME = "a different text in most rows: a name, not a category"
AN_ID = "called an id: it names the rows"
# Columns with such a name and as many different cells as the second are ids.
CALLED_ID, FEWEST_IDS = re.compile(r"(.*[ _.-])?id", re.IGNORECASE), 20
# Rows from which a column of text with no cell twice names them.
FEWEST_NAMES = 5
# What is said of whole numbers. A table of codes has at least so many columns of them, and for each that may be counts.
CODES, COUNTS, FEWEST_CODES, MORE_CODES = "codes of categories", "counts", 3, 2
# What is said of a column whose family was given.
ASKED = "as asked"
# A column with a larger share of missing cells says too little about its correlations.
MOST_MISSING = 0.25
# With more rows than these, drawing missing cells of correlated columns takes too long.
MOST_ROWS_WITH_MISSING = 20_000


def as_frame(X: Any) -> pd.DataFrame:
    """A pandas frame of the user's table: pandas, Polars or any frame with named columns, arrays, lists."""
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X
    if hasattr(X, "columns") and hasattr(X, "__getitem__") and not isinstance(X, np.ndarray):
        return pd.DataFrame({str(name): pd.Series(X[name].to_list()) for name in X.columns})
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" or array.dtype.kind == "O":
            array = np.asarray(X, dtype=object)
    except ValueError:
        raise ValueError("X must be a table of rows and columns, got rows of different lengths") from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got {array.ndim} dimensions")
    frame = pd.DataFrame(array, columns=[f"column {j}" for j in range(array.shape[1])])
    return frame.infer_objects()


def names_of_rows(X: Any, columns: Sequence[Column]) -> tuple[str, list[str]] | None:
    """What the rows of a table are called, and by which column or index; None where nothing says so.

    The index of a pandas frame names the rows unless it numbers them; else the first column that was read as names.
    """
    import pandas as pd

    if isinstance(X, pd.DataFrame) and not pd.api.types.is_numeric_dtype(X.index.dtype):
        return str(X.index.name or ""), [str(name) for name in X.index]
    names = (A_NAME, AN_ID)
    found = next((column.name for column in columns if column.family == IGNORED and column.note in names), None)
    if found is None:
        return None
    frame = as_frame(X)
    return found, ["" if text is None else text for text in _texts(frame.iloc[:, list(map(str, frame)).index(found)])]


def read_frame(frame: pd.DataFrame, chosen: Mapping[Any, str], coded: Collection[Any] = ()) -> tuple[Column, ...]:
    """What each column holds: as ``chosen`` (by name or number), else guessed from its cells.

    Numbers in ``coded`` columns are codes of categories already, and are not changed.
    """
    names = [str(name) for name in frame.columns]
    by_place: dict[int, str] = {}
    kept: set[int] = set()
    for key, kind in chosen.items():
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and key not in list(frame.columns):
            if not -len(names) <= key < len(names):
                raise ValueError(f"columns: there is no column number {key}; the table has {len(names)}")
            place = int(key) % len(names)
        elif str(key) in names:
            place = names.index(str(key))
        else:
            listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
            raise ValueError(f"columns: there is no column {key!r}; the table has {listed}")
        by_place[place] = kind
        kept |= {place} if key in coded else set()
    columns = [_column(name, frame.iloc[:, j], by_place.get(j), j in kept) for j, name in enumerate(names)]
    if all(column.family == IGNORED for column in columns):
        raise ValueError(f"X: no column is left to cluster ({columns[0].name!r}: {columns[0].note})")
    columns = _like_the_others(columns, frame, set(by_place))
    return _without_sparse(columns, frame, set(by_place))


def encode(frame: pd.DataFrame, columns: Sequence[Column]) -> FloatArray:
    """Rows of numbers: the columns that are used, in their order, whatever the order of those of the frame."""
    used = [(j, column) for j, column in enumerate(columns) if column.family != IGNORED]
    names = [str(name) for name in frame.columns]
    out = np.empty((len(frame), len(used)))
    for place, (j, column) in enumerate(used):
        if column.name in names:
            cells = frame.iloc[:, names.index(column.name)]
        elif all(name.startswith("column ") for name in names) and len(names) == len(columns):
            cells = frame.iloc[:, j]
        else:
            raise ValueError(f"X has no column {column.name!r}; give every column of the fit, empty where unknown")
        out[:, place] = _cells(cells, column)
    return out


def decode(rows: FloatArray, columns: Sequence[Column]) -> pd.DataFrame:
    """Rows of numbers as a table again, the inverse of ``encode``: categories by name, dates, whole counts."""
    import pandas as pd

    used = [column for column in columns if column.family != IGNORED]
    return pd.DataFrame({column.name: _decoded(rows[:, j], column) for j, column in enumerate(used)})


def _decoded(cells: FloatArray, column: Column) -> Any:
    import pandas as pd

    if column.levels is not None:
        levels: list[Any] = list(column.levels)
        if all(map(_is_number, levels)):
            levels = [int(level) if float(level).is_integer() else float(level) for level in map(float, levels)]
        elif set(levels) <= {"False", "True"}:
            levels = [level == "True" for level in levels]
        return [None if np.isnan(cell) else levels[int(cell)] for cell in cells]
    if column.written == SERIAL.code:
        return np.round(cells - SERIAL_ZERO)
    if column.is_date:
        return pd.to_datetime(cells, unit="D").round("D" if "%H" not in str(column.written) else "s")
    whole = column.cells == "counts" and not np.isnan(cells).any()
    return np.rint(cells).astype(np.int64) if whole else cells


def _cells(cells: pd.Series, column: Column) -> FloatArray:
    """The cells of a column as numbers."""
    if column.levels is None:
        return _numbers(cells, column)
    part = column.part
    if part is None or set(_texts(cells).dropna()) <= set(column.levels):
        return _codes(cells, column.levels)
    return part_of(part, _numbers(cells, replace(column, written=(column.written or "").partition(":")[2])))


def _column(name: str, cells: pd.Series, chosen: str | None, coded: bool) -> Column:
    import pandas as pd

    if chosen == IGNORED:
        return Column(name, IGNORED, note="left out as asked")
    observed = cells.dropna()
    if chosen in PARTS:
        return _part_column(name, cells, chosen)
    if chosen is not None:
        named = chosen in ("categorical", "bernoulli") and not (coded and pd.api.types.is_numeric_dtype(cells.dtype))
        style = None if named else _style(cells)
        return Column(name, chosen, _levels(cells) if named else None, ASKED, None if style is None else style.code)
    if len(observed) == 0:
        return Column(name, IGNORED, note="empty")
    if CALLED_ID.fullmatch(name) and observed.nunique() > FEWEST_IDS and not pd.api.types.is_float_dtype(cells.dtype):
        return Column(name, IGNORED, note=AN_ID)
    if pd.api.types.is_bool_dtype(observed.dtype) or isinstance(cells.dtype, pd.CategoricalDtype):
        return Column(name, "categorical", _levels(cells), "categories")
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return Column(name, "gaussian", note="dates, in days since 1970", written=PLAIN_DATE)
    if not pd.api.types.is_numeric_dtype(cells.dtype):
        style = _style(cells)
        if style is not None:
            return _written_column(name, cells, style)
        return _text_column(name, cells, observed)
    values = observed.to_numpy(dtype=np.float64)
    return _as_dates(_number_column(name, cells, values), values)


def _part_column(name: str, cells: pd.Series, part: str) -> Column:
    """A column of dates of which only a part that comes again is asked for."""
    import pandas as pd

    are_dates = pd.api.types.is_datetime64_any_dtype(cells.dtype)
    code = PLAIN_DATE if are_dates else getattr(_style(cells), "code", "")
    if not code.startswith("date:"):
        raise ArgumentError("columns", f"{name!r} holds no dates, so that there is no {part} to read")
    return Column(name, "categorical", PARTS[part][0], f"the {part} of dates", f"{part}:{code}")


def _written_column(name: str, cells: pd.Series, style: Style) -> Column:
    """A column of text that holds numbers, dates or durations: units make measurements of whole numbers too."""
    values = style.values(_stripped(cells))
    column = _number_column(name, cells, values[~np.isnan(values)])
    if column.levels is not None or column.family == IGNORED:
        return column
    family, note = (column.family, column.note) if style.is_plain else ("gaussian", f"measurements: {style.words}")
    return replace(column, family=family, note=note, written=style.code)


def _text_column(name: str, cells: pd.Series, observed: pd.Series) -> Column:
    n_different = observed.astype(str).nunique()
    if n_different == 1:
        return Column(name, IGNORED, note="the same in every row")
    if n_different > max(20, len(observed) // 2) or n_different == len(observed) >= FEWEST_NAMES:
        _warn_of_numbers(name, observed)
        return Column(name, IGNORED, note=A_NAME)
    levels = _levels(cells)
    note = "categories" if OTHER not in levels else f"categories; the {len(levels) - 1} most frequent of {n_different}"
    return Column(name, "categorical", levels, note)


def _warn_of_numbers(name: str, observed: pd.Series) -> None:
    """Warn where a column of text that is left out seems to be one of numbers."""
    fits = np.array([style_of([text]) is not None for text in observed.astype(str).str.strip()])
    if MOSTLY_NUMBERS <= fits.mean() < 1.0:
        other = next(str(cell) for cell, fit in zip(observed, fits, strict=True) if not fit)
        warnings.warn(
            f"X: column {name!r} is left out, but {fits.sum():,} of its {len(fits):,} cells are numbers or dates; "
            f"write the others, such as {other!r}, in the same way, or leave them empty",
            stacklevel=2,
        )


def _style(cells: pd.Series) -> Style | None:
    """How the cells of a column of text are written as numbers; None where they are not, or are numbers already."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return None
    return style_of([text for text in _stripped(cells) if text is not None])


def _stripped(cells: pd.Series) -> list[str | None]:
    """Cells as text without spaces around it; None where missing."""
    return [None if text is None else text.strip() for text in _texts(cells)]


def _number_column(name: str, cells: pd.Series, values: FloatArray) -> Column:
    if np.isinf(values).any():
        raise ValueError(f"X: column {name!r} holds infinity; drop or clear such cells before the fit")
    different = np.unique(values)
    if len(different) == 1:
        return Column(name, IGNORED, note="the same in every row")
    mark = suspected_missing(values)
    if mark is not None:
        warnings.warn(
            f"X: column {name!r} holds {mark:g} in {np.sum(values == mark):,} cells, far from all its other numbers; "
            f"if it marks missing cells, leave them empty (on the command line, --missing {mark:g})",
            stacklevel=2,
        )
    if np.any(different != np.floor(different)):
        return Column(name, "gaussian", note="measurements")
    if len(different) == len(values) > 20 and different[-1] - different[0] == len(values) - 1:
        return Column(name, IGNORED, note="numbers the rows")
    if len(different) == 2 or (different[0] >= 0 and are_codes(values)):
        return Column(name, "categorical", _levels(cells), CODES)
    if different[0] == 0 and different[-1] <= LARGEST_COUNT:
        return Column(name, "poisson", note=COUNTS)
    return Column(name, "gaussian", note="measurements")


def _as_dates(column: Column, values: FloatArray) -> Column:
    """The same column, as one of dates where its numbers are those of a spreadsheet."""
    if column.family != "gaussian" or not are_serials(column.name, values):
        return column
    return replace(column, note=SERIAL.words, written=SERIAL.code)


def _like_the_others(columns: list[Column], frame: pd.DataFrame, asked: set[int]) -> list[Column]:
    """Small whole numbers from 0 that may be counts are codes where most such columns of the table are codes."""
    n_codes = sum(_codes_from_zero(column) for j, column in enumerate(columns) if j not in asked)
    places = [j for j, column in enumerate(columns) if column.note == COUNTS and column.written is None]
    places = [j for j in places if frame.iloc[:, j].max() <= MOST_CODES]
    if not places or n_codes < max(FEWEST_CODES, MORE_CODES * len(places)):
        return columns
    found = list(columns)
    for j in places:
        found[j] = Column(columns[j].name, "categorical", _levels(frame.iloc[:, j]), f"{CODES}, as in other columns")
    return found


def _codes_from_zero(column: Column) -> bool:
    """Whether a column was read as codes of more than two categories, the first of them 0."""
    levels = column.levels or ()
    return column.note == CODES and len(levels) > 2 and levels[0] == "0"


def _without_sparse(columns: list[Column], frame: pd.DataFrame, asked: set[int]) -> tuple[Column, ...]:
    """Guessed Gaussian columns that say too little about correlations, or would take too long, have none."""
    places = [j for j, column in enumerate(columns) if column.family == "gaussian" and j not in asked]
    missing = {j: float(frame.iloc[:, j].isna().mean()) for j in places}
    if len(frame) > MOST_ROWS_WITH_MISSING and any(missing.values()):
        missing = {j: 1.0 if share else 0.0 for j, share in missing.items()}
    for j in places:
        if missing[j] > MOST_MISSING:
            columns[j] = columns[j].as_family("diagonal-gaussian", f"{columns[j].note}; many missing cells")
    return tuple(columns)


def _levels(cells: pd.Series) -> tuple[str, ...]:
    """Names of the categories: in the order of the type where it has one, else sorted; rare ones together."""
    import pandas as pd

    texts = _texts(cells)
    counts = texts.dropna().value_counts()
    if isinstance(cells.dtype, pd.CategoricalDtype):
        order = [_text(level) for level in cells.dtype.categories]
    else:
        order = sorted(counts.index, key=_natural_order)
    if len(order) <= MOST_LEVELS:
        return tuple(order)
    frequent = set(counts.index[: MOST_LEVELS - 1])
    return (*(level for level in order if level in frequent), OTHER)


def _codes(cells: pd.Series, levels: Sequence[str]) -> FloatArray:
    """Codes of categories; a category that the fit has not seen is ``OTHER``, or missing where that is not a level."""
    code = {level: float(number) for number, level in enumerate(levels)}
    rest = code.get(OTHER, np.nan)
    texts = _texts(cells)
    answers = _answers(texts, levels)
    code |= {text: float(number) for number, text in enumerate(answers or ())}
    return np.array([np.nan if text is None else code.get(text, rest) for text in texts], dtype=np.float64)


def _answers(texts: pd.Series, levels: Sequence[str]) -> tuple[str, str] | None:
    """How no and yes are written in these cells, where levels are no and yes as well: 0 and 1 for n and y."""
    seen = set(texts.dropna())
    if tuple(levels) not in NO_AND_YES or seen <= set(levels):
        return None
    return next((pair for pair in NO_AND_YES if seen <= set(pair)), None)


def unseen(frame: pd.DataFrame, columns: Sequence[Column]) -> dict[str, list[str]]:
    """Cells of new rows that are none of the categories of a column, each once, by the name of the column."""
    found: dict[str, list[str]] = {}
    names = [str(name) for name in frame.columns]
    for column in columns:
        if column.levels is not None and column.part is None and column.name in names:
            texts = _texts(frame.iloc[:, names.index(column.name)])
            if _answers(texts, column.levels) is None:
                found[column.name] = sorted(set(texts.dropna()) - set(column.levels), key=_natural_order)
    return {name: texts for name, texts in found.items() if texts}


def _numbers(cells: pd.Series, column: Column) -> FloatArray:
    import pandas as pd

    name = column.name
    are_text = not (pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype))
    if column.written is not None and are_text:
        style = Style.of_code(column.written)
        try:
            return style.values(_stripped(cells))
        except ValueError as error:
            raise ValueError(f"X: column {name!r} must hold {style.words}, got {str(error)!r}") from None
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        days = (cells.dt.tz_localize(None) if cells.dt.tz is not None else cells) - pd.Timestamp(0)
        return (days / pd.Timedelta(days=1)).to_numpy(dtype=np.float64, na_value=np.nan)
    try:
        values = pd.to_numeric(cells).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        text = next((str(cell) for cell in cells.dropna() if not _is_number(cell)), "")
        raise ValueError(f"X: column {name!r} must hold numbers, got {text!r}") from None
    if np.isinf(values).any():
        raise ValueError(f"X: column {name!r} holds infinity; drop or clear such cells before the fit")
    return values + SERIAL_ZERO if column.written == SERIAL.code else values


def _texts(cells: pd.Series) -> pd.Series:
    """Cells as text, None where missing; whole numbers without a decimal point."""
    import pandas as pd

    missing = cells.isna().to_numpy()
    texts = [None if is_missing else _text(cell) for cell, is_missing in zip(cells, missing, strict=True)]
    return pd.Series(texts, dtype=object)


def _text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, (float, np.floating)) and float(cell).is_integer() else str(cell)


def _natural_order(text: str) -> tuple[bool, float, str]:
    return (False, float(text), text) if _is_number(text) else (True, 0.0, text)


def _is_number(cell: Any) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except (TypeError, ValueError):
        return False
