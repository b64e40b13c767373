"""Variational: mean field on both sides, from spectral starts, with joins and divisions of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....chains.draws import APPROXIMATION, Draws
from ....chains.engine import Inference, register
from ....chains.jobs import Monitor, run_jobs
from ....chains.watch import Watch
from ....core.validate import by_first_appearance, whole_number
from ....partitions.seats import IntArray
from ..moves.climb import divide_side, join_side
from ..problem import SIDES, Problem
from ..state import State
from .mean_field import Field, Terms, climb, joined
from .search import from_spectrum, to_mode

# Clusters of the spectral starts; a fit that names a start has that one alone.
STARTS = (25, 60)
# Pairs of clusters of a side that are tried for a join.
MOST_PAIRS = 60
# Nats per item below which a climb is over while the structure is still being searched for.
ROUGH = 1e-3
# Cells, times draws, that the log joints of draws may cost.
MOST_WORK = 5e7


@register("bicluster-variational")
@dataclass(frozen=True)
class BiclusterVariational(Inference):
    """Mean-field variational inference for rows and columns, for models whose bound is tractable.

    ``"frequency"``, ``"relational"`` and ``"symmetric"``, all without ``degree_corrected``, and sides that are not
    tied.

    Parameters
    ----------
    restarts : int
        Searches from different starts; the one with the largest bound is returned.
    rounds : int
        Rounds of joins and divisions in each search.
    tolerance : float
        Nats per row and column by which a pass must raise the bound; below, the climb is over.
    max_passes : int
        Limit on the passes in one climb.
    start : str or pair of arrays of labels
        As for ``BiclusterGibbs``.
    draws : int
        Draws of the labels from the approximation that are kept; fewer for large matrices.
    n_threads : int, optional
        Threads for the searches; default, one per core. The result does not depend on it.

    Notes
    -----
    The draws are from the approximation, in which rows and columns are independent: it understates how uncertain the
    numbers of clusters are. ``posterior_.objective`` is the bound on the log evidence after each pass.

    References
    ----------
    Kurihara, Kameya & Sato 2006, *A frequency-based stochastic blockmodel*; Blei & Jordan 2006; Pletscher 2007, 5.2
    and 5.6, which names that of the symmetric model as an open problem (``block_models/soft_sizes.py``).

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> X = np.kron(np.eye(2), np.full((10, 8), 5))
    >>> model = cl.InfiniteBiclustering("frequency", inference="variational", random_state=0).fit(X)
    >>> model.n_clusters_
    (2, 2)
    """

    restarts: int = 2
    rounds: int = 6
    tolerance: float = 1e-5
    max_passes: int = 300
    start: Any = "dispersed"
    draws: int = 100
    n_threads: int | None = None

    serves: ClassVar[str] = "biclustering"

    def __post_init__(self) -> None:
        for name, least in (("restarts", 1), ("rounds", 0), ("max_passes", 1), ("draws", 1)):
            whole_number(name, getattr(self, name), least)
        if not self.tolerance > 0.0:
            raise ValueError(f"tolerance must be a positive number, got {self.tolerance!r}")

    def run(self, problem: Problem, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Search from every start, keep the best, and draws from it."""
        terms = Terms(problem)

        def one_search(
            number: int, stream: np.random.Generator, monitor: Monitor
        ) -> tuple[Field, list[float], np.random.Generator] | None:
            if monitor.stopping.is_set():
                return None
            field, trace = self._search(terms, number, stream, monitor)
            return field, trace, stream

        searches, interrupted = run_jobs(
            one_search, self.restarts, self.restarts, rng, watch or Watch(), self.n_threads, "variational"
        )
        done = [search for search in searches if search is not None]
        if not done:
            raise KeyboardInterrupt("stopped before the first search was over")
        field, trace, stream = max(done, key=lambda search: search[0].bound)
        arrays = {**self._draws(field, stream), "objective": np.array(trace)}
        return Draws(arrays, problem.fields, problem.axes, APPROXIMATION, interrupted)

    def _search(
        self, terms: Terms, number: int, rng: np.random.Generator, monitor: Monitor
    ) -> tuple[Field, list[float]]:
        problem = terms.problem
        state = problem.start("one" if isinstance(self.start, str) else self.start, number, rng)
        if isinstance(self.start, str) and self.start not in ("dispersed", "spectral"):
            state = problem.start(self.start, number, rng)
        elif isinstance(self.start, str):
            state = from_spectrum(rng, state, STARTS[number % len(STARTS)])
        one = Field.of(terms, [np.zeros(n, dtype=np.int64) for n in problem.shape], state.offsets)
        field, trace = climb(_of(terms, state), ROUGH, self.max_passes)
        for _ in range(self.rounds):
            trial, further = self._rearranged(rng, field, monitor)
            if monitor.stopping.is_set() or not trial.bound > field.bound + ROUGH * sum(problem.shape):
                break
            field, trace = trial, trace + further
        field = joined(field, MOST_PAIRS)
        field, further = climb(field, self.tolerance, self.max_passes)
        single, steps = climb(one, self.tolerance, self.max_passes)
        if single.bound >= field.bound:
            field, trace, further = single, [], steps
        rows, columns = (side.shares.shape[1] for side in field.sides)
        monitor.advance(f"{rows} x {columns} clusters, bound {field.bound:,.1f}")
        return field, trace + further

    def _rearranged(self, rng: np.random.Generator, field: Field, monitor: Monitor) -> tuple[Field, list[float]]:
        """Clusters of the most probable labels joined and divided, as the log joint likes it; a climb from there."""
        problem = field.terms.problem
        state = problem.state(*field.labels(), offsets=field.offsets)
        to_mode(state)
        for side in state.sides:
            join_side(state, side)
        for side in state.sides:
            divide_side(rng, state, side, tries=3)
        monitor.status = state.status()
        return climb(_of(field.terms, state), ROUGH, self.max_passes)

    def _draws(self, field: Field, rng: np.random.Generator) -> dict[str, Any]:
        """Labels drawn from the shares, with the log joint that they have; the mode apart."""
        problem = field.terms.problem
        n_draws = max(1, min(self.draws, int(MOST_WORK // max(1, len(problem.matrix.values)))))
        labels = [np.empty((n_draws, n), dtype=np.int64) for n in problem.shape]
        for part, side in zip(labels, field.sides, strict=True):
            edges = np.cumsum(side.shares, axis=1)
            for draw in range(n_draws):
                chosen = (rng.random(len(edges))[:, None] * edges[:, -1:] > edges).sum(axis=1)
                part[draw] = by_first_appearance(np.minimum(chosen, edges.shape[1] - 1))
        pairs = zip(field.terms.laws, field.sticks, strict=True)
        typical = [law.typical(sticks) for law, sticks in pairs]
        states = [problem.state(*both, offsets=field.offsets, at=typical) for both in zip(*labels, strict=True)]
        drawn = [state.draw() for state in states]
        arrays = {name: np.stack([np.asarray(each[name]) for each in drawn])[None] for name in drawn[0]}
        for word, part in zip(SIDES, field.labels(), strict=True):
            arrays[f"{word}_mode"] = by_first_appearance(part)
        return arrays


def _of(terms: Terms, state: State) -> Field:
    labels: list[IntArray] = [seats.labels for seats in state.seats]
    return Field.of(terms, labels, state.offsets)
