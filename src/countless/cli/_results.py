"""What is written and shown at the end of a fit: the files of the model, a summary, a page; all of them or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import typer

from ..models.command import About, Grid
from ._about import NAME as ABOUT
from ._about import text_of
from ._app import finite
from ._commands import command_of


class Delivered(NamedTuple):
    """A fit whose files are written."""

    model: Any
    run: Path
    summary: dict[str, Any]
    screen: list[Grid | str]
    paths: list[Path]

    @property
    def names(self) -> list[str]:
        """Files for people."""
        return [str(path) for path in self.paths]

    def show(self, seconds: float) -> None:
        """Everything for the screen, which files there are, and what to do next."""
        show(self.screen)
        typer.echo(f"{type(self.model.inference_).__name__}, {seconds:.1f} seconds.")
        wrote(self.paths)
        if command_of(self.model).predict is not None:
            typer.echo(f"New rows:  countless predict {self.run} NEW.csv")


def deliver(model: Any, run: Path, about: About, report: bool = True, option: str = "--out") -> Delivered:
    """Write the files of a finished fit into its folder."""
    from ..io import write_together
    from ..report import render

    results = command_of(model).results(model, about)
    files: dict[str, str | bytes] = {
        **results.files,
        "summary.json": json.dumps(finite(results.summary), indent=2) + "\n",
        ABOUT: text_of(about),
    }
    if report:
        files["report.html"] = render(model, title=about.file or run.name, command=about.command)
    paths = [path for path in write_together(run, files, option) if path.name != ABOUT]
    return Delivered(model, run, results.summary, results.screen, paths)


def show(screen: list[Grid | str]) -> None:
    """Grids and sentences, one after the other."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    for part in screen:
        if isinstance(part, str):
            typer.echo(part)
            continue
        table = Table(*part.header, title=part.title, title_justify="left")
        for column in part.right:
            table.columns[column].justify = "right"
        for row in part.rows:
            table.add_row(*row)
        console.print(table)


def wrote(paths: list[Path]) -> None:
    """Which files there are now, and which of them to open."""
    typer.echo(f"Wrote {', '.join(str(path) for path in paths)}")
    for page in paths:
        if page.suffix == ".html":
            typer.echo(f"Open {page} in a browser to look around.")
