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
from ..core.random import as_generator, generator_from, generator_state
from ..families import FAMILIES, Family
from ..families.columns import Column
from ..families.table.table import Block, Table
from ..inference import ENGINES
from ..models.mixture.moves.hyperparameters import HyperparameterUpdate
from ..priors.names import PRIORS
from ..tuning import TUNINGS

TAG = "is"
ARRAY_TYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|u1", "<u2", "<u4", "<u8", "|b1")
DEEPEST = 50


def classes() -> dict[str, Any]:
    """The classes that a file may name."""
    known: dict[str, Any] = {"column": Column, "family:table": Table, "move:hyperparameters": HyperparameterUpdate}
    registers: dict[str, Mapping[str, type]] = {
        "family": {**FAMILIES, Table.short_name(): Table},
        "prior": PRIORS,
        "inference": ENGINES,
        "tuning": TUNINGS,
    }
    for kind, register in registers.items():
        known.update({f"{kind}:{name}": cls for name, cls in register.items()})
    for name in priors.__all__:  # laws that priors are made of
        thing = getattr(priors, name)
        if isinstance(thing, type) and is_dataclass(thing) and thing not in known.values():
            known[f"law:{name}"] = thing
    return known


def plain(value: Any, what: str = "setting") -> Any:
    """A value as JSON can hold it; ValueError where it cannot be written down."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _plain_float(float(value))
    if isinstance(value, list):
        return [plain(part, what) for part in value]
    if type(value) is Block:
        return {TAG: "block", "items": [plain(part, what) for part in value]}
    if isinstance(value, tuple):
        return {TAG: "tuple", "items": [plain(part, what) for part in value]}
    if isinstance(value, Mapping):
        return {TAG: "dict", "items": [[plain(key, what), plain(part, what)] for key, part in value.items()]}
    if isinstance(value, np.ndarray):
        return _plain_array(value, what)
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return {TAG: "generator", "state": generator_state(as_generator(value))}
    for name, cls in classes().items():
        if type(value) is cls:
            parts = {field.name: plain(getattr(value, field.name), what) for field in fields(cls)}
            return {TAG: name, "fields": parts}
    raise ValueError(
        f"{what}: {value!r} cannot be written down; a run can be saved where its parts are numbers, text, arrays and "
        "registered families, priors, engines and tunings"
    )


def plain_dict(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a dictionary of settings, each of which is named where it cannot be written down."""
    return {TAG: "dict", "items": [[name, plain(value, name)] for name, value in values.items()]}


def revive(value: Any, depth: int = 0) -> Any:
    """What ``plain`` wrote down; ValueError where it is something else."""
    if depth > DEEPEST:
        raise ValueError("settings are nested too deeply")
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    if isinstance(value, list):
        return [revive(part, depth + 1) for part in value]
    tag = value.get(TAG) if isinstance(value, dict) else None
    if not isinstance(tag, str):
        raise ValueError("a setting has no type")
    if tag == "float":
        return _revived_float(value["value"])
    if tag == "tuple":
        return tuple(revive(part, depth + 1) for part in value["items"])
    if tag == "block":
        return _revived_block(*(revive(part, depth + 1) for part in value["items"]))
    if tag == "dict":
        return {revive(key, depth + 1): revive(part, depth + 1) for key, part in value["items"]}
    if tag == "array":
        return _revived_array(value)
    if tag == "texts":
        return np.array([_text(part) for part in value["values"]], dtype=object)
    if tag == "generator":
        return generator_from(value["state"])
    return _revived_object(tag, value["fields"], depth)


def _revived_object(tag: str, parts: dict[str, Any], depth: int) -> Any:
    cls = classes().get(tag)
    if cls is None:
        kind, _, name = tag.partition(":")
        raise ValueError(f"{name!r} is no {kind} that is known here; import the module that registers it first")
    known = {field.name for field in fields(cls) if field.init}
    if not set(parts) <= known:
        raise ValueError(f"{tag} has no setting {sorted(set(parts) - known)[0]!r}")
    return cls(**{name: revive(part, depth + 1) for name, part in parts.items()})


def _revived_block(name: Any, columns: Any, family: Any) -> Block:
    whole = isinstance(columns, tuple) and all(type(column) is int and column >= 0 for column in columns)
    if not isinstance(name, str) or not whole or not isinstance(family, Family):
        raise ValueError("a block of columns is no such thing")
    return Block(name, columns, family)


def _plain_float(value: float) -> Any:
    return value if math.isfinite(value) else {TAG: "float", "value": str(value)}


def _revived_float(text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise ValueError(f"{text!r} is no number")
    return float(text)


def _plain_array(array: Any, what: str) -> dict[str, Any]:
    if array.dtype.kind in "OU" and array.ndim == 1 and all(isinstance(part, str) for part in array):
        return {TAG: "texts", "values": [str(part) for part in array]}
    kind = array.dtype.newbyteorder("<").str
    if kind not in ARRAY_TYPES:
        raise ValueError(f"{what}: an array of {array.dtype} cannot be written down; use numbers")
    values = array.ravel().tolist()
    if array.dtype.kind == "f":
        values = [_plain_float(number) for number in values]
    return {TAG: "array", "type": kind, "shape": list(array.shape), "values": values}


def _revived_array(value: dict[str, Any]) -> Any:
    if value["type"] not in ARRAY_TYPES:
        raise ValueError(f"arrays of {value['type']!r} are not read")
    dtype = np.dtype(value["type"])
    allowed = {"f": (float, int, dict), "b": (bool,)}.get(dtype.kind, (int,))
    numbers = value["values"]
    if not all(type(number) in allowed for number in numbers):
        raise ValueError("an array holds something else than numbers")
    numbers = [_revived_float(part["value"]) if isinstance(part, dict) else part for part in numbers]
    return (
        np.array(numbers, dtype=dtype)
        .reshape([int(length) for length in value["shape"]])
        .astype(dtype.newbyteorder("="))
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value
