"""The settings that reproduce a fit: a snippet of Python, a command line, how each column was read, versions."""

from __future__ import annotations

import dataclasses
import platform
import shlex
from collections import Counter
from typing import Any

import numpy as np

from .. import __version__
from .rows import digits, plain

ROOMS = ("families", "priors", "inference", "tuning")
MOST_READ = 200
MOST_LISTED = 12


def settings(model: Any, command: str | None) -> dict[str, Any]:
    """Everything of the last section of the page."""
    columns = columns_of(model)
    return {
        "python": python_code(model),
        "shell": command or shell_command(model),
        "seeded": _seed(model) is not None,
        "columns": [_shortened(column) for column in columns[:MOST_READ]],
        "nColumns": len(columns),
        "choices": _choices(model),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Versions of what the draws depend on."""
    import numba
    import scipy
    import sklearn

    libraries = {module.__name__: str(module.__version__) for module in (np, scipy, numba, sklearn)}
    return {"countless": __version__, "python": platform.python_version(), **libraries}


def _shortened(column: dict[str, Any]) -> dict[str, Any]:
    """Of many levels, the first: a page has no room for more."""
    levels = column["levels"]
    return {**column, "levels": levels and levels[:MOST_LISTED], "nLevels": levels and len(levels)}


def columns_of(model: Any) -> list[dict[str, Any]]:
    """How each column was read and why, those that were left out too, in the order of the table."""
    data = model.posterior_.data
    schema = getattr(model.family_, "schema", None) or data.columns
    place = {column.name: j for j, column in enumerate(data.columns)}
    return [_read(column, data.rows[:, place[column.name]] if column.name in place else None) for column in schema]


def _read(column: Any, cells: Any) -> dict[str, Any]:
    known = np.empty(0) if cells is None else cells[~np.isnan(cells)]
    levels = None if column.levels is None else [str(level) for level in column.levels]
    low, high = plain(np.array([known.min(), known.max()]), digits(known)) if len(known) else (None, None)
    return {
        "name": column.name,
        "family": column.family,
        "missing": None if cells is None else len(cells) - len(known),
        "note": column.note,
        "levels": levels,
        "low": low,
        "high": high,
    }


def _choices(model: Any) -> list[list[str]]:
    """The three choices as they were in use, every setting filled in."""
    named = {"family": model.family_, "prior": model.prior_, "inference": model.inference_}
    listed = [[name, _described(value)] for name, value in named.items()]
    kinds = Counter(column.family for column in model.posterior_.data.columns)
    if len(kinds) > 1:
        listed[0][1] = f"{type(model.family_).__name__}: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items())
    listed.append(
        [
            "concentration",
            f"{model.concentration_:.4g} (posterior mean)"
            if model.posterior_.is_sampled
            else f"{model.concentration_:.4g}",
        ]
    )
    return listed


def _described(value: Any) -> str:
    """Name of an object and its settings that are short enough to be read."""
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
    """Floats with as many digits as people read."""
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.4g}")
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return [_rounded(part) for part in value]
    return value


def python_code(model: Any) -> str:
    """A snippet that fits the same model to a table ``X``."""
    defaults = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    given.pop("progress", None)
    arguments = [f"{name}={code(value)}" for name, value in given.items() if not _same(value, defaults.get(name))]
    return "\n".join(
        [
            "import countless as cl",
            "",
            f"model = cl.{type(model).__name__}({', '.join(arguments)}).fit(X)",
            'cl.report.write(model, "report.html")',
        ]
    )


def code(value: Any, prefix: str = "cl.") -> str:
    """Python source of a setting: objects with the fields that differ from their defaults."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        room = next((part for part in type(value).__module__.split(".") if part in ROOMS), "")
        path = f"{prefix}{room}." if prefix and room else ""
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


def _seed(model: Any) -> int | None:
    seed = model.random_state
    return int(seed) if isinstance(seed, (int, np.integer)) else None


def shell_command(model: Any) -> str | None:
    """The command line of the same fit; None where a setting cannot be said there."""
    words = ["countless", "fit", "TABLE.csv"]
    for name in ("family", "prior", "inference", "tune"):
        value = getattr(model, name, None)
        if value is None:
            continue
        if not isinstance(value, str):
            return None
        words += [f"--{name}", value]
    seed = _seed(model)
    return shlex.join(words if seed is None else [*words, "--seed", str(seed)])
