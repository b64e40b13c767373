"""Kernels compiled ahead of the first fit: for containers, courses, and machines that are not there for long.

A model class names small fits in its command (``rehearsals``). Each runs in a process of its own, as many at a time as
there are cores, because one process compiles one kernel after the other. What they compile is kept on disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed

from ..core.jit import cache_directory
from ..core.validate import choose, whole_number
from ..models.command import Command

_WORKER = "import sys; from countless.io.rehearsals import rehearse; rehearse(*sys.argv[1:])"


def warmup(
    *commands: str, jobs: int | None = None, progress: Callable[[str, float], None] | None = None
) -> dict[str, float]:
    """Compile the kernels that usual fits need, once for all later processes; what is compiled already costs seconds.

    Parameters
    ----------
    *commands : str
        Commands whose fits are meant, as on the command line; default ``"fit"``, which is ``DPMixture``.
    jobs : int, optional
        Processes at a time; default, one for each core.
    progress : callable, optional
        ``progress(what, seconds)`` is called after each of the small fits.

    Returns
    -------
    dict
        Seconds that each of the small fits took.

    Examples
    --------
    >>> import countless as cl
    >>> cl.warmup("fitt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    countless.core.errors.UnknownName: commands: 'fitt' is not known; choose one of ...
    """
    known = _commands()
    chosen = [choose("commands", name, known) for name in commands or ("fit",)]
    if cache_directory() is None:
        raise ValueError(
            "no folder for compiled kernels can be written; set COUNTLESS_CACHE_DIR to one that can, for this and for "
            "later processes"
        )
    fits = [(command.name, what) for command in chosen for what in command.rehearsals()]
    seconds: dict[str, float] = {}
    n_jobs = os.cpu_count() or 1 if jobs is None else whole_number("jobs", jobs, 1)
    with ThreadPoolExecutor(max_workers=n_jobs) as pool:
        running = {pool.submit(_in_a_process, *fit): " ".join(fit) for fit in fits}
        for finished in as_completed(running):
            name = running[finished].replace(" ", ": ", 1)
            seconds[name] = finished.result()
            if progress is not None:
                progress(name, seconds[name])
    return seconds


def rehearse(command: str, what: str) -> None:
    """Make one small fit in this process."""
    from ..models.command import About

    said = _commands()[command]
    request = said.rehearsals()[what]
    model, table = said.build(request)
    model.fit(table)
    said.results(model, About())


def _commands() -> dict[str, Command]:
    """Commands that have rehearsals, by name."""
    from .. import estimators as _estimators  # noqa: F401  they register themselves
    from ..runs import ESTIMATORS

    commands = [getattr(cls, "command", None) for cls in ESTIMATORS.everything().values()]
    return {command.name: command for command in commands if command is not None and command.rehearsals()}


def _in_a_process(command: str, what: str) -> float:
    """Seconds that a small fit takes in a new process."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _WORKER, command, what], capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise RuntimeError(f"the fit of {what} for {command!r} failed: {last}")
    return time.perf_counter() - begin
