"""Draws: what an engine hands back, as named arrays with their declarations, and of which kind they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fields import Field, field_of


@dataclass(frozen=True)
class Kind:
    """What draws are, and so what they can answer.

    Attributes
    ----------
    name : str
    has_chains : bool
        Whether they come from chains that can be compared with each other.
    has_probabilities : bool
        Whether shares of the draws are posterior probabilities.
    unable : str
        What is said where there are no chains to compare.
    """

    name: str
    has_chains: bool
    has_probabilities: bool
    unable: str = ""


SAMPLED = Kind("sampled", has_chains=True, has_probabilities=True)
OPTIMUM = Kind("optimum", False, False, "A single optimum: there are no chains to compare.")
APPROXIMATION = Kind(
    "approximation", False, False, "An approximation: its draws are independent, there are no chains to compare."
)
KINDS = {kind.name: kind for kind in (SAMPLED, OPTIMUM, APPROXIMATION)}


@dataclass(frozen=True)
class Draws:
    """Named arrays of draws; ``draws["labels"]`` and ``draws.labels`` are the same.

    Attributes
    ----------
    arrays : dict of arrays
        (chain, draw, axes...); ragged fields list the entries of all draws one after the other.
    fields : tuple of Field
        What they are.
    axes : dict
        Lengths of the axes of the problem, such as ``{"row": 150}``.
    kind : Kind
    interrupted : bool
        Whether the engine was stopped before it was done.
    """

    arrays: Mapping[str, NDArray[Any]]
    fields: tuple[Field, ...]
    axes: Mapping[str, int]
    kind: Kind = SAMPLED
    interrupted: bool = False

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def __getattr__(self, name: str) -> NDArray[Any]:
        try:
            return self.__dict__["arrays"][name]
        except KeyError:
            raise AttributeError(f"these draws have no field {name!r}") from None

    def field(self, name: str) -> Field | None:
        """The declaration of a field; None where there is none."""
        return field_of(self.fields, name)

    def group(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Arrays called ``prefix/name``, by name."""
        start = f"{prefix}/"
        return {name.removeprefix(start): array for name, array in self.arrays.items() if name.startswith(start)}

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of chains and of draws of each."""
        n_chains, n_draws = self["log_joint"].shape
        return n_chains, n_draws

    def replaced(self, interrupted: bool | None = None, **arrays: NDArray[Any]) -> Draws:
        """The same with some arrays exchanged or added."""
        stopped = self.interrupted if interrupted is None else interrupted
        return replace(self, arrays={**self.arrays, **arrays}, interrupted=stopped)

    def with_group(self, prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Draws:
        """The same with arrays ``prefix/name``."""
        return replace(self, arrays={**self.arrays, **{f"{prefix}/{name}": part for name, part in arrays.items()}})

    def best(self, name: str) -> NDArray[Any]:
        """One field of the draw with the largest ``log_joint``."""
        chain, draw = np.unravel_index(int(np.argmax(self["log_joint"])), self.shape)
        return self[name][chain, draw]


def flat(draws: Draws, name: str) -> NDArray[Any]:
    """A field over all chains: (draw, axes...)."""
    array = draws[name]
    return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
