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
from .search import search, usual_rounds

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
        return usual_rounds(problem)

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
        objective: list[float] = []

        def tell(found: State, value: float) -> None:
            if not objective or value > objective[-1]:
                objective.append(value)
            monitor.advance(f"{found.status()}, log joint {value:,.1f}")

        first = problem.start(self.start, number, rng)
        state = search(rng, first, self._rounds(problem), monitor.stopping.is_set, tell)
        state.rebuild()
        objective[-1] = state.log_joint()
        return state, objective
