"""``countless predict``: what a run says about new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...models.command import MISSING, OUTPUT, csv_text
from .. import _options as options
from .._app import command, print_json
from .._errors import one_line_warnings

EXAMPLES = (
    "countless predict penguins-countless new-birds.csv",
    "countless predict penguins-countless new-birds.csv --out found.csv",
    "countless predict penguins-countless new-birds.csv --json | jq .label",
)


@command(EXAMPLES)
def predict(
    run: options.Run,
    file: Annotated[
        Path,
        typer.Argument(metavar="NEW", help="Table with the columns of the fit; other columns are ignored."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help="CSV file for the labels; left out, the name of NEW with -labels.csv.",
            show_default=False,
        ),
    ] = None,
    missing: options.annotation(MISSING) = None,  # type: ignore[valid-type]
    as_json: options.Json = False,
) -> None:
    """Find the cluster of each row of a new table, with its probability.

    Missing cells and categories that the fit has not seen are fine. Written for each row, numbered from 1: label, the
    most probable cluster; probability, that of this cluster; new_cluster, the probability that the row belongs to none
    of the clusters; log_density, how usual such a row is (the lower, the stranger).
    """
    from ...io import check_folder, load, read_table, write_whole
    from .._commands import command_of
    from .._results import show

    target = out if out is not None else Path(f"{file.stem}-labels.csv")
    writes = out is not None or not as_json
    if writes:
        check_folder(target.parent, "--out")
        if target.is_dir():
            raise ValueError(f"--out: {target} is a folder; give the name of a file")
    with one_line_warnings():
        model = load(run)
        ask = command_of(model).predict
        if ask is None:
            raise ValueError(f"{run} is a run of {type(model).__name__}, which cannot predict new rows")
        found = ask(model, read_table(file, missing=missing or []), file)
    rows = list(zip(*found.columns.values(), strict=True))
    if writes:
        lines = [["row", *found.columns], *([i, *cells] for i, cells in enumerate(rows, start=1))]
        write_whole(target, csv_text(lines))
    if as_json:
        print_json({"run": str(run), "file": file.name, "rows": len(rows), **found.columns})
        return
    show(found.screen)
    typer.echo(f"Wrote {target}")
