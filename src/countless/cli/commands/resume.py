"""``countless resume``: continue a run that was stopped, or make it longer."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ...models.command import SAMPLING
from .. import _options as options
from .._app import command, print_json
from .._errors import Interrupted, one_line_warnings, say, stopped
from .._interrupts import leaving

EXAMPLES = (
    "countless resume penguins-countless",
    "countless resume penguins-countless --draws 2000",
)


@command(EXAMPLES)
def resume(
    run: options.Run,
    draws: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=SAMPLING,
            metavar="N",
            min=1,
            help="Draws that each chain is to have in the end: a finished run is made longer.",
            show_default=False,
        ),
    ] = None,
    no_report: options.NoReport = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Continue a run that was stopped.

    The draws are those of a run that was never stopped, one for one. Then the same files are written as by the command
    that began it. The table is not needed: the run holds its data.
    """
    from ... import io
    from ...chains.jobs import LINES, QUIET, showing
    from ...core.warnings import InterruptedFit
    from .._results import about_run, deliver

    if not quiet:
        say(f"continuing {run} ...")
    start = time.perf_counter()
    with leaving(lambda: stopped(run)):
        with one_line_warnings(), showing(QUIET if quiet else LINES):
            try:
                model = io.resume(run, draws=draws)
            except InterruptedFit:
                raise Interrupted(stopped(run)) from None
        seconds = time.perf_counter() - start
        shown = deliver(model, run, about_run(run), report=not no_report, option="RUN")
    if as_json:
        print_json({**shown.summary, "run": str(run), "files": shown.names, "seconds": round(seconds, 3)})
        return
    if not quiet:
        shown.show(seconds)
