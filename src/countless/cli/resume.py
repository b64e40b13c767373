"""``countless resume``: go on with a run that was stopped, or make it longer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._app import Interrupted, command, print_json, say

EXAMPLES = """
countless resume penguins-countless
countless resume penguins-countless --draws 2000
"""


@command(EXAMPLES)
def resume(
    run: options.RunFolder,
    draws: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=options.SAMPLING,
            metavar="N",
            min=1,
            help="Draws of each chain that the run is to have in all: a finished run is made longer.",
            show_default=False,
        ),
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", rich_help_panel=options.OUTPUT, help="Write no report.html.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Go on with a run that was stopped.

    The draws are those of a run that was never stopped, one for one. Then the same files are written as by
    [bold]countless fit[/]. The table is not needed: the run holds its rows.
    """
    from .. import io
    from ..report.findings import Findings
    from ._about import About
    from ._models import one_line_warnings, stopped
    from ._results import write_results
    from ._screen import show, wrote

    say(f"going on with {run} ...")
    start = time.perf_counter()
    with one_line_warnings():
        try:
            model = io.resume(run, draws=draws)
        except (KeyboardInterrupt, UserWarning):
            raise Interrupted(stopped(run)) from None
    seconds = time.perf_counter() - start
    about = About.read(run)
    found = Findings(model)
    paths, summary = write_results(found, run, about, report=not no_report, option="RUN")
    if as_json:
        print_json({**summary, "run": str(run), "files": [str(path) for path in paths], "seconds": round(seconds, 3)})
        return
    show(found, seconds, summary.get("compared"))
    wrote(paths, Path(run))
