"""What engines that run chains share: the loop over sweeps, the chains side by side, the draws that are kept.

An engine is its settings and the moves of one sweep (``schedule``); everything else is here.
"""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..core.random import spawn
from ..core.validate import positive_number, whole_number
from .checkpoint import from_snapshot, take_snapshot
from .contract import Problem
from .draws import Draws
from .engine import Inference
from .jobs import Monitor, run_jobs
from .rounds import Rounds, judged, rounds_for
from .schedule import Schedule
from .trace import Segment, Trace, join_traces
from .watch import Watch

# The setting of draws and of the warm-up that leaves their number to the draws.
AUTO = "auto"
# Seconds between two looks at the log joint during the warm-up, for those who watch.
LOOK_EVERY = 0.5


class Sampler(Inference):
    """Base of the samplers; subclasses are frozen dataclasses that have at least these fields.

    ``draws="auto"`` runs rounds until the draws suffice (``chains.rounds``). ``warmup="auto"`` is ``usual_warmup``
    sweeps, and with ``draws="auto"`` the first half of all draws too, where chains have not met before.
    ``max_seconds`` ends chains whatever they have reached; nothing else that changes draws looks at the clock.
    """

    chains: int
    draws: int | str
    warmup: int | str
    thin: int
    start: Any
    n_threads: int | None
    max_seconds: float | None = None
    title: ClassVar[str] = "sampling"
    usual_warmup: ClassVar[int] = 100

    def __post_init__(self) -> None:
        for name, minimum in (("chains", 1), ("draws", 1), ("warmup", 0), ("thin", 1)):
            value = getattr(self, name)
            if name not in ("draws", "warmup") or not isinstance(value, str):
                whole_number(name, value, minimum)
            elif value != AUTO:
                raise ValueError(f"{name} must be a whole number of at least {minimum}, or 'auto', got {value!r}")
        if self.max_seconds is not None:
            positive_number("max_seconds", self.max_seconds)

    @abstractmethod
    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""

    def leave_out(self) -> tuple[str, ...]:
        """Groups of fields that are drawn and not kept."""
        return ()

    @property
    def n_warmup(self) -> int:
        """Sweeps before the first draw."""
        return self.usual_warmup if isinstance(self.warmup, str) else self.warmup

    @property
    def n_draws(self) -> int:
        """Draws of each chain; 0 where the draws decide."""
        return 0 if isinstance(self.draws, str) else self.draws

    def sweep_cost(self, problem: Problem) -> float:
        """Numbers that one sweep of one chain touches, about; a budget of work counts them."""
        return float(sum(problem.axes.values()))

    def pilot(self, start: Any = None) -> Self:
        """At most 20 draws of each chain, after 30 sweeps, or 5 where it is said where to begin."""
        begin, warmup = (self.start, 30) if start is None else (start, 5)
        changes = {"max_seconds": None} if "max_seconds" in self._settings() else {}
        draws = min(self.n_draws or 20, 20)
        return self._with(draws=draws, warmup=min(self.n_warmup, warmup), thin=1, start=begin, **changes)

    def settling(self) -> tuple[Schedule, int]:
        """Moves, and how many rounds of them, that improve where a chain starts, before its warm-up; none by default.

        Any means will do: no draw is kept until the warm-up is over.
        """
        return Schedule([]), 0

    def rounds(self, problem: Problem) -> Rounds | None:
        """The rounds of chains that decide when they are done; None where the number of draws is given."""
        if self.n_draws:
            return None
        first = self.settling()[1] + self.n_warmup
        return rounds_for(first, self.thin, self.chains * self.sweep_cost(problem), sum(problem.axes.values()))

    def trace(self, problem: Problem, segments: list[Segment] | None) -> Trace:
        """A trace of one chain with all the draws that it has kept so far."""
        trace = Trace(problem.fields, segments, self.leave_out())
        rounds = self.rounds(problem)
        if rounds is None or not segments:
            return trace
        return Trace(problem.fields, segments, self.leave_out(), rounds.times(trace.done).tolist())

    def joined(self, traces: list[Trace], problem: Problem, n_draws: int = 0) -> Draws:
        """The draws of the chains that have any, as far as all of them have come.

        ``n_draws`` are the draws that each is to have at least; ``interrupted`` says whether any are missing.
        """
        rounds = self.rounds(problem)
        if rounds is None:
            draws = join_traces(traces, problem.fields, problem.axes)
            return draws.replaced(interrupted=draws.shape != (self.chains, max(self.n_draws, n_draws)))
        ends = {int(trace.times[-1]) for trace in traces}
        made = rounds.align(traces)
        found, late = judged(traces, problem.fields, self.warmup == AUTO)
        if late:
            for trace in traces:
                trace.select(np.arange(trace.held) >= trace.held // 2)
        number = rounds.number_of(made)
        over = ends == {rounds.end(number)} and len(traces) == self.chains and rounds.is_over(number, found, n_draws)
        spent = "work" if over and not found.suffices else ""
        draws = join_traces(traces, problem.fields, problem.axes)
        return replace(draws, interrupted=not over, made=made, spent=spent)

    def run(self, problem: Problem, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Run all chains."""
        return self._run(problem, rng, watch or Watch(), self.schedule)

    def _run(
        self, problem: Problem, rng: np.random.Generator, watch: Watch, make_schedule: Callable[[], Schedule]
    ) -> Draws:
        team = _Team(self, problem, rng, watch, make_schedule)
        rounds = self.rounds(problem)
        if rounds is None:
            team.reach(max(self.n_draws, watch.n_draws), self.title)
        else:
            team.decide(rounds, watch.n_draws)
        kept = [trace for trace in team.traces if trace.done]
        if not kept:
            raise KeyboardInterrupt("stopped before the first draw was kept")
        draws = replace(self.joined(kept, problem, watch.n_draws), pace=team.pace())
        if draws.interrupted and not team.interrupted:
            return replace(draws, spent="time")
        return draws.replaced(interrupted=draws.interrupted or team.interrupted)


@dataclass(frozen=True)
class MoveSampler(Sampler):
    """A sampler with the usual settings; a subclass says its moves.

    Parameters
    ----------
    chains, draws, warmup, thin : int
        Chains, draws kept in each, sweeps before the first of them, and sweeps per draw. ``"auto"`` draws are as many
        as it takes, ``"auto"`` warm-up as long as it takes (see ``CollapsedGibbs``).
    start
        Where chains begin, as the problem understands it.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.
    max_seconds : float, optional
        Chains end after this time and keep what is there.
    """

    chains: int = 4
    draws: int | str = AUTO
    warmup: int | str = AUTO
    thin: int = 1
    start: Any = None
    n_threads: int | None = None
    max_seconds: float | None = None


class _Team:
    """The chains of a run, side by side."""

    def __init__(
        self,
        settings: Sampler,
        problem: Problem,
        rng: np.random.Generator,
        watch: Watch,
        make_schedule: Callable[[], Schedule],
    ) -> None:
        self._settings, self._problem, self._watch, self._make_schedule = settings, problem, watch, make_schedule
        self._streams = spawn(rng, settings.chains)
        self._chains: list[_Chain | None] = [None] * settings.chains
        limit = settings.max_seconds
        self._deadline = np.inf if limit is None else time.monotonic() + limit
        self.interrupted = False

    @property
    def traces(self) -> list[Trace]:
        """Those of the chains that have begun."""
        return [chain.trace for chain in self._chains if chain is not None]

    def pace(self) -> float:
        """Seconds that one more draw of every chain takes; 0 where none was timed."""
        timed = [chain.pace for chain in self._chains if chain is not None and chain.pace > 0.0]
        threads = self._settings.n_threads or os.cpu_count() or 1
        return max(timed, default=0.0) * -(-self._settings.chains // threads)

    def reach(self, n_draws: int, title: str) -> bool:
        """Let all chains have so many draws; returns whether they do."""
        settings = self._settings

        def one_chain(number: int, stream: np.random.Generator, monitor: Monitor) -> bool:
            chain = self._chains[number]
            if chain is None:
                schedule = self._make_schedule()
                chain = _Chain(settings, self._problem, number, stream, self._watch, schedule)
                self._chains[number] = chain
            return chain.run(n_draws, monitor, self._deadline)

        sweeps = settings.chains * (settings.settling()[1] + settings.n_warmup + n_draws * settings.thin)
        reached, stopped = run_jobs(
            one_chain, settings.chains, sweeps, self._streams, self._watch, settings.n_threads, title
        )
        self.interrupted |= stopped
        return all(reached) and not stopped

    def decide(self, rounds: Rounds, n_draws: int) -> None:
        """Round after round, until the draws suffice.

        Chains that are continued have decided before that they need the round in which the first of them stands.
        """
        settings, fields = self._settings, self._problem.fields
        title = f"{settings.title}, warm-up"
        if not self.reach(0, title):
            return
        number = max(rounds.number_of(chain.time) for chain in self._chains if chain is not None)
        said = ""
        while True:
            rounds.thin(self.traces, number)
            if not self.reach(rounds.end(number), f"{settings.title}, round {number + 1}{said}"):
                return
            try:
                found, _ = judged(self.traces, fields, settings.warmup == AUTO)
            except KeyboardInterrupt:
                self.interrupted = True
                return
            if rounds.is_over(number, found, n_draws):
                return
            said = f" ({found} so far)"
            number += 1


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
        self._begun = -settings.n_warmup - n_settling
        saved = None if self._recorder is None else self._recorder.load(number)
        if saved is None:
            self._sweep, self._rng, segments = self._begun, rng, None
            self._state = problem.start(settings.start, number, rng)
        else:
            snapshot, segments = saved
            self._sweep, self._rng, self._state = from_snapshot(snapshot, problem, self._schedules)
        self._rounds = settings.rounds(problem)
        self.trace = settings.trace(problem, segments)
        if self.trace.done != (self.time if self._rounds is None else self._rounds.kept_until(self.time)):
            raise ValueError(f"the state of chain {number} does not agree with the draws that it counts")
        self._saved_at = time.monotonic()
        self._looked_at = -np.inf
        self._log_joint = np.nan
        # Seconds per draw since the first one: what is compiled for the first is not counted.
        self.pace = 0.0

    @property
    def time(self) -> int:
        """Draws made so far, whether or not they are kept."""
        return max(0, self._sweep) // self._settings.thin

    def run(self, n_draws: int, monitor: Monitor, deadline: float) -> bool:
        """Sweeps until there are so many draws; returns whether there are.

        What was done is recorded now and then, and at the end. Whatever the time, there is one sweep, and one draw.
        """
        monitor.skip(self._sweep - self._begun)
        first = self._sweep
        timed_from, timed = np.inf, self.time
        while self._sweep < n_draws * self._settings.thin and not monitor.stopping.is_set():
            self._advance()
            monitor.advance(self._status() if monitor.watched else "")
            if self.time > timed and timed_from == np.inf:
                timed_from, timed = time.monotonic(), self.time
            if self._recorder is not None and time.monotonic() - self._saved_at >= self._recorder.interval:
                self._record()
            if self.trace.done and time.monotonic() > deadline:
                break
        if self.time > timed and timed_from < np.inf:
            self.pace = (time.monotonic() - timed_from) / (self.time - timed)
        if self._sweep > first:
            self._record()
        return self._sweep >= n_draws * self._settings.thin

    def _advance(self) -> None:
        """One sweep."""
        settings = self._settings
        schedule = self._schedules[self._sweep >= -settings.n_warmup]
        schedule.step(self._rng, self._state)
        self._sweep += 1
        if self._sweep <= 0:
            schedule.adapt(self._state)
        elif self._sweep % settings.thin == 0 and (self._rounds is None or self._rounds.keeps(self.time)):
            draw = self._state.draw()
            self.trace.keep(draw, self.time)
            self._log_joint, self._looked_at = float(draw["log_joint"]), time.monotonic()

    def _status(self) -> str:
        if time.monotonic() - self._looked_at > LOOK_EVERY:
            self._log_joint, self._looked_at = self._state.log_joint(), time.monotonic()
        return f"{self._state.status()}, log joint {self._log_joint:,.1f}"

    def _record(self) -> None:
        if self._recorder is not None:
            snapshot = take_snapshot(self._sweep, self._rng, self._state, self._schedules)
            self._recorder.save(self._number, snapshot, self.trace)
        self._saved_at = time.monotonic()
