"""MAP: the most probable partition (MAP-DP of Raykov et al. 2016, alg. 1, with merges, splits and restarts).

Plain iterated conditional modes from one cluster stands still almost at once where clusters overlap. Here
each restart climbs, merges and splits until nothing helps; the best then goes through rounds in which a few
clusters are dissolved and rebuilt, kept only if the log joint rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ....chains.draws import OPTIMUM, Draws
from ....chains.engine import Inference, register
from ....chains.jobs import Monitor, run_jobs
from ....chains.watch import Watch
from ....core.validate import whole_number
from ....partitions.icm import climb, divide, join
from ....partitions.moves.concentration import to_mode
from ....partitions.seats import IntArray
from ..moves.hyperparameters import climb_hyperparameters
from ..problem import Problem
from ..state import State

# Gain of the log joint below which a search that learns hyperparameters ends: they creep up to their mode.
LEAST_GAIN = 1e-2

RESTART_STARTS = ("one", "greedy", "sequential", "greedy")


@register("map")
@dataclass(frozen=True)
class MAP(Inference):
    """The partition with the largest log joint, by iterated conditional modes with merges and splits.

    Parameters
    ----------
    restarts : int, optional
        Independent searches, from different starts and orders of the rows; the best is returned. Default: 8,
        fewer beyond 10,000 rows, and at least 2.
    perturbations : int, optional
        Rounds in each search in which a few clusters are dissolved and rebuilt. Default: 10, fewer beyond 10,000
        rows, and at least 1.
    max_sweeps : int
        Limit on the passes over the rows in one climb.
    start : str or array of labels
        ``"dispersed"``: a different kind for each restart; or as for ``CollapsedGibbs``.
    n_threads : int, optional
        Threads for the restarts; default, one per core. The result does not depend on it.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.labels_.shape
    (4,)
    """

    restarts: int | None = None
    perturbations: int | None = None
    max_sweeps: int = 100
    start: Any = "dispersed"
    n_threads: int | None = None

    def __post_init__(self) -> None:
        for name, minimum in (("restarts", 1), ("perturbations", 0), ("max_sweeps", 1)):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), minimum)

    def _effort(self, n_rows: int) -> tuple[int, int]:
        """Restarts and perturbations: large problems have sharp optima, and every round costs a pass."""
        restarts = max(2, min(8, 80_000 // n_rows)) if self.restarts is None else self.restarts
        rounds = max(1, min(10, 100_000 // n_rows)) if self.perturbations is None else self.perturbations
        return restarts, rounds

    def pilot(self, start: Any = None) -> Self:
        """One search with two perturbations, or two searches where no labels are given."""
        begin, restarts = (self.start, 2) if start is None else (start, 1)
        return self._with(restarts=restarts, perturbations=2, start=begin)

    def run(self, problem: Problem, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Search from every start and keep the best."""

        def one_search(number: int, stream: np.random.Generator, monitor: Monitor) -> tuple[State, list[float]] | None:
            if monitor.stopping.is_set():
                return None
            return self._search(problem, number, stream, monitor)

        restarts, rounds = self._effort(problem.n_rows)
        total = restarts * (1 + rounds)
        searches, interrupted = run_jobs(
            one_search, restarts, total, rng, watch or Watch(), self.n_threads, "MAP search"
        )
        done = [search for search in searches if search is not None]
        if not done:
            raise KeyboardInterrupt("stopped before the first search was over")
        state, objective = max(done, key=lambda search: search[1][-1])
        arrays = {name: np.asarray(value)[None, None] for name, value in state.draw().items()}
        arrays |= {"log_joint": np.array([[objective[-1]]]), "objective": np.array(objective)}
        return Draws(arrays, problem.fields, problem.axes, OPTIMUM, interrupted)

    def _search(
        self, problem: Problem, number: int, rng: np.random.Generator, monitor: Monitor
    ) -> tuple[State, list[float]]:
        kind = self.start
        if isinstance(kind, str) and kind == "dispersed":
            kind = RESTART_STARTS[number % len(RESTART_STARTS)]
        state = problem.start(kind, number, rng)
        if not isinstance(kind, str):
            to_mode(state)
        objective = [state.log_joint()]
        self._improve(rng, state, objective, monitor)
        if number == 0 and problem.law is not None:
            # Hyperparameters of many clusters would not let these merge one after the other.
            trial = self._trial(state, np.zeros(problem.n_rows, dtype=np.int64))
            climb_hyperparameters(trial)
            state = self._better(rng, state, trial, objective, monitor)
        monitor.advance(f"{state.status()}, log joint {objective[-1]:,.1f}")
        for _ in range(self._effort(problem.n_rows)[1]):
            if monitor.stopping.is_set() or problem.n_rows < 3:
                break
            trial = self._trial(state, _disturbed(rng, state))
            state = self._better(rng, state, trial, objective, monitor)
            monitor.advance(f"{state.status()}, log joint {objective[-1]:,.1f}")
        return state, objective

    def _trial(self, state: State, labels: IntArray) -> State:
        """These labels, with the hyperparameters of ``state``."""
        problem = state.problem
        trial = problem.state(labels, problem.prior.reopened(state.seats.fixed, len(np.unique(labels))))
        trial.set_offsets(state.offsets)
        return trial

    def _better(
        self, rng: np.random.Generator, state: State, trial: State, objective: list[float], monitor: Monitor
    ) -> State:
        """``trial`` once it is improved, if that is better than ``state``."""
        steps: list[float] = []
        self._improve(rng, trial, steps, monitor)
        if not steps[-1] > objective[-1]:
            return state
        objective.append(steps[-1])
        return trial

    def _improve(self, rng: np.random.Generator, state: State, objective: list[float], monitor: Monitor) -> None:
        """Climb, merge and split until the log joint stands still; every step is appended to ``objective``."""
        last = -np.inf
        while True:
            climb(rng, state, self.max_sweeps, monitor.tick)
            objective.append(state.log_joint())
            join(state)
            objective.append(state.log_joint())
            divide(rng, state, tries=4)
            objective.append(state.log_joint())
            to_mode(state)
            climb_hyperparameters(state)
            objective.append(state.log_joint())
            least = 1e-7 if state.problem.law is None else LEAST_GAIN
            if not objective[-1] > last + least or monitor.stopping.is_set():
                break
            last = objective[-1]
        # From here on the figures are those of freshly computed statistics.
        state.rebuild()


def _disturbed(rng: np.random.Generator, state: State) -> IntArray:
    """Labels in which one to three clusters are pooled and dealt out again at random into as many or one more."""
    most = state.seats.prior.max_clusters(state.n_rows)
    labels = state.partition()
    n_clusters = state.n_clusters
    chosen = rng.choice(n_clusters, size=min(n_clusters, 1 + int(rng.integers(3))), replace=False)
    rows = np.flatnonzero(np.isin(labels, chosen))
    parts = max(1, min(len(chosen) + int(rng.integers(-1, 2)), most - n_clusters + len(chosen)))
    labels[rows] = n_clusters + rng.integers(parts, size=len(rows))
    return labels
