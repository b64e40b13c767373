"""A fitted model in one file: what it was fitted to, its settings, every draw, and what follows from the draws."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..chains.contract import Problem
from ..chains.draws import KINDS, Draws
from ..chains.fields import check_arrays, compact, field_of
from .description import Description
from .format import Unreadable, damaged, read_arrays, write_arrays
from .register import ESTIMATORS


class SavedModel(NamedTuple):
    """A fit and what came of it: its draws, and arrays of the estimator that are costly to compute again."""

    description: Description
    draws: Draws
    result: dict[str, NDArray[Any]]


def write_model(path: Path, model: SavedModel) -> None:
    """Write one file; OSError goes to the caller."""
    about = {"run": model.description.as_json(), **about_draws(model.draws)}
    arrays = {
        **_named("data", model.description.data.arrays()),
        **flat_draws(model.draws),
        **_named("result", model.result),
    }
    write_arrays(path, "model", about, arrays)


def read_model(path: Path) -> SavedModel:
    """Read what ``write_model`` wrote; ValueError, in one sentence, for anything else."""
    about, arrays = read_arrays(path, "model")
    try:
        description = Description.from_json(about["run"], part(arrays, "data"))
        problem = description.data.problem()
        draws = draws_from(part(arrays, "draws"), problem, about)
        return SavedModel(description, draws, checked_result(description, problem, part(arrays, "result")))
    except Unreadable:
        raise
    except Exception as error:
        raise damaged(path, error) from None


def _named(room: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {f"{room}/{name}": array for name, array in arrays.items()}


def part(arrays: Mapping[str, NDArray[Any]], room: str) -> dict[str, NDArray[Any]]:
    """Arrays called ``room/name``, by name."""
    start = f"{room}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def about_draws(draws: Draws) -> dict[str, Any]:
    """What is said about draws beside their arrays."""
    return {
        "kind": draws.kind.name,
        "interrupted": bool(draws.interrupted),
        "made": int(draws.made),
        "spent": draws.spent,
    }


def flat_draws(draws: Draws) -> dict[str, NDArray[Any]]:
    """Draws as arrays called ``draws/name``, labels in few bytes."""
    flat = {}
    for name, array in draws.arrays.items():
        field = field_of(draws.fields, name)
        flat[name] = compact(array) if field is not None and field.kind == "labels" else array
    return _named("draws", flat)


def draws_from(arrays: Mapping[str, NDArray[Any]], problem: Problem, about: Mapping[str, Any]) -> Draws:
    """Draws from named arrays, every type, shape and label checked."""
    shape = arrays["log_joint"].shape
    if len(shape) != 2 or 0 in shape:
        raise ValueError("it holds no draws")
    check_arrays(arrays, problem.fields, problem.axes, shape)
    made, spent = about.get("made", 0), about.get("spent", "")
    if type(made) is not int or made < 0 or spent not in ("", "time", "work"):
        raise ValueError("it does not say how many draws were made")
    kind, interrupted = KINDS[about["kind"]], bool(about["interrupted"])
    return Draws(dict(arrays), problem.fields, problem.axes, kind, interrupted, made, spent)


def checked_result(
    description: Description, problem: Problem, result: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """What an estimator saved besides its draws, checked against what it says that it saves."""
    check_arrays(result, ESTIMATORS[description.estimator].result_fields, problem.axes, ())
    return dict(result)
