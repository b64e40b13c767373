"""What engines that run chains share: the loop over sweeps, the chains side by side, the draws that are kept.

An engine is its settings and the moves of one sweep (``schedule``); everything else is here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from .._validate import whole_number
from .base import Inference
from .run import Draws, Monitor, Truncation, run_jobs
from .schedule import Schedule
from .starts import start_labels
from .state import FloatArray, IntArray, Problem, State


class Sampler(Inference):
    """Base of the samplers; subclasses are frozen dataclasses that have at least these fields."""

    chains: int
    draws: int
    warmup: int
    thin: int
    start: Any
    n_threads: int | None
    # Whether draws of the parameters are handed out, where the moves make any.
    keep_parameters: bool = False
    title: ClassVar[str] = "sampling"

    def __post_init__(self) -> None:
        for name, minimum in (("chains", 1), ("draws", 1), ("warmup", 0), ("thin", 1)):
            whole_number(name, getattr(self, name), minimum)

    @abstractmethod
    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""

    def pilot(self, labels: Any = None) -> Self:
        """At most 20 draws of each chain, after 30 sweeps, or 5 where labels are given."""
        start, warmup = (self.start, 30) if labels is None else (labels, 5)
        return self._with(draws=min(self.draws, 20), warmup=min(self.warmup, warmup), thin=1, start=start)

    def settle(self, rng: np.random.Generator, state: State, problem: Problem) -> None:
        """Improve where a chain starts, before its warm-up, by whatever means; by default it stays there."""

    def run(self, problem: Problem, rng: np.random.Generator, progress: bool | None = None) -> Draws:
        """Run all chains."""
        return self._run(problem, rng, progress, self.schedule)

    def _run(
        self,
        problem: Problem,
        rng: np.random.Generator,
        progress: bool | None,
        make_schedule: Callable[[], Schedule],
    ) -> Draws:
        def one_chain(number: int, stream: np.random.Generator, monitor: Monitor) -> Trace:
            return self._chain(problem, number, stream, monitor, make_schedule())

        sweeps = self.chains * (self.warmup + self.draws * self.thin)
        traces, interrupted = run_jobs(one_chain, self.chains, sweeps, rng, self.n_threads, progress, self.title)
        kept = [trace for trace in traces if trace.done]
        if not kept:
            raise KeyboardInterrupt("stopped before the first draw was kept")
        return join_traces(kept, problem)._replace(interrupted=interrupted)

    def _chain(
        self, problem: Problem, number: int, rng: np.random.Generator, monitor: Monitor, schedule: Schedule
    ) -> Trace:
        problem = problem.for_chain()
        labels = start_labels(self.start, number, problem, rng)
        concentration: Any = problem.prior.initial().concentration
        state = State(problem, labels, concentration)
        self.settle(rng, state, problem)
        trace = Trace(self.draws, problem.n_rows, self.keep_parameters)
        for sweep in range(-self.warmup, self.draws * self.thin):
            if monitor.stopping.is_set():
                break
            problem = schedule.step(rng, state, problem)
            if sweep < 0:
                schedule.adapt(state)
            elif (sweep + 1) % self.thin == 0:
                trace.keep(state, problem)
            monitor.advance(f"{state.n_clusters} clusters")
        return trace


class Trace:
    """Draws of one chain, as they are made."""

    def __init__(self, n_draws: int, n_rows: int, keep_parameters: bool) -> None:
        self.done = 0
        self._keep_parameters = keep_parameters
        self._labels: Any = np.empty((n_draws, n_rows), dtype=np.int16)
        self._n_clusters = np.empty(n_draws, dtype=np.int64)
        self._log_joint, self._concentration = np.empty((2, n_draws))
        self._n_sticks = np.zeros(n_draws, dtype=np.int64)
        self._parameters: list[FloatArray] = []
        self._weights: list[FloatArray] = []
        self._log_factors: list[Mapping[str, float]] = []

    def keep(self, state: State, problem: Problem) -> None:
        """Add what the state shows now."""
        if state.n_clusters > np.iinfo(self._labels.dtype).max:
            self._labels = self._labels.astype(np.int32)
        self._labels[self.done] = state.partition()
        self._n_clusters[self.done] = state.n_clusters
        self._log_joint[self.done] = state.log_joint(problem)
        self._concentration[self.done] = state.concentration
        self._log_factors.append(problem.log_factors)
        if self._keep_parameters:
            self._parameters.append(state.chain.parameters[state.slots()])
        if state.weights is not None:
            self._weights.append(state.weights[state.slots()])
            self._n_sticks[self.done] = len(state.weights)
        self.done += 1

    def first(self, n_draws: int) -> dict[str, Any]:
        """The first ``n_draws`` draws."""
        columns = {
            "labels": self._labels,
            "n_clusters": self._n_clusters,
            "log_joint": self._log_joint,
            "concentration": self._concentration,
            "n_sticks": self._n_sticks,
        }
        lists = {"parameters": self._parameters, "weights": self._weights}
        drawn = self._log_factors[:n_draws]
        return {
            **{name: array[:n_draws] for name, array in columns.items()},
            **{name: np.concatenate(arrays[:n_draws]) if arrays else None for name, arrays in lists.items()},
            "log_factors": {name: np.array([each[name] for each in drawn]) for name in drawn[0]},
        }


def join_traces(traces: list[Trace], problem: Problem) -> Draws:
    """One chain after the other, all as long as the shortest."""
    n_draws = min(trace.done for trace in traces)
    parts = [trace.first(n_draws) for trace in traces]

    def stacked(name: str) -> Any:
        return np.stack([part[name] for part in parts])

    def joined(name: str) -> Any:
        return None if parts[0][name] is None else np.concatenate([part[name] for part in parts])

    concentration, n_sticks, parameters = stacked("concentration"), stacked("n_sticks"), joined("parameters")
    return Draws(
        labels=stacked("labels"),
        n_clusters=stacked("n_clusters"),
        log_joint=stacked("log_joint"),
        concentration=concentration,
        objective=np.empty(0),
        parameters=None if parameters is None else problem.describe(parameters),
        weights=joined("weights"),
        truncation=_truncation(problem, n_sticks, concentration) if n_sticks.any() else None,
        log_factors={name: np.stack([part["log_factors"][name] for part in parts]) for name in parts[0]["log_factors"]}
        or None,
    )


def _truncation(problem: Problem, n_sticks: IntArray, concentration: FloatArray) -> Truncation:
    """The two bounds of each draw; computed once for each pair of values."""
    pairs = np.stack([n_sticks.ravel(), concentration.ravel()])
    values, where = np.unique(pairs, axis=1, return_inverse=True)
    bounds = np.empty((2, values.shape[1]))
    for at, (count, value) in enumerate(values.T):
        prior = problem.prior.with_concentration(value)
        bounds[0, at] = prior.truncation_bound(problem.n_rows, int(count))
        bounds[1, at] = prior.truncation_formula(problem.n_rows, int(count))
    bound, formula = bounds[:, where.ravel()].reshape(2, *n_sticks.shape)
    return Truncation(n_sticks, bound, formula)
