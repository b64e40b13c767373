"""Independent jobs (chains, restarts) in threads, with progress, and an interrupt that keeps what is done.

Each job has its own random stream, so that results depend on the seed and not on the number of threads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np

from ..core.random import spawn
from ..core.validate import whole_number
from .watch import Watch

Result = TypeVar("Result")


class Monitor:
    """Counts finished steps over all jobs, and tells jobs when to stop."""

    def __init__(self, total: int, stopping: threading.Event) -> None:
        self.total = total
        self.done = 0
        # Whether anybody sees the status: it may cost something to make.
        self.watched = False
        self.stopping = stopping
        self.status = ""
        self._lock = threading.Lock()

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
) -> tuple[list[Result], bool]:
    """Run ``job(number, rng, monitor)`` for 0 ... n_jobs - 1; returns the results and whether it was interrupted.

    Each job has a stream of its own: those that are given, or children of ``rng``.

    On KeyboardInterrupt the jobs are asked to stop, and what they return by then is kept.
    """
    monitor = Monitor(total_steps, watch.stop)
    streams = rng if isinstance(rng, list) else spawn(rng, n_jobs)
    threads = whole_number("n_threads", n_threads, 1) if n_threads is not None else os.cpu_count() or 1
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
        return [future.result() for future in futures], monitor.stopping.is_set()


class _bar:
    """A Rich progress bar on a terminal; nothing elsewhere."""

    def __init__(self, progress: bool | None, title: str, monitor: Monitor) -> None:
        wanted = sys.stderr.isatty() if progress is None else progress
        self._monitor = monitor
        self._bar: Any = nullcontext()
        monitor.watched = wanted
        if wanted:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[status]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(title, total=monitor.total, status="")

    def __enter__(self) -> Callable[[], None]:
        self._bar.__enter__()
        return self._show

    def _show(self) -> None:
        if not isinstance(self._bar, nullcontext):
            monitor = self._monitor
            self._bar.update(self._task, completed=monitor.done, total=monitor.total, status=monitor.status)

    def __exit__(self, *error: object) -> None:
        self._bar.__exit__(*error)
