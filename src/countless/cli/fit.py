"""``countless fit``: from a table in a file to clusters, a report and a run that can be continued."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._app import command, print_json

EXAMPLES = """
countless fit penguins.csv --label species
countless fit patients.parquet --ignore id --columns stage=categorical
countless fit counts.tsv --family poisson --out run --json > found.json
"""


@command(EXAMPLES)
def fit(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Table: CSV, TSV, Parquet or Feather, with names of the columns.")
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=options.TABLE,
            metavar="A,B",
            help=(
                "Columns to use, separated by commas: A,B. Or kinds of some columns: age=gaussian,sex=categorical; "
                "where every entry has a kind, the other columns stay in."
            ),
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=options.TABLE, metavar="NAME", help="Column to leave out; may be repeated."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=options.TABLE,
            metavar="NAME",
            help="Column of known classes: never clustered, only compared with what was found.",
            show_default=False,
        ),
    ] = None,
    family: options.Family = "auto",
    prior: options.Prior = "crp",
    inference: options.Inference = "auto",
    concentration: options.Concentration = None,
    tune: options.Tune = None,
    chains: options.Chains = None,
    draws: options.Draws = None,
    warmup: options.Warmup = None,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=options.OUTPUT,
            metavar="FOLDER",
            help="Folder for the run and its results; left out, the name of the table with -countless.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", rich_help_panel=options.OUTPUT, help="Begin anew where the folder holds a run."),
    ] = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", rich_help_panel=options.OUTPUT, help="Write no report.html.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Cluster the rows of a table; the number of clusters is inferred.

    Writes into the folder --out: [bold]report.html[/], a page to look at; labels.csv, with the cluster of each row
    (rows are numbered from 1), its probability and the cluster that comes second; summary.json and summary.png; and the
    run itself, which can be stopped at any time and continued with [bold]countless resume[/].
    """
    from ..io import check_folder
    from ..report.findings import Findings
    from ._about import About
    from ._models import build, fitted
    from ._results import write_results
    from ._screen import show, wrote
    from ._tables import choose_columns

    folder = Path(f"{file.stem}-countless") if out is None else out
    check_folder(folder, "--out")
    chosen = choose_columns(file, columns or [], ignore or [], label)
    model = build(
        chosen.table,
        family,
        chosen.kinds,
        prior,
        inference,
        concentration,
        tune,
        seed,
        chains=chains,
        draws=draws,
        warmup=warmup,
    )
    if overwrite:
        clear_run(folder)
    about = About.of(file, options.typed(context, ("out", "overwrite", "no_report", "as_json")), chosen.label)
    with about.beside(folder):
        model, seconds = fitted(model, chosen.table, folder)
    found = Findings(model)
    paths, summary = write_results(found, folder, about, report=not no_report)
    if as_json:
        print_json(
            {**summary, "run": str(folder), "files": [str(path) for path in paths], "seconds": round(seconds, 3)}
        )
        return
    show(found, seconds, summary.get("compared"))
    wrote(paths, folder)


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
