"""Draws in the form that ArviZ takes: InferenceData for ArviZ 0.x, a DataTree for 1.x."""

from __future__ import annotations

import importlib
import inspect
import json
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from .quantities import label_free

if TYPE_CHECKING:
    from .posterior import Posterior


def to_arviz(posterior: Posterior, labels: bool = False, attrs: Mapping[str, Any] | None = None) -> Any:
    """Hand the draws to ArviZ; ``Posterior.to_arviz`` is the way in."""
    groups = _groups(posterior, labels)
    coords = {} if posterior.data is None else {"column": posterior.data.names}
    dims = {"labels": ["row"], "rows": ["row", "column"]}
    about = {**_about(posterior), **(attrs or {})}
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


def _groups(posterior: Posterior, labels: bool) -> dict[str, dict[str, Any]]:
    shape = posterior.n_clusters.shape
    quantities: dict[str, Any] = label_free(posterior)
    quantities["n_clusters"] = posterior.n_clusters
    quantities["concentration"] = np.broadcast_to(posterior.concentration, shape).copy()
    if labels:
        quantities["labels"] = posterior.labels
    stats: dict[str, Any] = {"lp": posterior.log_joint}
    if posterior.truncation is not None:
        stats |= {"n_sticks": posterior.truncation.n_sticks, "truncation_bound": posterior.truncation.bound}
    groups = {"posterior": quantities, "sample_stats": stats}
    if posterior.data is not None:
        groups["observed_data"] = {"rows": posterior.data.rows}
    return groups


def _about(posterior: Posterior) -> dict[str, Any]:
    """Attributes that a netCDF file can hold: text and numbers."""
    about: dict[str, Any] = {
        "inference_library": "countless",
        "inference_library_version": __version__,
        "interrupted": int(posterior.interrupted),
    }
    if posterior.data is not None:
        levels = {each.name: list(each.levels) for each in posterior.data.columns if each.levels is not None}
        about |= {
            "family": type(posterior.data.family).__name__,
            "prior": type(posterior.data.prior).__name__,
            "columns": json.dumps({each.name: each.family for each in posterior.data.columns}),
            "levels": json.dumps(levels),
        }
    return about
