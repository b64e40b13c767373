"""``countless predict``: the clusters of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._app import command, print_json

EXAMPLES = """
countless predict penguins-countless new-birds.csv
countless predict penguins-countless new-birds.csv --out found.csv
countless predict penguins-countless new-birds.csv --json | jq .label
"""


@command(EXAMPLES)
def predict(
    run: options.RunFolder,
    file: Annotated[
        Path,
        typer.Argument(metavar="NEW", help="Table with the columns of the fit; others are not looked at."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=options.OUTPUT,
            metavar="FILE",
            help="CSV file for the labels; left out, the name of NEW with -labels.csv.",
            show_default=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Find the cluster of each row of a new table, with its probability.

    Missing cells and categories that the fit has not seen are fine. Written for each row, numbered from 1: label, the
    most probable cluster; probability, that of this cluster; new_cluster, the probability that the row belongs to none
    of the clusters; log_density, how usual such a row is (the lower, the stranger).
    """
    from ..io import check_folder, load, read_table, write_whole
    from ._models import one_line_warnings
    from ._tables import as_fitted

    target = out if out is not None else Path(f"{file.stem}-labels.csv")
    writes = out is not None or not as_json
    if writes:
        check_folder(target.parent, "--out")
        if target.is_dir():
            raise ValueError(f"--out: {target} is a folder; give the name of a file")
    with one_line_warnings():
        model = load(run)
        table = as_fitted(model, read_table(file), file)
        shares = model.predict_proba(table)
        density = model.score_samples(table)
    labels = shares[:, :-1].argmax(axis=1)
    found = {
        "label": labels.tolist(),
        "probability": shares[range(len(labels)), labels].round(4).tolist(),
        "new_cluster": shares[:, -1].round(4).tolist(),
        "log_density": density.round(4).tolist(),
    }
    if writes:
        lines = [",".join(map(str, (i, *cells))) for i, cells in enumerate(zip(*found.values(), strict=True), start=1)]
        write_whole(target, "\n".join([",".join(["row", *found]), *lines, ""]))
    if as_json:
        print_json({"run": str(run), "file": file.name, "rows": len(labels), **found})
        return
    _show(labels, shares, model.n_clusters_)
    typer.echo(f"Wrote {target}")


def _show(labels: object, shares: object, n_clusters: int) -> None:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from ..plots import percent

    found, sure = np.asarray(labels), np.asarray(shares)
    grid = Table("cluster", "new rows", "share", "sure", title="Where do the new rows belong?", title_justify="left")
    for k in range(n_clusters):
        mine = found == k
        if mine.any():
            share = percent(float(mine.mean()))
            grid.add_row(str(k), f"{int(mine.sum()):,}", share, percent(float(sure[mine, k].mean())))
    Console(highlight=False, markup=False).print(grid)
    strange = int(np.sum(sure[:, -1] > 0.5))
    if strange:
        typer.echo(f"{strange:,} of {len(found):,} rows fit none of the clusters (new_cluster above 0.5).")
