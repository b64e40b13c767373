"""From a table in a file to a fitted model, a report and a run that can be continued, whatever the model."""

from __future__ import annotations

import shlex
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._app import print_json
from ._errors import Interrupted, one_line_warnings, say, stopped
from ._interrupts import leaving
from ._options import typed

if TYPE_CHECKING:
    import typer

    from ..models.command import Command, Request


@dataclass(frozen=True)
class Order:
    """What was asked for on the command line: the shared options, and the model's ``own``."""

    context: typer.Context
    file: Path
    own: dict[str, Any]
    seed: int = 0
    out: Path | None = None
    overwrite: bool = False
    no_report: bool = False
    as_json: bool = False
    quiet: bool = False

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return Path(f"{self.file.stem}-countless") if self.out is None else self.out


def fit(command: Command, order: Order) -> None:
    """Read the table, check every choice, fit, write and show."""
    from ..io import check_folder
    from ..models.command import KINDS, Request
    from ._results import about_table, beside, deliver
    from ._tables import choose_columns

    folder = order.folder
    check_folder(folder, "--out")
    own = order.own
    columns, ignore, missing = (own.get(name) or [] for name in ("columns", "ignore", "missing"))
    besides = [own[option.name] for option in command.options if option.column and own.get(option.name)]
    chosen = choose_columns(order.file, columns, ignore, own.get("label"), own.get("name"), missing, besides)
    if chosen.kinds and KINDS not in command.options:
        raise ValueError(f"--columns: countless {command.name} gives no kinds to columns; name columns only")
    request = Request(chosen.table, {**own, "seed": order.seed}, chosen.kinds)
    model, data = command.build(request)
    if order.overwrite:
        clear_run(folder)
    options = typed(order.context, ("out", "overwrite", "no_report", "as_json", "quiet"))
    about = about_table(order.file, shlex.join(["countless", command.name, str(order.file), *options]), chosen.label)
    with leaving(lambda: stopped(folder)):
        with beside(folder, about):
            model, seconds = fitted(model, data, folder, command.doing, request, order.quiet)
        shown = deliver(model, folder, about, report=not order.no_report)
    if order.as_json:
        print_json({**shown.summary, "run": str(folder), "files": shown.names, "seconds": round(seconds, 3)})
        return
    if not order.quiet:
        shown.show(seconds)


def fitted(
    model: Any, data: Any, folder: Path | None, doing: str, request: Request, quiet: bool = False
) -> tuple[Any, float]:
    """Fit with checkpoints in a folder, and how long it took; an interrupted fit says what is there."""
    from ..chains.jobs import LINES, QUIET, showing
    from ..core.text import count
    from ..core.warnings import InterruptedFit

    finished = folder is not None and (folder / "result.npz").exists()
    begun = folder is not None and (folder / "run.json").exists()
    if not quiet and not finished:
        table = f"{count(len(request.table), 'row')} x {count(request.table.shape[1], 'column')}"
        first = " ..." if _has_kernels() else " (the first run compiles, a minute or two) ..."
        how = f", from where {folder} stands ..." if begun else first
        say(f"{doing} {table}{how}")
    start = time.perf_counter()
    with one_line_warnings(), showing(QUIET if quiet else LINES):
        try:
            model = model.fit(data) if folder is None else model.fit(data, checkpoint=folder)
        except (KeyboardInterrupt, InterruptedFit):
            raise Interrupted(stopped(folder)) from None
    if finished and not model.posterior_.interrupted and not quiet:
        say(f"{folder} holds this fit, finished: it is reused (--overwrite starts again)")
    return model, time.perf_counter() - start


def _has_kernels() -> bool:
    """Whether an earlier run has left compiled kernels."""
    from ..core.jit import cache_directory

    kept = cache_directory()
    return kept is not None and any(kept.glob("*.nbc"))


def clear_run(folder: Path) -> None:
    """Remove what a run left in a folder, and nothing else."""
    if not (folder / "run.json").is_file():
        return
    # In this order, what is left after a kill is a run at its beginning, or none.
    (folder / "result.npz").unlink(missing_ok=True)
    for chain in folder.glob("chain-*"):
        if chain.is_dir():
            shutil.rmtree(chain)
    for name in ("run.json", "data.npz"):
        (folder / name).unlink(missing_ok=True)
