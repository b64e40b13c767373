"""What engines that run chains share: the loop over sweeps, the chains side by side, the draws that are kept.

An engine is its settings and the moves of one sweep (``schedule``); everything else is here.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..core.validate import whole_number
from .checkpoint import from_snapshot, take_snapshot
from .contract import Problem
from .draws import Draws
from .engine import Inference
from .jobs import Monitor, run_jobs
from .schedule import Schedule
from .trace import Trace, join_traces
from .watch import Watch

# Seconds between two looks at the log joint during the warm-up, for those who watch.
LOOK_EVERY = 0.5


class Sampler(Inference):
    """Base of the samplers; subclasses are frozen dataclasses that have at least these fields."""

    chains: int
    draws: int
    warmup: int
    thin: int
    start: Any
    n_threads: int | None
    title: ClassVar[str] = "sampling"

    def __post_init__(self) -> None:
        for name, minimum in (("chains", 1), ("draws", 1), ("warmup", 0), ("thin", 1)):
            whole_number(name, getattr(self, name), minimum)

    @abstractmethod
    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""

    def leave_out(self) -> tuple[str, ...]:
        """Groups of fields that are drawn and not kept."""
        return ()

    def pilot(self, start: Any = None) -> Self:
        """At most 20 draws of each chain, after 30 sweeps, or 5 where it is said where to begin."""
        begin, warmup = (self.start, 30) if start is None else (start, 5)
        return self._with(draws=min(self.draws, 20), warmup=min(self.warmup, warmup), thin=1, start=begin)

    def settling(self) -> tuple[Schedule, int]:
        """Moves, and how many rounds of them, that improve where a chain starts, before its warm-up; none by default.

        Any means will do: no draw is kept until the warm-up is over.
        """
        return Schedule([]), 0

    def run(self, problem: Problem, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Run all chains."""
        return self._run(problem, rng, watch or Watch(), self.schedule)

    def _run(
        self, problem: Problem, rng: np.random.Generator, watch: Watch, make_schedule: Callable[[], Schedule]
    ) -> Draws:
        def one_chain(number: int, stream: np.random.Generator, monitor: Monitor) -> Trace:
            return _Chain(self, problem, number, stream, watch, make_schedule()).run(n_draws, monitor)

        n_draws = max(self.draws, watch.n_draws)
        sweeps = self.chains * (self.settling()[1] + self.warmup + n_draws * self.thin)
        traces, interrupted = run_jobs(one_chain, self.chains, sweeps, rng, watch, self.n_threads, self.title)
        kept = [trace for trace in traces if trace.done]
        if not kept:
            raise KeyboardInterrupt("stopped before the first draw was kept")
        return join_traces(kept, problem.fields, problem.axes).replaced(interrupted=interrupted)


@dataclass(frozen=True)
class MoveSampler(Sampler):
    """A sampler with the usual settings; a subclass says its moves.

    Parameters
    ----------
    chains, draws, warmup, thin : int
        Chains, draws kept in each, sweeps before the first of them, and sweeps per draw.
    start
        Where chains begin, as the problem understands it.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.
    """

    chains: int = 4
    draws: int = 250
    warmup: int = 100
    thin: int = 1
    start: Any = None
    n_threads: int | None = None


class _Chain:
    """One chain: begun, or continued where a recorder has it, then run to its end or until it is told to stop."""

    def __init__(
        self,
        settings: Sampler,
        problem: Problem,
        number: int,
        rng: np.random.Generator,
        watch: Watch,
        schedule: Schedule,
    ) -> None:
        self._settings, self._number, self._recorder = settings, number, watch.recorder
        settling, n_settling = settings.settling()
        self._schedules = (settling, schedule)
        self._begun = -settings.warmup - n_settling
        saved = None if self._recorder is None else self._recorder.load(number)
        if saved is None:
            self._sweep, self._rng, segments = self._begun, rng, None
            self._state = problem.start(settings.start, number, rng)
        else:
            snapshot, segments = saved
            self._sweep, self._rng, self._state = from_snapshot(snapshot, problem, self._schedules)
        self._first = self._sweep
        self._trace = Trace(problem.fields, segments, settings.leave_out())
        if self._trace.done != max(0, self._sweep) // settings.thin:
            raise ValueError(f"the state of chain {number} does not agree with the draws that it counts")
        self._saved_at = time.monotonic()
        self._looked_at = -np.inf
        self._log_joint = np.nan

    def run(self, n_draws: int, monitor: Monitor) -> Trace:
        """All sweeps that are left; what was done is recorded now and then, and at the end."""
        monitor.skip(self._sweep - self._begun)
        while self._sweep < n_draws * self._settings.thin and not monitor.stopping.is_set():
            self._advance()
            monitor.advance(self._status() if monitor.watched else "")
            if self._recorder is not None and time.monotonic() - self._saved_at >= self._recorder.interval:
                self._record()
        if self._sweep > self._first:
            self._record()
        return self._trace

    def _advance(self) -> None:
        """One sweep."""
        settings = self._settings
        schedule = self._schedules[self._sweep >= -settings.warmup]
        schedule.step(self._rng, self._state)
        if self._sweep < 0:
            schedule.adapt(self._state)
        elif (self._sweep + 1) % settings.thin == 0:
            draw = self._state.draw()
            self._trace.keep(draw)
            self._log_joint, self._looked_at = float(draw["log_joint"]), time.monotonic()
        self._sweep += 1

    def _status(self) -> str:
        if time.monotonic() - self._looked_at > LOOK_EVERY:
            self._log_joint, self._looked_at = self._state.log_joint(), time.monotonic()
        return f"{self._state.status()}, log joint {self._log_joint:,.1f}"

    def _record(self) -> None:
        if self._recorder is not None:
            snapshot = take_snapshot(self._sweep, self._rng, self._state, self._schedules)
            self._recorder.save(self._number, snapshot, self._trace)
        self._saved_at = time.monotonic()
