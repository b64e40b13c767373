"""Variational: mean field over whole paths, with births, merges and deletions of states.

The structure is searched for on a part of the steps by a short run of whole paths and split-merge, which leave local
optima that an ascent cannot leave; then all steps climb, and states are merged, deleted and divided as long as the
bound on all of them rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....chains.draws import APPROXIMATION, Draws
from ....chains.engine import Inference, register
from ....chains.jobs import Monitor, run_jobs
from ....chains.schedule import Schedule
from ....chains.watch import Watch
from ....core.random import spawn
from ....core.validate import by_first_appearance, whole_number
from ....partitions.seats import FloatArray, IntArray
from ....passes.passes import one_blas_thread
from ....transitions.paths import count_transitions
from ...learned import LearnHyperparameters
from ..kernels.forward import NO_SLICES, NOBODY, draw_path, forward
from ..moves.numbers import BaseUpdate
from ..moves.paths import WholePath, scores_of
from ..moves.split_merge import SplitMerge, launch
from ..problem import Problem
from ..state import State
from .mean_field import MeanField, Sums

# Labels that are kept as draws: this many numbers at most.
MOST_LABELS = 10_000_000
# Pairs of states that are tried for a merge after each climb.
MOST_PAIRS = 6


@dataclass(frozen=True)
class _Ascent:
    """Where a climb has ended: parameters, the bound, the sums of its last pass, all bounds."""

    field: MeanField
    bound: float
    sums: Sums
    trace: tuple[float, ...]


@register("hmm-variational")
@dataclass(frozen=True)
class HMMVariational(Inference):
    """Mean-field variational inference of a hidden Markov model, in time linear in the number of steps.

    Parameters
    ----------
    restarts : int, optional
        Searches from different starts; the one with the largest bound is returned. Default: 4, fewer beyond 2,000
        steps.
    sweeps : int
        Sweeps of the sampler that each search begins with.
    start_steps : int
        Steps that the structure is searched on; of longer sequences some stretches are taken.
    tolerance : float
        Nats per step by which a pass must raise the bound; below, the climb is over.
    max_passes : int
        Limit on the passes of one climb.
    draws : int, optional
        Draws of the path that are kept. Default 100, fewer of long sequences.

    Notes
    -----
    ``posterior_.objective`` is the bound after each pass that raised it, on the untruncated model. Numbers of the law
    and hyperparameters that are learned are at their mode.

    References
    ----------
    Hughes, Stephenson & Sudderth 2015, *Scalable adaptation of state complexity for nonparametric hidden Markov
    models*.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.InfiniteHMM(inference="variational", random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> bool((model.posterior_.objective[1:] >= model.posterior_.objective[:-1] - 1e-8).all())
    True
    """

    restarts: int | None = None
    sweeps: int = 60
    start_steps: int = 5_000
    tolerance: float = 1e-6
    max_passes: int = 300
    draws: int | None = None
    n_threads: int | None = None

    serves: ClassVar[str] = "hmm"

    def __post_init__(self) -> None:
        for name, minimum in (("restarts", 1), ("sweeps", 0), ("start_steps", 2), ("max_passes", 1), ("draws", 1)):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), minimum)
        if not self.tolerance > 0.0:
            raise ValueError(f"tolerance must be a positive number, got {self.tolerance!r}")

    def run(self, problem: Any, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Search on some steps, continue with all of them, keep draws from the result."""
        law = problem.transitions.initial()
        if law.base_shapes(1) is not None and law.opening(0)[0] != 1.0:
            raise ValueError(f"inference: {type(law).__name__} has no sticks; choose 'gibbs' or another sampler")
        first, second, third = spawn(rng, 3)
        part = problem.stretches(self.start_steps, first)
        restarts = self.restarts or max(1, min(4, 8_000 // problem.n_rows))

        def one_search(number: int, stream: np.random.Generator, monitor: Monitor) -> _Ascent | None:
            return None if monitor.stopping.is_set() else self._search(part, number, stream, monitor)

        with one_blas_thread():
            threads = self.n_threads
            searches, interrupted = run_jobs(
                one_search, restarts, restarts, second, watch or Watch(), threads, "variational"
            )
            done = [search for search in searches if search is not None]
            if not done:
                raise KeyboardInterrupt("stopped before the first search was over")
            ascent = max(done, key=lambda search: search.bound)
            if part is not problem:
                ascent = self._on_all(problem, ascent)
            return self._draws(problem, ascent, third, interrupted)

    def _search(self, problem: Problem, number: int, rng: np.random.Generator, monitor: Monitor) -> _Ascent:
        """A short run of the sampler, then a climb with rearrangements."""
        state = problem.start("dispersed", number, rng)
        schedule = Schedule([WholePath(), SplitMerge(3), BaseUpdate(), LearnHyperparameters()])
        for _ in range(self.sweeps):
            if monitor.stopping.is_set():
                break
            schedule.step(rng, state)
        ascent = self._rearrange(self._climb(_field_of(problem, state)), rng)
        if ascent.field.n_states > 1:
            one = self._climb(_field_of(problem, State(problem, np.zeros(problem.n_rows, dtype=np.int64), state.fixed)))
            ascent = max(ascent, one, key=lambda each: each.bound)
        monitor.advance(f"{ascent.field.n_states} states, bound {ascent.bound + problem.log_jacobian:,.1f}")
        return ascent

    def _on_all(self, problem: Problem, ascent: _Ascent) -> _Ascent:
        """Climb on with all steps."""
        field = ascent.field
        scale = problem.n_rows / field.problem.n_rows
        sums = Sums(field.statistics * scale, field.counts * scale, 0.0)
        whole = MeanField.of(problem.learned(field.problem.offsets), field.law, sums)
        return self._rearrange(self._climb(whole), None)

    def _climb(self, field: MeanField, trace: tuple[float, ...] = (), max_passes: int = 0) -> _Ascent:
        """Pass after pass until the bound rises by less than the tolerance."""
        bounds: list[float] = []
        enough = self.tolerance * field.problem.n_rows
        most = max_passes or self.max_passes
        while True:
            bound, sums = field.run()
            bounds.append(bound)
            if len(bounds) >= most or (len(bounds) > 1 and bound - bounds[-2] < enough):
                return _Ascent(field, bound, sums, (*trace, *bounds))
            field = field.updated(sums)
            if len(bounds) % 4 == 2:
                field = field.learned()

    def _rearrange(self, ascent: _Ascent, rng: np.random.Generator | None) -> _Ascent:
        """Delete, merge and (with ``rng``) divide states as long as the bound rises."""
        while True:
            before = ascent.bound
            for sums in _smaller(ascent):
                trial = self._climb(ascent.field.rearranged(sums), max_passes=12)
                if trial.bound > ascent.bound:
                    ascent = self._climb(trial.field.updated(trial.sums), (*ascent.trace, trial.bound))
                    break
            else:
                if rng is not None:
                    ascent = self._divide(ascent, rng)
            if not ascent.bound > before + 1e-6:
                return ascent

    def _divide(self, ascent: _Ascent, rng: np.random.Generator) -> _Ascent:
        """Try to divide each state in two."""
        problem, most = ascent.field.problem, ascent.field.law.most
        if most is not None and ascent.field.n_states >= most:
            return ascent
        labels = _paths(ascent.field, rng, 0)
        for k in range(ascent.field.n_states):
            steps = np.flatnonzero(labels == k)
            if len(steps) < 4:
                continue
            state = State(problem, labels)
            i, j = np.sort(rng.choice(steps, 2, replace=False))
            plan = launch(state, steps, int(i), int(j), 1 << int(rng.integers(6)), 0.9)
            divided = labels.copy()
            divided[steps[plan.draw(rng) == 1]] = ascent.field.n_states
            trial = self._climb(_field_of(problem, State(problem, divided), ascent.field.law), max_passes=12)
            if trial.bound > ascent.bound:
                return self._climb(trial.field.updated(trial.sums), (*ascent.trace, trial.bound))
        return ascent

    def _draws(self, problem: Problem, ascent: _Ascent, rng: np.random.Generator, interrupted: bool) -> Draws:
        field = ascent.field
        n_draws = self.draws or max(2, min(100, MOST_LABELS // problem.n_rows))
        mode = _paths(field, rng, 0)
        drawn = _paths(field, rng, n_draws)
        labels = np.empty((n_draws, problem.n_rows), dtype=np.int16)
        n_states, log_joint, weights = np.empty(n_draws, dtype=np.int64), np.empty(n_draws), []
        means = field.base.means
        for draw, path in enumerate(drawn):
            labels[draw] = by_first_appearance(path)
            state = State(field.problem, path, field.law)
            kept = means[path[np.sort(np.unique(path, return_index=True)[1])]]  # in order of first appearance
            state.weights, state.rest = kept, max(1.0 - float(kept.sum()), 1e-12)
            one = state.draw()
            n_states[draw], log_joint[draw] = one["n_states"], one["log_joint"]
            weights.append(one["base_weights"])
        arrays: dict[str, Any] = {
            "labels": labels[None],
            "n_states": n_states[None],
            "log_joint": log_joint[None],
            "base_weights": np.concatenate(weights),
            "objective": np.maximum.accumulate(np.array(ascent.trace)) + problem.log_jacobian,
            "mode": by_first_appearance(mode),
        }
        for name, value in problem.transitions.numbers_of(field.law).items():
            arrays[name] = np.full((1, n_draws), value)
        for name, value in field.problem.log_factors.items():
            arrays[f"log_factors/{name}"] = np.broadcast_to(value, (1, n_draws, *np.shape(value))).copy()
        return Draws(arrays, problem.fields, problem.axes, APPROXIMATION, interrupted)


def _field_of(problem: Problem, state: State, law: Any = None) -> MeanField:
    """Parameters for the path of a state, with its numbers and hyperparameters."""
    k = state.n_states
    counts = count_transitions(state.labels, problem.first, k)
    sums = Sums(state.clusters.arrays.statistics[:k].copy(), counts, 0.0)
    at = problem if law is not None else problem.learned(state.offsets)
    return MeanField.of(at, state.fixed if law is None else law, sums)


def _smaller(ascent: _Ascent) -> list[Sums]:
    """Sums with one state less: without the smallest, and with pairs joined whose evidence loses least."""
    field, sums = ascent.field, ascent.sums
    k = field.n_states
    if k < 2:
        return []
    alone = _evidences(field, sums.statistics)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    joined = _evidences(field, np.array([sums.statistics[i] + sums.statistics[j] for i, j in pairs]))
    gains = joined - [alone[i] + alone[j] for i, j in pairs]
    best = np.argsort(-gains)[:MOST_PAIRS]
    smallest = np.delete(np.arange(k), int(np.argmin(sums.statistics[:, 0])))
    return [*(sums.joined(*pairs[at]) for at in best), sums.permuted(smallest)]


def _evidences(field: MeanField, statistics: FloatArray) -> FloatArray:
    from .mean_field import _expectations

    clusters = field.problem.family.allocate(len(statistics), field.problem.hyper)
    clusters.statistics[:] = statistics
    evidences = np.empty(len(statistics))
    _expectations(field.problem.hyper, *clusters, np.empty_like(statistics), evidences)
    return evidences


def _paths(field: MeanField, rng: np.random.Generator, n_draws: int) -> IntArray:
    """Paths drawn from q (draw, step); with 0 draws, the state of largest probability of each step."""
    problem = field.problem
    chain = np.exp(field.log_transitions()[:, : field.n_states])
    naturals = field.naturals()[0]
    scores = scores_of(problem, naturals)
    start, transition = chain[0].copy(), np.ascontiguousarray(chain[1:])
    forward(scores, problem.first, start, transition, NO_SLICES, NOBODY)
    if not n_draws:
        from ..kernels.forward import smooth

        smooth(scores, problem.first, transition, np.zeros_like(transition))
        return np.argmax(scores, axis=1)
    labels = np.empty((n_draws, problem.n_rows), dtype=np.int64)
    for draw in range(n_draws):
        draw_path(rng, scores, problem.first, transition, NO_SLICES, labels[draw])
    return labels
