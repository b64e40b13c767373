"""MAP: the most probable path with its base weights, by conditional modes, whole paths, merges and splits.

The objective is the log joint of the rows, the path, and the *logs* of base weights and of learned numbers (the basis
in which they are free to run anywhere, and in which the mode is inside), with parameters and transition probabilities
integrated out. Raykov et al. 2016, section 6.2, alternate single steps and (6.6); that mode gives a new state no mass
where M_0 = 1, and single steps leave states that should be two. Here every proposal is accepted only where the
objective rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....chains.draws import OPTIMUM, Draws
from ....chains.engine import Inference, register
from ....chains.jobs import Monitor, run_jobs
from ....chains.schedule import Schedule
from ....chains.watch import Watch
from ....core.validate import whole_number
from ....partitions.seats import FloatArray, IntArray
from ....passes.passes import one_blas_thread
from ...learned import LearnHyperparameters, climb_hyperparameters
from ..base import climb_base, log_density_on_line, mean_weights
from ..kernels.forward import best_path
from ..moves.numbers import BaseUpdate
from ..moves.paths import WholePath, scores_of
from ..moves.split_merge import SplitMerge, _expected_naturals, launch
from ..moves.sweeps import sweep_steps
from ..predictive import chain_of
from ..problem import Problem
from ..state import State

# Gain below which a search is over.
LEAST_GAIN = 1e-7
# Steps of a series that single-step sweeps are worth their time for, and tries to divide each state.
MOST_SWEPT = 50_000
TRIES = 3


@register("hmm-map")
@dataclass(frozen=True)
class HMMMAP(Inference):
    """The path with the largest log joint, with its base weights.

    Each restart begins with some sweeps of the sampler, then climbs.

    Parameters
    ----------
    restarts : int, optional
        Independent searches; the best is returned. Default: 4, fewer beyond 2,000 steps, and at least 2.
    perturbations : int, optional
        Rounds of each search in which some steps are given other states and everything climbs again. Default: 4,
        fewer beyond 1,000 steps.
    sweeps : int
        Sweeps of the sampler that a search begins with.
    start : str or array of labels
        As for ``DirectAssignment``.
    n_threads : int, optional
        Threads for the restarts; default, one per core. The result does not depend on it.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.InfiniteHMM(inference="map", random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> model.posterior_.labels.shape
    (1, 1, 6)
    """

    restarts: int | None = None
    perturbations: int | None = None
    sweeps: int = 30
    start: Any = "dispersed"
    n_threads: int | None = None

    serves: ClassVar[str] = "hmm"

    def __post_init__(self) -> None:
        for name, minimum in (("restarts", 1), ("perturbations", 0), ("sweeps", 0)):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), minimum)

    def _effort(self, n_steps: int) -> tuple[int, int]:
        restarts = max(2, min(4, 8_000 // n_steps)) if self.restarts is None else self.restarts
        rounds = min(4, 4_000 // n_steps) if self.perturbations is None else self.perturbations
        return restarts, rounds

    def run(self, problem: Any, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Search from every start and keep the best."""

        def one_search(number: int, stream: np.random.Generator, monitor: Monitor) -> tuple[State, list[float]] | None:
            return None if monitor.stopping.is_set() else self._search(problem, number, stream, monitor)

        restarts, rounds = self._effort(problem.n_rows)
        with one_blas_thread():
            searches, interrupted = run_jobs(
                one_search, restarts, restarts * (1 + rounds), rng, watch or Watch(), self.n_threads, "MAP search"
            )
        done = [search for search in searches if search is not None]
        if not done:
            raise KeyboardInterrupt("stopped before the first search was over")
        state, objective = max(done, key=lambda search: search[1][-1])
        arrays = {name: np.asarray(value)[None, None] for name, value in state.draw().items() if name != "base_weights"}
        arrays |= {
            "base_weights": state.draw()["base_weights"],
            "log_joint": np.array([[objective[-1]]]),
            "objective": np.array(objective),
        }
        return Draws(arrays, problem.fields, problem.axes, OPTIMUM, interrupted)

    def _search(
        self, problem: Problem, number: int, rng: np.random.Generator, monitor: Monitor
    ) -> tuple[State, list[float]]:
        state = problem.start(self.start, number, rng)
        schedule = Schedule([WholePath(), SplitMerge(2), BaseUpdate(), LearnHyperparameters()])
        for _ in range(self.sweeps):
            if monitor.stopping.is_set():
                break
            schedule.step(rng, state)
        climb_base(state)
        trace = [objective(state)]
        state = improve(rng, state, trace)
        if state.n_states > 1:
            state = _better(rng, state, np.zeros(problem.n_rows, dtype=np.int64), trace)
        monitor.advance(f"{state.status()}, log joint {trace[-1]:,.1f}")
        for _ in range(self._effort(problem.n_rows)[1]):
            if monitor.stopping.is_set() or problem.n_rows < 3:
                break
            state = _better(rng, state, _disturbed(rng, state), trace)
            monitor.advance(f"{state.status()}, log joint {trace[-1]:,.1f}")
        return state, trace


def objective(state: State) -> float:
    """What MAP raises, in the user's units."""
    value = state.log_rows() + log_density_on_line(state) + state.log_hyperprior + state.problem.log_jacobian
    if state.problem.draws_missing:
        value -= float(np.log(state.problem.scale[state.problem.missing.columns]).sum())
    return value


def improve(rng: np.random.Generator, state: State, trace: list[float]) -> State:
    """Every kind of step until none raises the objective; what is reached is appended to ``trace``."""
    best = trace[-1] if trace else -np.inf
    while True:
        before = best
        for change in (_swept, _whole_path, _joined, _divided):
            trial = change(rng, state)
            if trial is None:
                continue
            value = objective(trial)
            if value > best + LEAST_GAIN:
                state, best = trial, value
                trace.append(best)
        if not best > before + (LEAST_GAIN if state.problem.law is None else 1e-2):
            climb_base(state, 100)
            trace.append(max(best, objective(state)))
            return state


def _settled(state: State) -> State:
    """Base weights, numbers and hyperparameters at their modes given the path."""
    climb_base(state, 4)
    climb_hyperparameters(state)
    return state


def _relabelled(state: State, labels: IntArray) -> State:
    """The state with another path, numbers and hyperparameters as they are."""
    trial = state.copy()
    counted = np.unique(labels, return_inverse=True)[1].reshape(-1)
    trial.set_path(counted)
    trial.weights, trial.rest = mean_weights(trial.fixed, trial.counts)
    return trial


def _swept(rng: np.random.Generator, state: State) -> State | None:
    if state.n_rows > MOST_SWEPT or state.problem.row_weight != 1.0:
        return None
    trial = state.copy()
    for _ in range(20):
        if not sweep_steps(rng, trial, 0, trial.n_rows, True):
            break
    return _settled(trial)


def _whole_path(rng: np.random.Generator, state: State) -> State | None:
    """The best path under mean transition probabilities and expected natural parameters."""
    k = state.n_states
    chain = chain_of(state.fixed, state.counts, state.weights, state.rest)
    naturals = _expected_naturals(state, state.clusters.arrays.statistics[:k].copy())
    scores = scores_of(state, naturals)
    labels = np.empty(state.n_rows, dtype=np.int64)
    logs = np.log(chain.start[:k]), np.ascontiguousarray(np.log(chain.transition[:k, :k]))
    best_path(scores, state.problem.first, *logs, labels)
    return None if np.array_equal(labels, state.labels) else _settled(_relabelled(state, labels))


def _joined(rng: np.random.Generator, state: State) -> State | None:
    """The pair of states whose merge gains most."""
    k = state.n_states
    best, value = None, -np.inf
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    gains = _evidence_gains(state, pairs)
    for at in np.argsort(-gains)[:5]:
        a, b = pairs[at]
        labels = state.labels.copy()
        labels[labels == b] = a
        trial = _settled(_relabelled(state, labels))
        height = objective(trial)
        if height > value:
            best, value = trial, height
    return best


def _evidence_gains(state: State, pairs: list[tuple[int, int]]) -> FloatArray:
    from ..moves.split_merge import _log_evidences

    if not pairs:
        return np.empty(0)
    sums = state.clusters.arrays.statistics[: state.n_states].copy()
    alone = _log_evidences(state, sums)
    together = _log_evidences(state, np.array([sums[a] + sums[b] for a, b in pairs]))
    return np.asarray(together - [alone[a] + alone[b] for a, b in pairs])


def _divided(rng: np.random.Generator, state: State) -> State | None:
    """The division of a state that gains most, of some for each."""
    most = state.fixed.most
    if most is not None and state.n_states >= most:
        return None
    best, value = None, -np.inf
    for c in range(state.n_states):
        steps = np.flatnonzero(state.labels == c)
        if len(steps) < 2:
            continue
        for _ in range(TRIES):
            i, j = rng.choice(steps, 2, replace=False)
            plan = launch(state, steps, int(i), int(j), 1 << int(rng.integers(7)), 0.9)
            labels = state.labels.copy()
            labels[steps[plan.draw(rng) == 1]] = state.n_states
            trial = _relabelled(state, labels)
            sweep_steps(rng, trial, 0, min(trial.n_rows, MOST_SWEPT), True)
            climb_base(trial, 1)
            height = objective(trial)
            if height > value:
                best, value = trial, height
    return None if best is None else _settled(best)


def _better(rng: np.random.Generator, state: State, labels: IntArray, trace: list[float]) -> State:
    """These labels once they are improved, if that is better than ``state``."""
    steps: list[float] = []
    trial = improve(rng, _settled(_relabelled(state, labels)), steps)
    if not steps[-1] > trace[-1]:
        return state
    trace.append(steps[-1])
    return trial


def _disturbed(rng: np.random.Generator, state: State) -> IntArray:
    """Labels in which some states are pooled and stretches of them dealt out again."""
    labels, k = state.labels.copy(), state.n_states
    chosen = rng.choice(k, size=min(k, 1 + int(rng.integers(3))), replace=False)
    steps = np.flatnonzero(np.isin(labels, chosen))
    most = (state.fixed.most or k + 2) - k + len(chosen)
    parts = max(1, min(len(chosen) + int(rng.integers(-1, 3)), most))
    cuts = np.sort(rng.integers(0, len(steps), size=int(rng.integers(1, 2 + 2 * parts))))
    pieces = np.searchsorted(cuts, np.arange(len(steps)), side="right")
    labels[steps] = k + rng.integers(parts, size=pieces.max() + 1)[pieces]
    return labels
