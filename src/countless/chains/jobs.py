"""Independent jobs (chains, restarts) in threads, with progress, and an interrupt that keeps what is done.

Each job has its own random stream, so that results depend on the seed and not on the number of threads.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from ..core.random import spawn
from ..core.text import duration
from ..core.validate import whole_number
from .watch import Watch

Result = TypeVar("Result")

# Where nobody has said whether progress is shown: "terminal", a bar where standard error is one; "lines", elsewhere a
# line now and then; "quiet", nothing.
TERMINAL, LINES, QUIET = "terminal", "lines", "quiet"
_unless_said: ContextVar[str] = ContextVar("progress", default=TERMINAL)
# Seconds between two lines of progress, and after an interrupt until it is said what is waited for.
LINE_EVERY = 10.0
PATIENCE = 0.5
# The largest share of the work that passes alone can tell.
NEARLY = 0.95


@contextmanager
def showing(progress: str) -> Iterator[None]:
    """How progress is shown where nobody has said: ``TERMINAL``, ``LINES`` or ``QUIET``."""
    before = _unless_said.set(progress)
    try:
        yield
    finally:
        _unless_said.reset(before)


class Monitor:
    """Counts finished steps over all jobs, and tells jobs when to stop."""

    def __init__(self, total: int, stopping: threading.Event) -> None:
        self.total = total
        self.done = 0
        # Whether anybody sees the status: it may cost something to make.
        self.watched = False
        self.stopping = stopping
        self.status = ""
        # Passes or sweeps inside the steps, where their number is not known beforehand; how many there usually are.
        self.passes = self.usual_passes = 0
        self._lock = threading.Lock()

    def tick(self, status: str = "") -> bool:
        """One pass inside a step is about to begin; returns whether the job should rather come to its end."""
        with self._lock:
            self.passes += 1
            self.status = status or self.status
        return self.stopping.is_set()

    @property
    def share(self) -> float:
        """The share of the work that is done; before the first step has ended, by its passes where these are usual."""
        steps = self.done / max(self.total, 1)
        return max(steps, min(self.passes / self.usual_passes, NEARLY)) if self.usual_passes else steps

    @property
    def words(self) -> str:
        """The status, with the number of passes where these are counted."""
        return ", ".join(part for part in (self.status, f"{self.passes:,} passes" * bool(self.passes)) if part)

    def advance(self, status: str = "") -> None:
        with self._lock:
            self.done += 1
            self.status = status

    def skip(self, steps: int) -> None:
        """Leave out steps that were done in an earlier run: the remaining time does not count them."""
        with self._lock:
            self.total -= steps


def run_jobs(
    job: Callable[[int, np.random.Generator, Monitor], Result],
    n_jobs: int,
    total_steps: int,
    rng: np.random.Generator | list[np.random.Generator],
    watch: Watch,
    n_threads: int | None = None,
    title: str = "",
    usual_passes: int = 0,
) -> tuple[list[Result], bool]:
    """Run ``job(number, rng, monitor)`` for 0 ... n_jobs - 1; returns the results and whether it was interrupted.

    Each job has a stream of its own: those that are given, or children of ``rng``. Where steps are few and long,
    ``usual_passes`` says how many passes all of them take, about, and so how much is left.

    On KeyboardInterrupt the jobs are asked to stop, and what they return by then is kept.
    """
    monitor = Monitor(total_steps, watch.stop)
    monitor.usual_passes = usual_passes
    streams = rng if isinstance(rng, list) else spawn(rng, n_jobs)
    threads = whole_number("n_threads", n_threads, 1) if n_threads is not None else os.cpu_count() or 1
    title = f"{watch.purpose}: {title}" if watch.purpose else title
    with ThreadPoolExecutor(max_workers=min(threads, n_jobs)) as pool, _bar(watch.progress, title, monitor) as show:
        futures: list[Future[Result]] = []
        try:
            futures.extend(pool.submit(job, number, streams[number], monitor) for number in range(n_jobs))
            pending: set[Future[Result]] = set(futures)
            while pending:
                finished, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                show()
                for future in finished:
                    future.result()
        except BaseException as error:
            monitor.stopping.set()
            if not isinstance(error, KeyboardInterrupt):
                raise
            if wait(futures, timeout=PATIENCE).not_done and _unless_said.get() != QUIET:
                print("interrupted: stopping after the present step ...", file=sys.stderr, flush=True)
        return [future.result() for future in futures], monitor.stopping.is_set()


class _bar:
    """A Rich progress bar on a terminal; elsewhere a line now and then where that is wanted; else nothing."""

    def __init__(self, progress: bool | None, title: str, monitor: Monitor) -> None:
        manner = _unless_said.get()
        terminal = sys.stderr.isatty()
        wanted = manner == LINES or (manner == TERMINAL and terminal) if progress is None else progress
        self._title, self._monitor = title, monitor
        self._bar: Any = None
        self._began = self._said = time.monotonic()
        self._lines = wanted and not terminal and progress is None
        monitor.watched = wanted
        if wanted and not self._lines:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[steps]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[status]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(title, total=1.0, status="", steps=self._steps)

    def __enter__(self) -> Callable[[], None]:
        if self._bar is not None:
            self._bar.__enter__()
        return self._show

    def _show(self) -> None:
        monitor = self._monitor
        if self._bar is not None:
            self._bar.update(self._task, completed=monitor.share, status=monitor.words, steps=self._steps)
        elif self._lines and time.monotonic() - self._said >= LINE_EVERY:
            self._said = time.monotonic()
            print(self._line(self._said - self._began), file=sys.stderr, flush=True)

    @property
    def _steps(self) -> str:
        return f"{self._monitor.done}/{self._monitor.total}"

    def _line(self, elapsed: float) -> str:
        done, total, share = self._monitor.done, self._monitor.total, self._monitor.share
        left = f", about {duration(elapsed * (1.0 - share) / share)} left" if 0.0 < share < 1.0 else ""
        words = f"; {self._monitor.words}" if self._monitor.words else ""
        first = "" if done or words else "; compiling, or in the first step"
        return f"{self._title}: {done:,} of {total:,} after {duration(elapsed)}{left}{words}{first}"

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(*error)
