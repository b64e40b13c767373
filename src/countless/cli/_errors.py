"""Errors and warnings as one line on standard error, in the words of the command line."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import typer

from ..core.errors import ArgumentError, WrongRun
from ..core.text import count
from ._interrupts import NOTHING, Interrupted

DEFECT = 1
MISTAKE = 2

__all__ = ["Interrupted", "complain", "one_line_warnings", "say", "sentence", "stopped"]

# Arguments of ``fit`` whose option has a different name.
OPTIONS = {"checkpoint": "--out", "random_state": "--seed"}


def complain(error: Exception) -> int:
    """Say what is wrong in one line; returns the exit code."""
    if os.environ.get("COUNTLESS_DEBUG"):
        raise error
    if hasattr(error, "format_message"):
        say(f"error: {error.format_message()}")
        return MISTAKE
    if isinstance(error, (ValueError, OSError)):
        say(f"error: {sentence(error)}")
        return MISTAKE
    if isinstance(error, MemoryError):
        say("error: there is not enough memory for a table of this size")
        return MISTAKE
    say(f"error: a defect of countless ({type(error).__name__}: {error}); COUNTLESS_DEBUG=1 shows where")
    return DEFECT


def sentence(error: Exception) -> str:
    """What is wrong, with options where the library speaks of arguments."""
    if isinstance(error, WrongRun):
        return (
            f"--out: {error.path} holds a run with a different {error.differs}; choose another folder, or start again "
            "with --overwrite"
        )
    if not isinstance(error, ArgumentError) or error.argument.startswith("--"):
        return str(error)
    if error.argument == "X":
        return error.problem
    return f"{OPTIONS.get(error.argument, f'--{error.argument}')}: {error.problem}"


def say(line: str) -> None:
    """One line on standard error."""
    typer.echo(" ".join(line.split()), err=True)


def stopped(run: Path | None) -> str:
    """What an interrupt leaves on disk, and how to continue."""
    if run is None or not (run / "run.json").exists():
        return NOTHING
    if (run / "result.npz").exists():
        return f"interrupted; {run} holds the finished fit: countless resume {run} writes its files"
    from ..runs.folder import draws_on_disk

    kept = draws_on_disk(run)
    if not kept:
        return f"interrupted before anything was kept: countless resume {run} begins again"
    if not any(kept):
        return f"interrupted before the first draw was kept: continue with countless resume {run}"
    chains, draws = sum(n > 0 for n in kept), min(n for n in kept if n)
    made = f"{count(draws, 'draw')} of each of {count(chains, 'chain')}"
    return f"interrupted; {made} are kept in {run}: continue with countless resume {run}"


class one_line_warnings(warnings.catch_warnings):
    """Warnings are one line on standard error; an interrupt that the fit survived is an interrupt."""

    def __enter__(self) -> Any:
        from ..core.warnings import ConvergenceWarning, InterruptedFit

        log = super().__enter__()
        warnings.filterwarnings("default", category=UserWarning)
        warnings.filterwarnings("error", category=InterruptedFit)
        # What it says is the verdict, which is shown with the results.
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        warnings.showwarning = lambda message, *_: say(f"warning: {message}")
        return log
