"""Settings as JSON and back: numbers, text, arrays, and small immutable objects by their registered names.

A name in a file chooses among the classes that are registered, and nothing else: no module is imported for it, and
constructors check their arguments as they do for users.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .. import priors
from ..chains.engine import ENGINES
from ..chains.moves import MOVES
from ..core.errors import NotRegistered
from ..core.random import as_generator, generator_from, generator_state
from ..core.register import Register
from ..families import FAMILIES, Family
from ..families.columns import Column
from ..families.table import Block, Table
from ..priors.names import PRIORS
from ..transitions import TRANSITIONS
from ..tuning import TUNINGS

REGISTERS: list[Register[Any]] = [FAMILIES, PRIORS, TRANSITIONS, ENGINES, TUNINGS, MOVES]
TAG = "is"
ARRAY_TYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|u1", "<u2", "<u4", "<u8", "|b1")
DEEPEST = 50


def register_settings(register: Register[Any]) -> None:
    """Let objects of a further register be settings: a model class calls this for what only it has."""
    if not any(known is register for known in REGISTERS):
        REGISTERS.append(register)


def _laws() -> dict[str, type]:
    """Laws that priors are made of."""
    things = {name: getattr(priors, name) for name in priors.__all__}
    known = set(PRIORS.values())
    return {
        name: thing
        for name, thing in things.items()
        if isinstance(thing, type) and is_dataclass(thing) and thing not in known
    }


def _find(tag: str) -> Any:
    """The class that a tag in a file names; None where there is none."""
    kind, _, name = tag.partition(":")
    if tag == "column":
        return Column
    if tag == "family:table":
        return Table
    if kind == "law":
        return _laws().get(name)
    register = next((register for register in REGISTERS if register.kind == kind), None)
    return None if register is None else register.get(name)


def _tag(cls: type) -> str | None:
    """The tag under which a class is written down; None where it has none."""
    if cls is Column:
        return "column"
    if cls is Table:
        return "family:table"
    for register in REGISTERS:
        for name, known in register.items():
            if known is cls:
                return f"{register.kind}:{name}"
    return next((f"law:{name}" for name, known in _laws().items() if known is cls), None)


def to_json(value: Any, what: str = "setting") -> Any:
    """A value as JSON can hold it; ValueError where it cannot be saved."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _float_to_json(float(value))
    if isinstance(value, list):
        return [to_json(part, what) for part in value]
    if type(value) is Block:
        return {TAG: "block", "items": [to_json(part, what) for part in value]}
    if isinstance(value, tuple):
        return {TAG: "tuple", "items": [to_json(part, what) for part in value]}
    if isinstance(value, Mapping):
        return {TAG: "dict", "items": [[to_json(key, what), to_json(part, what)] for key, part in value.items()]}
    if isinstance(value, np.ndarray):
        return _array_to_json(value, what)
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return {TAG: "generator", "state": generator_state(as_generator(value))}
    tag = _tag(type(value))
    if tag is not None and is_dataclass(value):
        parts = {field.name: to_json(getattr(value, field.name), what) for field in fields(value)}
        return {TAG: tag, "module": type(value).__module__, "fields": parts}
    raise ValueError(
        f"{what}: {value!r} cannot be saved; a run can be saved where its parts are numbers, text, arrays and "
        "registered families, priors, engines, tunings and moves"
    )


def dict_to_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a dictionary of settings, each of which is named where it cannot be saved."""
    return {TAG: "dict", "items": [[name, to_json(value, name)] for name, value in values.items()]}


def from_json(value: Any, depth: int = 0) -> Any:
    """What ``to_json`` wrote; ValueError where it is something else."""
    if depth > DEEPEST:
        raise ValueError("settings are nested too deeply")
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    if isinstance(value, list):
        return [from_json(part, depth + 1) for part in value]
    tag = value.get(TAG) if isinstance(value, dict) else None
    if not isinstance(tag, str):
        raise ValueError("a setting has no type")
    if tag == "float":
        return _float_from_json(value["value"])
    if tag == "tuple":
        return tuple(from_json(part, depth + 1) for part in value["items"])
    if tag == "block":
        return _block_from_json(*(from_json(part, depth + 1) for part in value["items"]))
    if tag == "dict":
        return {from_json(key, depth + 1): from_json(part, depth + 1) for key, part in value["items"]}
    if tag == "array":
        return _array_from_json(value)
    if tag == "texts":
        return np.array([_text(part) for part in value["values"]], dtype=object)
    if tag == "generator":
        return generator_from(value["state"])
    return _object_from_json(tag, value, depth)


def _object_from_json(tag: str, value: Mapping[str, Any], depth: int) -> Any:
    cls, parts = _find(tag), value["fields"]
    if cls is None:
        kind, _, name = tag.partition(":")
        raise NotRegistered(kind, name, str(value.get("module", "")))
    known = {field.name for field in fields(cls) if field.init}
    if not set(parts) <= known:
        raise ValueError(f"{tag} has no setting {sorted(set(parts) - known)[0]!r}")
    return cls(**{name: from_json(part, depth + 1) for name, part in parts.items()})


def _block_from_json(name: Any, columns: Any, family: Any) -> Block:
    whole = isinstance(columns, tuple) and all(type(column) is int and column >= 0 for column in columns)
    if not isinstance(name, str) or not whole or not isinstance(family, Family):
        raise ValueError("a block of columns is damaged")
    return Block(name, columns, family)


def _float_to_json(value: float) -> Any:
    return value if math.isfinite(value) else {TAG: "float", "value": str(value)}


def _float_from_json(text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def _array_to_json(array: Any, what: str) -> dict[str, Any]:
    if array.dtype.kind in "OU" and array.ndim == 1 and all(isinstance(part, str) for part in array):
        return {TAG: "texts", "values": [str(part) for part in array]}
    kind = array.dtype.newbyteorder("<").str
    if kind not in ARRAY_TYPES:
        raise ValueError(f"{what}: an array of {array.dtype} cannot be saved; use numbers")
    values = array.ravel().tolist()
    if array.dtype.kind == "f":
        values = [_float_to_json(number) for number in values]
    return {TAG: "array", "type": kind, "shape": list(array.shape), "values": values}


def _array_from_json(value: dict[str, Any]) -> Any:
    if value["type"] not in ARRAY_TYPES:
        raise ValueError(f"arrays of {value['type']!r} are not read")
    dtype = np.dtype(value["type"])
    allowed = {"f": (float, int, dict), "b": (bool,)}.get(dtype.kind, (int,))
    numbers = value["values"]
    if not all(type(number) in allowed for number in numbers):
        raise ValueError("an array holds something other than numbers")
    numbers = [_float_from_json(part["value"]) if isinstance(part, dict) else part for part in numbers]
    return (
        np.array(numbers, dtype=dtype)
        .reshape([int(length) for length in value["shape"]])
        .astype(dtype.newbyteorder("="))
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    return value
