"""The settings that reproduce a fit: a snippet of Python, a command line, how each column was read, versions.

All of them are read off an estimator: its constructor arguments, and their resolved twins whose names end in ``_``.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import __version__
from ..core.text import listed, percent
from .numbers import digits, plain
from .sections import Section
from .widgets import table_content

HOUSE = __name__.split(".")[0]
# Where users find the classes of settings.
ROOMS = ("families", "priors", "inference", "tuning")
MOST_READ = 200
# A note of more letters that several columns share is shown once, below the table.
LONG_NOTE = 60
MOST_LISTED = 12
# Arguments that do not change what is found.
SILENT = ("progress", "verbose", "n_jobs")


def settings(model: Any, command: str | None = None, more: Mapping[str, str] | None = None) -> Section:
    """Section with all that reproduces a fit, the last one of a page.

    Parameters
    ----------
    model : fitted estimator
    command : str, optional
        Command line of the same fit.
    more : mapping of str to str, optional
        Settings in words, beside or instead of those that are read off the model.

    Returns
    -------
    Section

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.report.settings(model).content["python"].splitlines()[2]
    'model = cl.DPMixture(random_state=0).fit(X)'
    """
    choices = {**_choices(model), **(more or {})}
    seeded = "random_state" not in _arguments(model) or seed_of(model) is not None
    content = {
        "python": python_code(model),
        "shell": command,
        "note": "" if seeded else "The fit had no fixed seed (random_state): another run gives different draws.",
        "choices": [list(pair) for pair in choices.items()],
        "versions": versions(),
        **_columns(model),
    }
    return Section("settings", "How to reproduce this", "settings", content, link="Settings")


def versions() -> dict[str, str]:
    """Versions of everything that the draws depend on."""
    import numba
    import scipy
    import sklearn

    libraries = {module.__name__: str(module.__version__) for module in (np, scipy, numba, sklearn)}
    return {"countless": __version__, "python": platform.python_version(), **libraries}


# --- columns ---------------------------------------------------------------------------------------------------------


def columns_of(model: Any) -> list[dict[str, Any]]:
    """How each column was read and why, with those that were left out, in the order of the table."""
    data: Any = getattr(model.posterior_, "data", None)
    columns = getattr(data, "columns", ())
    schema = getattr(getattr(model, "family_", None), "schema", None) or columns
    place = {column.name: j for j, column in enumerate(columns)}
    return [_read(column, data.rows[:, place[column.name]] if column.name in place else None) for column in schema]


def _read(column: Any, cells: Any) -> dict[str, Any]:
    known = np.empty(0) if cells is None else cells[~np.isnan(cells)]
    levels = None if column.levels is None else [str(level) for level in column.levels]
    low, high = _ends(column, known) if len(known) else (None, None)
    return {
        "name": column.name,
        "family": column.family,
        "missing": None if cells is None else len(cells) - len(known),
        "note": column.note,
        "levels": levels,
        "low": low,
        "high": high,
    }


def _ends(column: Any, known: Any) -> list[Any]:
    """Smallest and largest number of a column; dates as text."""
    ends = np.array([known.min(), known.max()])
    if getattr(column, "is_date", False):
        return [column.number_in_words(float(end), f"{end:g}") for end in ends]
    return plain(ends, digits(known))


def _columns(model: Any) -> dict[str, Any]:
    """The table of the columns, for models that read one."""
    columns = columns_of(model)
    if not columns:
        return {"columns": None, "remark": ""}
    n_rows = len(model.posterior_.data.rows)
    shown, common = with_footnotes(columns[:MOST_READ])
    rows = [
        [column["name"], column["family"], _missing(column, n_rows), _holds(column), column["note"]] for column in shown
    ]
    header = ["column", "modelled as", "missing", "holds", "because"]
    remarks = [*common, f"The first {MOST_READ} of {len(columns):,} columns." if len(columns) > MOST_READ else ""]
    return {"columns": table_content(header, rows, False, (0, 3, 4)), "remark": " ".join(filter(None, remarks))}


def with_footnotes(columns: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Columns whose notes leave out, but for stars, what is long and the same in several of them; and that."""
    parts = Counter(part for column in columns for part in (column["note"] or "").split("; "))
    common = [part for part, count in parts.items() if count > 1 and len(part) > LONG_NOTE]
    stars = {part: "*" * at for at, part in enumerate(common, start=1)}
    shown = [{**column, "note": _starred(column["note"] or "", stars)} for column in columns]
    return shown, [f"{'*' * at} {part}" for at, part in enumerate(common, start=1)]


def _starred(note: str, stars: dict[str, str]) -> str:
    """A note in which common parts are stars behind the others."""
    parts = note.split("; ")
    own = "; ".join(part for part in parts if part not in stars)
    return " ".join([own, *(stars[part] for part in parts if part in stars)]).strip()


def _missing(column: Mapping[str, Any], n_rows: int) -> str:
    n = column["missing"]
    return "" if n is None else f"{n:,} ({percent(n / n_rows)})" if n else "0"


def _holds(column: Mapping[str, Any]) -> str:
    """Range or first categories of a column."""
    if column["levels"] is None:
        return "" if column["low"] is None else f"{column['low']} to {column['high']}"
    short = [level if len(level) <= 40 else f"{level[:39]}…" for level in column["levels"]]
    return listed(short, MOST_LISTED)


# --- settings as text ----------------------------------------------------------------------------------------------


def _choices(model: Any) -> dict[str, str]:
    """Arguments that the fit resolved, with every setting filled in."""
    return {name: described(getattr(model, f"{name}_")) for name in _arguments(model) if hasattr(model, f"{name}_")}


def _arguments(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.get_params(deep=False)
    return {name: found[name] for name in inspect.signature(type(model)).parameters if name in found}


def described(value: Any) -> str:
    """Name of an object, with its short settings."""
    if not dataclasses.is_dataclass(value):
        return str(value)
    parts = []
    for field in dataclasses.fields(value):
        setting = getattr(value, field.name)
        short = isinstance(setting, np.ndarray) and setting.size <= 6
        if short or isinstance(setting, (str, int, float)) or dataclasses.is_dataclass(setting):
            shown = code(_rounded(setting), "")
            if len(shown) <= 80:
                parts.append(f"{field.name}={shown}")
    return f"{type(value).__name__}({', '.join(parts)})"


def _rounded(value: Any) -> Any:
    """Floats in four digits."""
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.4g}")
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return [_rounded(part) for part in value]
    return value


def python_code(model: Any) -> str:
    """A snippet that fits the same model to a table ``X``."""
    kind = type(model)
    defaults = {name: each.default for name, each in inspect.signature(kind).parameters.items()}
    given = {name: value for name, value in _arguments(model).items() if name not in SILENT}
    arguments = [f"{name}={code(value)}" for name, value in given.items() if not _same(value, defaults.get(name))]
    ours = kind.__module__.split(".")[0] == HOUSE
    classes = {*([] if ours else [kind]), *_own_classes(given)}
    imports = sorted(f"from {each.__module__} import {each.__name__}" for each in classes)
    return "\n".join(
        [
            "import countless as cl",
            *imports,
            "",
            f"model = {'cl.' if ours else ''}{kind.__name__}({', '.join(arguments)}).fit(X)",
            'cl.report.write(model, "report.html")',
        ]
    )


def code(value: Any, prefix: str = "cl.") -> str:
    """Python source of a setting: objects with the fields that differ from their defaults."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        room = _room(type(value)) if prefix else ""
        path = f"{prefix}{room}." if room else ""
        parts = [
            f"{field.name}={code(getattr(value, field.name), prefix)}"
            for field in dataclasses.fields(value)
            if field.init and not _same(getattr(value, field.name), _default(field))
        ]
        return f"{path}{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{code(key, prefix)}: {code(part, prefix)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        parts = [code(part, prefix) for part in value]
        comma = "," if isinstance(value, tuple) and len(parts) == 1 else ""
        ends = "()" if isinstance(value, tuple) else "[]"
        return f"{ends[0]}{', '.join(parts)}{comma}{ends[1]}"
    return repr(value)


def _room(kind: type) -> str:
    """Where users find a class: ``"families"``; empty for a class of their own."""
    house = importlib.import_module(HOUSE)
    return next((room for room in ROOMS if getattr(getattr(house, room), kind.__name__, None) is kind), "")


def _own_classes(value: Any) -> Iterator[type]:
    """Classes of the user's own in a setting, which a snippet must import."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _own_classes(part)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        if not _room(type(value)):
            yield type(value)
        for field in dataclasses.fields(value):
            yield from _own_classes(getattr(value, field.name))


def _default(field: Any) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else dataclasses.MISSING


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    try:
        return bool(np.all(a == b))
    except (TypeError, ValueError):
        return a is b


def seed_of(model: Any) -> int | None:
    """The seed of a fit; None where it was not fixed."""
    seed = getattr(model, "random_state", None)
    return int(seed) if isinstance(seed, (int, np.integer)) else None
