"""What a chain needs to continue as if it had never stopped: a snapshot, and a recorder that keeps snapshots.

Recorders live in the rooms above; a chain knows only the protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.random import generator_from, generator_state
from .contract import Frozen, Problem, State
from .schedule import Schedule
from .trace import Segment, Trace


class Snapshot(NamedTuple):
    """One chain between two sweeps.

    Attributes
    ----------
    numbers : dict
        What JSON can hold: the sweep, the random stream, numbers of the state, what moves remember.
    arrays : dict of arrays
        Those of the state.
    """

    numbers: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Recorder(Protocol):
    """Keeps snapshots and draws of chains; chains call it from their threads, each with its own number."""

    # Seconds between two snapshots of a chain; there is always one at its end.
    interval: float

    def load(self, number: int) -> tuple[Snapshot, list[Segment]] | None:
        """The last snapshot of a chain and all draws up to it; None where the chain is to begin."""

    def save(self, number: int, snapshot: Snapshot, trace: Trace) -> None:
        """Keep the snapshot and the draws that are new in the trace."""


class MemoryRecorder:
    """Keeps the ends of chains, so that they can continue in the same process."""

    interval = float("inf")

    def __init__(self) -> None:
        self._chains: dict[int, tuple[Snapshot, list[Segment], int]] = {}

    def load(self, number: int) -> tuple[Snapshot, list[Segment]] | None:
        """Where the chain ended, with its draws."""
        found = self._chains.get(number)
        return None if found is None else (found[0], list(found[1]))

    def save(self, number: int, snapshot: Snapshot, trace: Trace) -> None:
        """Keep the snapshot and the new draws."""
        _, segments, n_draws = self._chains.get(number, (None, [], 0))
        new = trace.since(n_draws)
        self._chains[number] = (snapshot, segments if new is None else [*segments, dict(new)], trace.done)


def take_snapshot(sweep: int, rng: np.random.Generator, state: State, schedules: Sequence[Schedule]) -> Snapshot:
    """Everything that the rest of a chain depends on, copied."""
    frozen = state.freeze()
    numbers = {
        "sweep": sweep,
        "rng": generator_state(rng),
        "state": frozen.numbers,
        "schedules": [schedule.snapshot() for schedule in schedules],
    }
    return Snapshot(numbers, frozen.arrays)


def from_snapshot(
    snapshot: Snapshot, problem: Problem, schedules: Sequence[Schedule]
) -> tuple[int, np.random.Generator, State]:
    """The sweep that comes next, with stream and state as they were; schedules are set in place.

    A snapshot may come from a file that somebody changed: ValueError, before any kernel sees it, where its arrays do
    not make a state of this problem.
    """
    numbers, arrays = snapshot
    try:
        sweep = numbers["sweep"]
        rng = generator_from(numbers["rng"])
        if type(sweep) is not int:
            raise ValueError("the state of a chain holds a number of the wrong type")
        if len(numbers["schedules"]) != len(schedules):
            raise ValueError("the state of a chain belongs to a different schedule")
        for schedule, saved in zip(schedules, numbers["schedules"], strict=True):
            schedule.restore(saved)
        state = problem.thaw(Frozen(numbers["state"], arrays))
    except (LookupError, TypeError, ArithmeticError, AttributeError) as error:
        raise ValueError(f"the state of a chain cannot be read: {error!r}") from None
    return sweep, rng, state
