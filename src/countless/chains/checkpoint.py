"""What a chain needs to go on as if it had never stopped: a snapshot, and a recorder that keeps snapshots.

Statistics and caches are updated by rank one, so that their last bits depend on the way they were reached: a snapshot
holds them as they are. Recorders live in the rooms above; a chain only knows the protocol.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.random import generator_from, generator_state
from ..models.mixture.state import Chain, Problem, State
from ..models.mixture.state import _allocate as allocate
from .schedule import Schedule
from .trace import Segment, Trace


class Snapshot(NamedTuple):
    """One chain between two sweeps.

    Attributes
    ----------
    numbers : dict
        What JSON can hold: the sweep, the random stream, the concentration, what moves remember.
    arrays : dict of arrays
    """

    numbers: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Recorder(Protocol):
    """Keeps snapshots and draws of chains; chains call it from their threads, each with its own number."""

    # Seconds between two snapshots of a chain; there is always one at its end.
    interval: float

    @property
    def n_draws(self) -> int:
        """Draws that each chain is to have, where these are more than the engine makes by itself."""

    def load(self, number: int) -> tuple[Snapshot, list[Segment]] | None:
        """The last snapshot of a chain and all draws up to it; None where the chain is to begin."""

    def save(self, number: int, snapshot: Snapshot, trace: Trace) -> None:
        """Keep the snapshot and the draws that are new in the trace."""


class MemoryRecorder:
    """Keeps the ends of chains, so that they can go on in the same process."""

    interval = float("inf")

    def __init__(self, n_draws: int = 0) -> None:
        self.n_draws = n_draws
        self._chains: dict[int, tuple[Snapshot, Trace]] = {}

    def load(self, number: int) -> tuple[Snapshot, list[Segment]] | None:
        """Where the chain ended, with its draws."""
        if number not in self._chains:
            return None
        snapshot, trace = self._chains[number]
        return snapshot, trace.segments()

    def save(self, number: int, snapshot: Snapshot, trace: Trace) -> None:
        """Keep both."""
        self._chains[number] = (snapshot, trace)


def take_snapshot(
    sweep: int, rng: np.random.Generator, state: State, problem: Problem, schedules: Sequence[Schedule]
) -> Snapshot:
    """Everything that the rest of a chain depends on, copied."""
    numbers = {
        "sweep": sweep,
        "rng": generator_state(rng),
        "n_clusters": int(state.n_clusters),
        "concentration": float(state.concentration),
        "log_factors": {name: float(value) for name, value in problem.log_factors.items()},
        "log_hyperprior": float(problem.log_hyperprior),
        "schedules": [schedule.snapshot() for schedule in schedules],
    }
    arrays = {name: array.copy() for name, array in state.chain._asdict().items()}
    if state.weights is not None:
        arrays["weights"] = state.weights.copy()
    if problem.draws_missing:
        rows, _, places = problem.missing
        arrays["cells"] = problem.rows[rows, places]
    return Snapshot(numbers, arrays)


def from_snapshot(
    snapshot: Snapshot, problem: Problem, schedules: Sequence[Schedule]
) -> tuple[int, np.random.Generator, State, Problem]:
    """The sweep that comes next, with stream, state and problem as they were; schedules are set in place.

    A snapshot may come from a file that somebody changed: ValueError, before any kernel sees it, where its arrays do
    not make a state of this problem.
    """
    numbers, arrays = snapshot
    try:
        sweep, n_clusters, concentration = numbers["sweep"], numbers["n_clusters"], numbers["concentration"]
        factors: Mapping[str, float] = numbers["log_factors"]
        rng = generator_from(numbers["rng"])
        if type(sweep) is not int or type(n_clusters) is not int or type(concentration) is not float:
            raise ValueError("the state of a chain has a number of another type")
        if not 0.0 < concentration < math.inf:
            raise ValueError(f"the state of a chain has the concentration {concentration}")
        if len(numbers["schedules"]) != len(schedules):
            raise ValueError("the state of a chain is one of another schedule")
        for schedule, saved in zip(schedules, numbers["schedules"], strict=True):
            schedule.restore(saved)
        if dict(factors) != dict(problem.log_factors) or numbers["log_hyperprior"] != problem.log_hyperprior:
            problem = problem.tuned(factors, numbers["log_hyperprior"])
        if problem.draws_missing:
            _take_over(problem, arrays["cells"])
        state = _state(problem, arrays, n_clusters, concentration)
    except (LookupError, TypeError, ArithmeticError, AttributeError) as error:
        raise ValueError(f"the state of a chain cannot be read: {error!r}") from None
    return sweep, rng, state, problem


def _take_over(problem: Problem, cells: NDArray[Any]) -> None:
    """Let missing cells hold what they held."""
    rows, _, places = problem.missing
    if cells.shape != rows.shape or cells.dtype != np.float64 or not np.isfinite(cells).all():
        raise ValueError("the state of a chain has missing cells of another table")
    problem.rows[rows, places] = cells


def _state(problem: Problem, arrays: Mapping[str, NDArray[Any]], n_clusters: int, concentration: float) -> State:
    """A state of copies of these arrays: kernels write into them."""
    capacity = len(arrays["sizes"])
    fresh = allocate(problem, np.zeros(problem.n_rows, dtype=np.int64), capacity)
    for name, like in fresh._asdict().items():
        found = arrays[name]
        if found.shape != like.shape or found.dtype != like.dtype:
            raise ValueError(f"the state of a chain has {name} of another shape or type")
        like[...] = found
    _check_slots(fresh, n_clusters)
    state = State.__new__(State)
    state.chain, state.n_clusters = fresh, n_clusters
    weights = arrays.get("weights")
    if weights is not None:
        if weights.ndim != 1 or weights.dtype != np.float64 or not 1 <= len(weights) <= capacity:
            raise ValueError("the state of a chain has weights of another shape or type")
        state.weights = weights.copy()
    state.set_concentration(problem, concentration)
    return state


def _check_slots(chain: Chain, n_clusters: int) -> None:
    """Labels point at slots, slots in use are listed first, and sizes count the rows."""
    labels, sizes, active = chain.labels, chain.sizes, chain.active
    capacity = len(sizes)
    fits = (
        1 <= n_clusters <= capacity
        and labels.min() >= 0
        and labels.max() < capacity
        and np.array_equal(np.sort(active), np.arange(capacity))
        and np.array_equal(np.bincount(labels, minlength=capacity), sizes)
        and bool(np.all(sizes[active[:n_clusters]] > 0))
        and int(np.count_nonzero(sizes)) == n_clusters
        and bool(np.isfinite(chain.statistics[active[:n_clusters]]).all())
    )
    if not fits:
        raise ValueError("the state of a chain has labels that do not go with its clusters")
