"""What a run is about, written down before it begins: data, model, engine, seeds, settings.

From a description the fit can be made again from its first random number, without the user's table.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib import metadata
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..chains.contract import Problem
from ..chains.engine import Inference
from ..core.errors import NotRegistered
from .format import array_digest
from .register import ESTIMATORS
from .settings import dict_to_json, from_json, to_json

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")


class Data(Protocol):
    """What was fitted, as the estimator holds it: arrays, and settings that say what they mean."""

    # What people call it.
    noun: ClassVar[str]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by name."""

    def settings(self) -> dict[str, Any]:
        """Everything else by name, as far as it has a say in the draws."""

    @classmethod
    def revived(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
        """The same from what both returned; any error means that it is something else."""

    def problem(self) -> Problem:
        """The problem that engines solve."""


@dataclass(frozen=True, eq=False)
class ArrayData:
    """Data that are nothing but arrays of numbers, one for each field of a subclass, and are their own problem."""

    noun: ClassVar[str] = "data"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by name, as 64-bit floats."""
        return {field.name: np.asarray(getattr(self, field.name), dtype=np.float64) for field in fields(self)}

    def settings(self) -> dict[str, Any]:
        """There are none."""
        return {}

    @classmethod
    def revived(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The same from a file."""
        if any(array.dtype != np.float64 or not np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("its data are not finite numbers")
        return cls(**arrays)

    def problem(self) -> Any:
        """The problem that engines solve."""
        return self


@dataclass(frozen=True)
class Description:
    """A fit before its first step.

    Attributes
    ----------
    estimator : str
        Its name in the register of estimators.
    params : dict
        Settings of the estimator as the user gave them.
    fitted : dict
        Attributes of the estimator that are set before the run.
    data : Data
    engine : Inference
    further : dict
        Other objects that have a say in the draws, such as how hyperparameters are learned.
    n_draws : int
        Draws that each chain is to have: those of the engine, or more. 0 for engines without chains, and where chains
        decide when they are done; otherwise such chains have at least so many.
    random : dict
        State of the random stream that everything is drawn from.
    seeded : bool
        Whether the user asked for this stream; if not, any will do.
    """

    estimator: str
    params: Mapping[str, Any]
    fitted: Mapping[str, Any]
    data: Any
    engine: Inference
    further: Mapping[str, Any]
    n_draws: int
    random: Mapping[str, Any]
    seeded: bool

    def longer(self, n_draws: int) -> Description:
        """The same with more draws in each chain.

        The engine stays: what is learned before the chains begin may depend on its draws.
        """
        whole: Any = self.engine
        if not whole.n_draws:
            return replace(self, n_draws=n_draws)
        return replace(self, n_draws=n_draws, fitted={**self.fitted, "inference_": whole._with(draws=n_draws)})

    def as_json(self) -> dict[str, Any]:
        """Everything but the arrays."""
        return {
            "estimator": self.estimator,
            "module": ESTIMATORS[self.estimator].__module__,
            "params": dict_to_json(self.params),
            "fitted": dict_to_json(self.fitted),
            "data": dict_to_json(self.data.settings()),
            "digest": array_digest(self.data.arrays()),
            "inference": to_json(self.engine, "inference"),
            "further": dict_to_json(self.further),
            "n_draws": self.n_draws,
            "random": dict(self.random),
            "seeded": self.seeded,
            "versions": versions(),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Description:
        """What ``as_json`` and the arrays were; any error means that it is something else."""
        name = saved["estimator"]
        if not isinstance(name, str):
            raise ValueError("it does not name its estimator")
        if name not in ESTIMATORS:
            raise NotRegistered("estimator", name, str(saved.get("module", "")))
        if saved["digest"] != array_digest(arrays):
            raise ValueError("its data are not the data that it describes")
        engine = from_json(saved["inference"])
        if not isinstance(engine, Inference) or type(saved["n_draws"]) is not int:
            raise ValueError("its engine is damaged")
        return cls(
            name,
            from_json(saved["params"]),
            from_json(saved["fitted"]),
            ESTIMATORS[name].data_class.revived(from_json(saved["data"]), arrays),
            engine,
            from_json(saved["further"]),
            saved["n_draws"],
            saved["random"],
            bool(saved["seeded"]),
        )

    def same_as(self, other: Description, streams: bool = True) -> str | None:
        """None where two descriptions lead to the same draws, as far as both go; else what differs, in a word.

        Without ``streams`` random numbers are left aside.
        """
        mine, theirs = self.as_json(), other.as_json()
        if mine["estimator"] != theirs["estimator"]:
            return "estimator"
        if mine["digest"] != theirs["digest"]:
            return str(self.data.noun)
        for key in ("data", "further"):
            ours, others = (dict(each[key]["items"]) for each in (mine, theirs))
            for name in dict.fromkeys([*ours, *others]):
                if ours.get(name) != others.get(name):
                    return str(name)
        if _without(mine["inference"]) != _without(theirs["inference"]):
            return "inference"
        if streams and self.seeded and mine["random"] != theirs["random"]:
            return "random_state"
        return None


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
    parts = {
        name: value for name, value in engine["fields"].items() if name not in ("n_threads", "max_seconds", "draws")
    }
    draws = engine["fields"].get("draws")
    if "chains" in engine["fields"] and type(draws) is int:
        draws = None
    return {**engine, "fields": {**parts, "draws": draws}}
