"""A fitted model in one file: what it was fitted to, its settings, and every draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inference import Components, Draws, Problem, Truncation
from .description import Description
from .format import Unreadable, damaged, read_arrays, write_arrays

RECORDS: dict[str, Any] = {"components": Components, "truncation": Truncation}
DICTIONARIES = ("parameters", "log_factors")


@dataclass(frozen=True)
class SavedModel:
    """A fit and what came of it.

    Attributes
    ----------
    description : Description
    draws : Draws
    labels : array of int
        The clustering that predictions name clusters by.
    """

    description: Description
    draws: Draws
    labels: NDArray[np.int64]


def write_model(path: Path, model: SavedModel) -> None:
    """Write one file; OSError goes to the caller."""
    about = {"run": model.description.as_json(), "interrupted": bool(model.draws.interrupted)}
    arrays = {**model.description.arrays(), **flat_draws(model.draws), "result/labels": compact(model.labels)}
    write_arrays(path, "model", about, arrays)


def read_model(path: Path) -> SavedModel:
    """Read what ``write_model`` wrote; ValueError, in one sentence, for anything else."""
    about, arrays = read_arrays(path, "model")
    try:
        description = Description.from_json(about["run"], arrays)
        draws = draws_from(arrays, description, bool(about["interrupted"]))
        labels = arrays["result/labels"].astype(np.int64)
        check_labels(labels[None], np.array([labels.max() + 1]), len(description.data.rows))
        return SavedModel(description, draws, labels)
    except Unreadable:
        raise
    except Exception as error:
        raise damaged(path, error) from None


def compact(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels in the smallest type that holds them."""
    largest = int(labels.max(initial=0))
    return labels.astype(
        next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max)
    )


def flat_draws(draws: Draws) -> dict[str, NDArray[Any]]:
    """Draws as named arrays: records and dictionaries become ``name/part``."""
    flat: dict[str, NDArray[Any]] = {}
    for name, value in draws._asdict().items():
        if isinstance(value, Mapping):
            flat.update({f"draws/{name}/{key}": np.asarray(part) for key, part in value.items()})
        elif hasattr(value, "_asdict"):
            flat.update({f"draws/{name}/{key}": np.asarray(part) for key, part in value._asdict().items()})
        elif isinstance(value, np.ndarray):
            flat[f"draws/{name}"] = compact(value) if name in ("labels", "mode") else value
    return flat


def draws_from(arrays: Mapping[str, NDArray[Any]], description: Description, interrupted: bool) -> Draws:
    """Draws from named arrays, every shape and label checked."""
    parts: dict[str, Any] = {"interrupted": interrupted}
    for name, array in arrays.items():
        room, _, rest = name.partition("/")
        field, _, key = rest.partition("/")
        if room != "draws":
            continue
        if field not in Draws._fields or bool(key) != (field in RECORDS or field in DICTIONARIES):
            raise ValueError(f"{name!r} is no part of the draws")
        if key:
            parts.setdefault(field, {})[key] = array
        else:
            parts[field] = array
    for field, record in RECORDS.items():
        if field in parts:
            parts[field] = record(**parts[field])
    if "mode" in parts:
        parts["mode"] = parts["mode"].astype(np.int64)
    draws = Draws(**parts)
    _check_draws(draws, description)
    return draws


def _check_draws(draws: Draws, description: Description) -> None:
    n_rows = len(description.data.rows)
    shape = draws.n_clusters.shape
    if len(shape) != 2 or 0 in shape or draws.labels.shape != (*shape, n_rows):
        raise ValueError("its draws are not draws of its rows")
    check_labels(draws.labels.reshape(-1, n_rows), draws.n_clusters.reshape(-1), n_rows)
    by_draw = [draws.log_joint, draws.concentration, *(draws.log_factors or {}).values(), *(draws.truncation or ())]
    if any(array.shape != shape for array in by_draw):
        raise ValueError("its draws have different lengths")
    if draws.fills is not None:
        problem = Problem.of(description.data.rows, description.data.family, description.data.prior)
        if draws.fills.shape != (*shape, len(problem.missing[0])) or draws.fills.dtype != np.float32:
            raise ValueError("it has draws of other missing cells")
    by_cluster = [*(draws.parameters or {}).values(), *([] if draws.weights is None else [draws.weights])]
    if any(len(array) != int(draws.n_clusters.sum()) for array in by_cluster):
        raise ValueError("it has parameters of other clusters")
    if draws.mode is not None:
        check_labels(draws.mode[None], np.array([draws.mode.max() + 1]), n_rows)
    if draws.components is not None:
        statistics, log_weights = draws.components
        wanted = (len(log_weights) - 1, description.data.family.layout().statistics)
        if log_weights.ndim != 1 or statistics.shape != wanted or statistics.dtype != np.float64:
            raise ValueError("its components are not those of its family")


def check_labels(labels: NDArray[Any], n_clusters: NDArray[Any], n_rows: int) -> None:
    """Raise unless each draw (rows of ``labels``) is a partition into so many clusters, numbered 0, 1, 2, ..."""
    if labels.dtype.kind != "i" or n_clusters.dtype.kind != "i" or labels.shape != (len(n_clusters), n_rows):
        raise ValueError("its labels are not one whole number for each row")
    if len(labels) and (labels.min() < 0 or np.any(labels.max(axis=1) + 1 != n_clusters)):
        raise ValueError("its labels do not go with its numbers of clusters")
    for drawn, count in zip(labels, n_clusters, strict=True):
        if np.count_nonzero(np.bincount(drawn, minlength=int(count))) != count:
            raise ValueError("a cluster of its draws has no rows")
