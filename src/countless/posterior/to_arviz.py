"""Draws in the form that ArviZ takes: InferenceData for ArviZ 0.x, a DataTree for 1.x."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__

if TYPE_CHECKING:
    from .posterior import Posterior


def to_arviz(posterior: Posterior, labels: bool = False, attrs: Mapping[str, Any] | None = None) -> Any:
    """Hand the draws to ArviZ; ``Posterior.to_arviz`` is the way in."""
    extras = posterior.arviz_extras()
    groups, dims = _groups(posterior, labels, extras)
    coords = extras.get("coords", {})
    about = {**_about(posterior), **extras.get("attrs", {}), **(attrs or {})}
    library = _library()
    with warnings.catch_warnings():
        # ArviZ suspects transposed arrays where chains are more than draws.
        warnings.filterwarnings("ignore", message="More chains|Found chain dimension")
        # ArviZ 0.x takes groups by name, 1.x one dictionary of them.
        if "posterior" in inspect.signature(library.from_dict).parameters:
            tree = library.from_dict(**groups, coords=coords, dims=dims, save_warmup=False)
        else:
            tree = library.from_dict(groups, coords=coords, dims=dims)
    tree["posterior"].attrs.update(about)
    tree.attrs.update(about)
    return tree


def _library() -> Any:
    """ArviZ, or the part of ArviZ 1.x that holds its data, where only that is installed."""
    for name in ("arviz", "arviz_base"):
        try:
            with warnings.catch_warnings():
                # ArviZ 0.23 announces its successor at each import.
                warnings.simplefilter("ignore", FutureWarning)
                return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise ImportError("to_arviz: ArviZ is not installed; install it with: pip install arviz")


def _groups(
    posterior: Posterior, labels: bool, extras: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    """Groups of arrays, and the axes of those that have any."""
    shown: dict[str, Any] = dict(posterior.quantities())
    dims: dict[str, list[str]] = {}
    for name, array in posterior.draws.arrays.items():
        field = posterior.draws.field(name)
        if field is None or field.once or field.per is not None:
            continue
        if field.is_scalar and "/" not in name and not field.optional:
            shown[name] = np.ascontiguousarray(array)
        elif labels and field.axes:
            shown[name] = array
            dims[name] = list(field.axes)
    groups = {"posterior": shown, "sample_stats": {"lp": posterior.log_joint, **extras.get("sample_stats", {})}}
    observed = extras.get("observed_data", {})
    if observed:
        groups["observed_data"] = {name: array for name, (array, _) in observed.items()}
        dims |= {name: list(axes) for name, (_, axes) in observed.items()}
    return groups, dims


def _about(posterior: Posterior) -> dict[str, Any]:
    """Attributes that a netCDF file can hold: text and numbers."""
    return {
        "inference_library": "countless",
        "inference_library_version": __version__,
        "interrupted": int(posterior.interrupted),
    }
