"""``countless report``: the page of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...models.command import OUTPUT
from .._app import command
from .._errors import one_line_warnings

EXAMPLES = (
    "countless report penguins-countless --open",
    "countless report penguins-countless --out penguins.html",
)


@command(EXAMPLES)
def report(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a run, or a file that [bold]model.save[/] wrote.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help="HTML file to write; left out, report.html in the run.",
            show_default=False,
        ),
    ] = None,
    open_it: Annotated[
        bool, typer.Option("--open", rich_help_panel=OUTPUT, help="Open the page in the browser.")
    ] = False,
) -> None:
    """Write the HTML report of a run.

    One page that holds all it shows, opens without a network and can be sent to anybody. A run that was stopped gives
    the report of what was drawn so far.
    """
    from ...io import check_folder, load
    from ...report import write
    from .._results import about_run

    target = out or (run / "report.html" if run.is_dir() else run.with_suffix(".html"))
    check_folder(target.parent, "--out")
    if target.is_dir():
        raise ValueError(f"--out: {target} is a folder; give the name of a file")
    with one_line_warnings():
        model = load(run)
    about = about_run(run)
    path = write(model, target, title=about.file or run.name, command=about.command)
    typer.echo(f"Wrote {path}")
    if open_it:
        typer.launch(path.resolve().as_uri())
