"""What a model class says to the general rooms: its problem, its state, its moves.

Everything that is drawn lives in the state; everything that stays fixed, and is shared by the chains, in the problem.
Chains, checkpoints, files, diagnostics and reports work on these protocols alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .fields import Field


class Frozen(NamedTuple):
    """A state at rest.

    ``numbers`` is what JSON can hold, ``arrays`` the rest. Together they are all that the rest of a chain depends on.
    """

    numbers: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class State(Protocol):
    """Everything that a chain draws, with what is derived from it kept current."""

    def log_joint(self) -> float:
        """Log density of the data and of everything that is drawn, in the user's units."""

    def draw(self) -> dict[str, Any]:
        """One complete draw in the user's units: a value for each field of the problem that the chain has."""

    def freeze(self) -> Frozen:
        """The state as it is, copied; ``problem.thaw`` makes the same state of it."""

    def rebuild(self) -> Any:
        """Recompute what is derived, free of what small updates have left behind."""

    def status(self) -> str:
        """A few words for the progress line."""


class Problem(Protocol):
    """Data and model, immutable and shared by all chains."""

    @property
    def axes(self) -> Mapping[str, int]:
        """Names and lengths of the axes of a draw, such as ``{"row": 150}``."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """What a draw consists of; one of the fields is ``log_joint``."""

    def start(self, kind: Any, number: int, rng: np.random.Generator) -> State:
        """Where chain ``number`` begins; ``kind`` is the engine's setting ``start``."""

    def thaw(self, frozen: Frozen) -> State:
        """The state that was frozen. It may come from a file that somebody changed: ValueError where it is not one."""


class Move(Protocol):
    """One way to change a state in place that leaves the posterior as it is.

    ``adapt(state)``, where a move has it, is called in the warm-up only. A move that remembers anything from step to
    step has ``snapshot() -> dict`` of what JSON can hold, and ``restore(dict)``: without them a chain that was stopped
    would continue differently.
    """

    name: str

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Change the state in place."""
