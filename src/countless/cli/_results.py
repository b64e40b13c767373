"""What is written and shown at the end of a fit: the files of the model, a summary, a page; all of them or none.

``about.json`` holds what a run does not hold itself; it is kept beside it from its beginning, so that a run that was
stopped can be compared and shown like any other. Where it is missing or unreadable, only this is lost.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import typer

from ..core.text import duration
from ..models.command import About, Grid
from ._app import finite
from ._commands import command_of
from ._errors import Interrupted, stopped
from ._interrupts import leaving


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
        typer.echo(f"{type(self.model.inference_).__name__}, {seconds:.1f} seconds{self._further()}.")
        wrote(self.paths)
        if command_of(self.model).predict is not None:
            typer.echo(f"New rows:  countless predict {self.run} NEW.csv")

    def _further(self) -> str:
        """How long the draws that are suggested would take."""
        posterior = self.model.posterior_
        wanted, draws = posterior.diagnostics().suggested.get("draws", 0), posterior.draws
        left = wanted - max(int(draws.made), draws.shape[1])
        if left <= 0 or draws.pace <= 0.0:
            return ""
        return f"; to go on to {wanted:,} draws of each chain takes about {duration(left * draws.pace)}"


def deliver(model: Any, run: Path, about: About, report: bool = True, option: str = "--out") -> Delivered:
    """Write the files of a finished fit into its folder."""
    try:
        return _written(model, run, about, report, option)
    except KeyboardInterrupt:
        raise Interrupted(stopped(run)) from None


def _written(model: Any, run: Path, about: About, report: bool, option: str) -> Delivered:
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


# --- about.json ------------------------------------------------------------------------------------------------

ABOUT = "about.json"


def about_table(file: Path, command: str, label: Any = None) -> About:
    """Of a fit that is about to begin; ``label`` is the column of known classes."""
    if label is None:
        return About(file.name, command)
    known = label.notna()
    classes = [str(value) if there else None for value, there in zip(label, known, strict=True)]
    return About(file.name, command, str(label.name), classes)


def about_run(run: Path) -> About:
    """Of a run that is there."""
    try:
        about = About(**json.loads((run / ABOUT).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return About()
    texts = (about.file, about.command, about.label)
    fine = all(value is None or isinstance(value, str) for value in texts)
    classes = [] if about.classes is None else about.classes
    fine = fine and isinstance(classes, list) and all(each is None or isinstance(each, str) for each in classes)
    return about if fine else About()


def text_of(about: About) -> str:
    """As it is written."""
    return json.dumps(asdict(about)) + "\n"


@contextlib.contextmanager
def beside(run: Path, about: About) -> Iterator[None]:
    """Written before a run begins, and removed again where the run did not begin."""
    from ..io import write_together

    began = (run / "run.json").exists()
    made = [place for place in (run, *run.parents) if not place.exists()]
    if not began:
        write_together(run, {ABOUT: text_of(about)}, "--out")

    def clear() -> None:
        if not (run / "run.json").exists():
            (run / ABOUT).unlink(missing_ok=True)
            for place in made:
                # A folder that is not empty stays: it holds something else.
                with contextlib.suppress(OSError):
                    place.rmdir()

    def left() -> str:
        clear()
        return stopped(run)

    try:
        with leaving(left):
            yield
    finally:
        clear()
