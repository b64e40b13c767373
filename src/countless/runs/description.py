"""What a run is about, as it is written down before it begins: rows, columns, model, engine, seeds, settings.

From a description the fit can be made again from its first random number, without the user's table.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..families import Family
from ..families.columns import Column
from ..inference import Inference
from ..posterior.data import Data
from ..priors import Prior
from ..tuning import Tuning
from .format import array_digest
from .objects import plain, plain_dict, revive

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")


@dataclass(frozen=True)
class Description:
    """A fit before its first step.

    Attributes
    ----------
    estimator : str
        Name of its class.
    params : dict
        Settings of the estimator as the user gave them.
    fitted : dict
        Attributes of the estimator that are set before the run.
    data : Data
        Rows, columns, resolved family and prior.
    engine : Inference
    tuning : Tuning or None
    n_draws : int
        Draws that each chain is to have: those of the engine, or more; 0 for engines without chains.
    random : dict
        State of the random stream that everything is drawn from.
    seeded : bool
        Whether the user asked for this stream; if not, any will do.
    sample_weight : array or None
    """

    estimator: str
    params: Mapping[str, Any]
    fitted: Mapping[str, Any]
    data: Data
    engine: Inference
    tuning: Tuning | None
    n_draws: int
    random: Mapping[str, Any]
    seeded: bool
    sample_weight: NDArray[np.float64] | None = None

    def longer(self, n_draws: int) -> Description:
        """The same with more draws in each chain.

        The engine stays: what is learned before the chains begin may depend on its draws.
        """
        whole: Any = self.engine
        return replace(self, n_draws=n_draws, fitted={**self.fitted, "inference_": whole._with(draws=n_draws)})

    def as_json(self) -> dict[str, Any]:
        """Everything but the rows and their weights."""
        return {
            "estimator": self.estimator,
            "params": plain_dict(self.params),
            "fitted": plain_dict(self.fitted),
            "columns": plain(list(self.data.columns)),
            "family": plain(self.data.family, "family"),
            "prior": plain(self.data.prior, "prior"),
            "inference": plain(self.engine, "inference"),
            "tuning": plain(self.tuning, "tune"),
            "n_draws": self.n_draws,
            "random": dict(self.random),
            "seeded": self.seeded,
            "data": array_digest(self.data.rows, self.sample_weight),
            "versions": versions(),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rows and their weights."""
        weights = {} if self.sample_weight is None else {"sample_weight": self.sample_weight}
        return {"rows": self.data.rows, **weights}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Description:
        """What ``as_json`` and ``arrays`` wrote; any error means that it is something else."""
        rows, weights = arrays["rows"], arrays.get("sample_weight")
        if saved["data"] != array_digest(rows, weights):
            raise ValueError("its table is another one")
        if weights is not None and (weights.shape != rows.shape[:1] or weights.dtype != np.float64):
            raise ValueError("it has weights of other rows")
        params, fitted = revive(saved["params"]), revive(saved["fitted"])
        data = revive_data(saved, rows)
        return cls(
            _text(saved["estimator"]),
            params,
            fitted,
            data,
            of_type(revive(saved["inference"]), Inference),
            of_type(revive(saved["tuning"]), Tuning, None),
            of_type(saved["n_draws"], int),
            saved["random"],
            bool(saved["seeded"]),
            weights,
        )

    def same_as(self, other: Description, streams: bool = True) -> str | None:
        """None where two descriptions lead to the same draws, as far as both go; else what differs, in a word.

        Without ``streams`` random numbers are left aside.
        """
        mine, theirs = self.as_json(), other.as_json()
        words = {
            "data": "table",
            "family": "family",
            "columns": "choice of columns",
            "prior": "prior",
            "tuning": "tune",
        }
        for key, word in words.items():
            if mine[key] != theirs[key]:
                return word
        if _without(mine["inference"]) != _without(theirs["inference"]):
            return "inference"
        if streams and self.seeded and mine["random"] != theirs["random"]:
            return "random_state"
        return None


def revive_data(saved: Mapping[str, Any], rows: NDArray[Any]) -> Data:
    """Rows with their columns and model; the family must be one of these rows, and need nothing more from them."""
    if rows.ndim != 2 or rows.dtype != np.float64 or 0 in rows.shape or np.isinf(rows).any():
        raise ValueError("its rows are no table")
    columns = tuple(of_type(column, Column) for column in revive(saved["columns"]))
    if len(columns) != rows.shape[1]:
        raise ValueError(f"it has {len(columns)} names for {rows.shape[1]} columns")
    family: Any = of_type(revive(saved["family"]), Family)
    prior: Any = of_type(revive(saved["prior"]), Prior)
    family.check(rows)
    if plain(family.resolve(rows)) != saved["family"]:
        raise ValueError("its family does not fit its rows")
    if plain(prior.resolve(len(rows))) != saved["prior"]:
        raise ValueError("its prior does not fit its rows")
    return Data(rows, columns, family, prior)


def of_type(value: Any, *kinds: type | None) -> Any:
    """The value, if it is of one of these types."""
    if not any(value is None if kind is None else isinstance(value, kind) for kind in kinds):
        raise ValueError(f"{value!r} is not what belongs there")
    return value


def versions() -> dict[str, str]:
    """Versions of everything that has a say in the draws."""
    from .. import __version__

    return {
        "countless": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in LIBRARIES},
    }


def _without(engine: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an engine less those that do not change the draws that it has in common with another."""
    parts = {name: value for name, value in engine["fields"].items() if name not in ("n_threads", "draws")}
    draws = None if "chains" in engine["fields"] else engine["fields"].get("draws")
    return {**engine, "fields": {**parts, "draws": draws}}


def _text(value: Any) -> str:
    return str(of_type(value, str))
