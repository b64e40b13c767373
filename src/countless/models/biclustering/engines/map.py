"""MAP: the most probable pair of partitions, by searches from several starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....chains.draws import OPTIMUM, Draws
from ....chains.engine import Inference, register
from ....chains.jobs import Monitor, run_jobs
from ....chains.watch import Watch
from ....core.validate import whole_number
from ..problem import Problem
from ..state import State
from .search import improve, settle

# Cost of a sweep from which one search has to do.
LARGE = 1e6


@register("bicluster-map")
@dataclass(frozen=True)
class BiclusterMAP(Inference):
    """The pair of partitions with the largest log joint, by greedy searches.

    Parameters
    ----------
    restarts : int, optional
        Independent searches; the best is returned. Default: 2, or 1 for large matrices.
    perturbations : int, optional
        Rounds in each search in which a few clusters of one side are dissolved and dealt out again. Default: 10, fewer
        for large matrices.
    start : str or pair of arrays of labels
        As for ``BiclusterGibbs``.
    n_threads : int, optional
        Threads for the searches; default, one per core. The result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> X = np.kron(np.eye(2), np.ones((10, 8)))
    >>> cl.InfiniteBiclustering(inference="map", random_state=0).fit(X).n_clusters_
    (2, 2)
    """

    restarts: int | None = None
    perturbations: int | None = None
    start: Any = "dispersed"
    n_threads: int | None = None

    serves: ClassVar[str] = "biclustering"

    def __post_init__(self) -> None:
        if self.restarts is not None:
            whole_number("restarts", self.restarts, 1)
        if self.perturbations is not None:
            whole_number("perturbations", self.perturbations, 0)

    def _rounds(self, problem: Problem) -> int:
        if self.perturbations is not None:
            return self.perturbations
        return int(max(0, min(10, 2e6 // problem.sweep_cost())))

    def run(self, problem: Problem, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Search from every start and keep the best."""

        def one_search(number: int, stream: np.random.Generator, monitor: Monitor) -> tuple[State, list[float]] | None:
            return None if monitor.stopping.is_set() else self._search(problem, number, stream, monitor)

        restarts = self.restarts or (2 if problem.sweep_cost() <= LARGE else 1)
        total = restarts * (1 + self._rounds(problem))
        searches, interrupted = run_jobs(
            one_search, restarts, total, rng, watch or Watch(), self.n_threads, "MAP search"
        )
        done = [search for search in searches if search is not None]
        if not done:
            raise KeyboardInterrupt("stopped before the first search was over")
        state, objective = max(done, key=lambda search: search[1][-1])
        arrays = {name: np.asarray(value)[None, None] for name, value in state.draw().items()}
        arrays["objective"] = np.array(objective)
        return Draws(arrays, problem.fields, problem.axes, OPTIMUM, interrupted)

    def _search(
        self, problem: Problem, number: int, rng: np.random.Generator, monitor: Monitor
    ) -> tuple[State, list[float]]:
        state = settle(rng, problem.start(self.start, number, rng), monitor.stopping.is_set)
        objective = [state.log_joint()]
        monitor.advance(f"{state.status()}, log joint {objective[-1]:,.1f}")
        for _ in range(self._rounds(problem)):
            if monitor.stopping.is_set():
                break
            trial = state.copy()
            _disturb(rng, trial)
            improve(rng, trial, stopped=monitor.stopping.is_set)
            value = trial.log_joint()
            if value > objective[-1]:
                state = trial
                objective.append(value)
            monitor.advance(f"{state.status()}, log joint {objective[-1]:,.1f}")
        state.rebuild()
        objective[-1] = state.log_joint()
        return state, objective


def _disturb(rng: np.random.Generator, state: State) -> None:
    """Pool one to three clusters of one side and deal their members out again, into as many or one more."""
    side = int(rng.integers(len(state.sides)))
    seats = state.seats[side]
    labels, count = seats.labels.copy(), seats.n_clusters
    chosen = rng.choice(count, size=min(count, 1 + int(rng.integers(3))), replace=False)
    items = np.flatnonzero(np.isin(labels, chosen))
    most = seats.prior.max_clusters(seats.n_items)
    parts = max(1, min(len(chosen) + int(rng.integers(-1, 2)), most - count + len(chosen)))
    labels[items] = count + rng.integers(parts, size=len(items))
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    state.relabel(side, labels)
