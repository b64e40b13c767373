"""Independent jobs (chains, restarts) in threads, with progress, and an interrupt that keeps what is done.

Each job has its own random stream, so that results depend on the seed and not on the number of threads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.random import spawn
from ..core.validate import whole_number

Result = TypeVar("Result")


class Components(NamedTuple):
    """A mixture in closed form: posterior statistics of each component (K, S) in local units, and log weights.

    ``log_weights`` has one entry more than there are components: the weight of anything not seen yet.
    """

    statistics: NDArray[np.float64]
    log_weights: NDArray[np.float64]


class Truncation(NamedTuple):
    """Truncated sticks of each kept draw (chain, draw).

    ``n_sticks`` is their number T; ``bound`` is 4 n E[what T - 1 sticks leave], which the variation distance between
    the laws of n rows under the truncated and the whole prior does not exceed (Ishwaran and James 2001, theorem 2,
    by Bernoulli's inequality); ``formula`` is its approximation 4 n exp(-(T - 1) / concentration), close to the bound
    for large concentrations of a Dirichlet process only, and the bound itself for other priors.
    """

    n_sticks: NDArray[np.int64]
    bound: NDArray[np.float64]
    formula: NDArray[np.float64]


class Draws(NamedTuple):
    """What an engine hands back: one entry per chain and kept draw.

    ``labels`` has shape (chain, draw, row); the others (chain, draw). ``objective`` is what an optimiser raised,
    at each of its steps, empty for samplers. An engine that approximates the posterior by one mixture gives its
    ``components``, and the labels that are most probable under it as ``mode``. Where hyperparameters of the
    family were learned, ``log_factors`` has their log factors by name, each of shape (chain, draw).

    A sampler that keeps parameters gives them by name in the user's units: ``parameters[name]`` lists those of all
    clusters of the first draw, in the order of its labels, then those of the next draw, and so on through all
    chains; so do ``weights``. ``truncation`` says with how many sticks each draw was made. Where missing cells were
    drawn, ``fills`` (chain, draw, cell) has them in the user's units, in the order of ``Problem.missing``.
    """

    labels: NDArray[Any]
    n_clusters: NDArray[np.int64]
    log_joint: NDArray[np.float64]
    concentration: NDArray[np.float64]
    objective: NDArray[np.float64]
    interrupted: bool = False
    mode: NDArray[np.int64] | None = None
    components: Components | None = None
    parameters: dict[str, NDArray[np.float64]] | None = None
    weights: NDArray[np.float64] | None = None
    truncation: Truncation | None = None
    log_factors: Mapping[str, NDArray[np.float64]] | None = None
    fills: NDArray[np.float32] | None = None


class Monitor:
    """Counts finished steps over all jobs, and tells jobs when to stop."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        # Whether anybody sees the status: it may cost something to make.
        self.watched = False
        self.stopping = threading.Event()
        self.status = ""
        self._lock = threading.Lock()

    def advance(self, status: str = "") -> None:
        with self._lock:
            self.done += 1
            self.status = status

    def skip(self, steps: int) -> None:
        """Steps that were done in an earlier run: the time that is left does not count them."""
        with self._lock:
            self.total -= steps


def run_jobs(
    job: Callable[[int, np.random.Generator, Monitor], Result],
    n_jobs: int,
    total_steps: int,
    rng: np.random.Generator,
    n_threads: int | None = None,
    progress: bool | None = None,
    title: str = "",
) -> tuple[list[Result], bool]:
    """Run ``job(number, rng, monitor)`` for 0 ... n_jobs - 1; returns the results and whether it was interrupted.

    On KeyboardInterrupt the jobs are asked to stop, and what they return by then is kept.
    """
    monitor = Monitor(total_steps)
    streams = spawn(rng, n_jobs)
    threads = whole_number("n_threads", n_threads, 1) if n_threads is not None else os.cpu_count() or 1
    with ThreadPoolExecutor(max_workers=min(threads, n_jobs)) as pool, _bar(progress, title, monitor) as show:
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
