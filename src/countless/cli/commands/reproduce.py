"""``countless reproduce``: a study of a source paper, run again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ...models.command import OUTPUT
from .._app import command
from .._errors import Interrupted, one_line_warnings, say
from .._interrupts import leaving

EXAMPLES = (
    "countless reproduce --list",
    "countless reproduce hmm --quick",
    "countless reproduce biclusters --out biclusters --jobs 4",
)


@command(EXAMPLES)
def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Study; --list names them all.")] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List the studies and leave.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller cases, for a first look.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="FOLDER",
            help="Folder; left out, named as the study.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of data sets, for studies of real data.", show_default=False),
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes that the cases are divided over.")
    ] = os.cpu_count() or 1,
) -> None:
    """Run a study of a source paper again, and show ours beside theirs.

    Writes table.csv, figure.png and index.md. Cases that are done are kept: the same command goes on where a study was
    stopped.
    """
    from ...core.validate import choose
    from ...experiments import STUDIES
    from ...experiments.study import reproduce as run
    from ...io import check_folder
    from .._results import wrote

    known = STUDIES.everything()
    if list_them or name is None:
        for each, study in sorted(known.items()):
            typer.echo(f"{each}: {study.title}")
        return
    study = choose("NAME", name, known)(data)
    folder = out or Path(f"{name}{'-quick' if quick else ''}")
    check_folder(folder, "--out")

    def progress(done: int, total: int) -> None:
        say(f"{study.title}: {done} of {total} cases")

    left = f"interrupted; the cases that are done are in {folder}: the same command goes on"
    try:
        with one_line_warnings(), leaving(lambda: left):
            paths = run(study, folder, quick, jobs, progress)
    except KeyboardInterrupt:
        raise Interrupted(left) from None
    wrote(paths)
