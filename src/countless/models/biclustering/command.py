"""``countless bicluster``: what InfiniteBiclustering says to the command line."""

from __future__ import annotations

from typing import Any

from ..command import (
    CHAIN_OPTIONS,
    COLUMNS,
    IGNORE,
    NAME,
    About,
    Command,
    Grid,
    Option,
    Request,
    Results,
    as_numbers,
    asked_chains,
    csv_text,
    general_results,
    some_of,
    with_chains,
)

HELP = """
Group the rows and the columns of a table together; both numbers of groups are inferred.

Writes [bold]report.html[/], rows.csv and columns.csv (their clusters), blocks.csv (the mean of each block) and
summary.json into the folder --out. Stop it at any time; [bold]countless resume[/] continues.
"""
EXAMPLES = (
    "countless bicluster animals.csv --name animal --model asymmetric --rescale 8000",
    "countless bicluster counts.csv --model symmetric --degree-corrected",
)


def _models() -> list[str]:
    from .block_models import MODELS

    return sorted(MODELS.everything())


def _engines() -> list[str]:
    return ["auto", "gibbs", "map", "variational"]


OPTIONS = (
    COLUMNS,
    IGNORE,
    NAME,
    Option(
        "model",
        "relational (default), symmetric, asymmetric, factorized, frequency.",
        default="relational",
        choices=_models,
    ),
    Option("family", "Of a relational cell: bernoulli, poisson, gaussian, ..."),
    Option("degree_corrected", "Rows and columns have popularities.", kind=bool, default=False),
    Option("tied", "Rows and columns are the same items.", kind=bool, default=False),
    Option("rescale", "Turn ratings into counts with about this total.", kind=float, metavar="X"),
    Option("presence", "Count each cell that holds anything once.", kind=bool, default=False),
    Option("inference", "auto (default), gibbs, variational, map.", default="auto", choices=_engines),
    *CHAIN_OPTIONS,
)


def _build(request: Request) -> tuple[Any, Any]:
    from .engines.gibbs import BiclusterGibbs
    from .estimator import InfiniteBiclustering

    table = as_numbers(request.named(), "if it names the rows, say --name {name}, else leave it out: --ignore")
    inference = request["inference"]
    if asked_chains(request):
        if inference in ("map", "variational"):
            raise ValueError(
                f"--chains, --draws, --warmup and --max-seconds are for sampling; leave out --inference {inference}"
            )
        inference = with_chains(BiclusterGibbs(), request, "gibbs")
    names = ("model", "family", "degree_corrected", "tied", "rescale", "presence")
    settings = {name: request[name] for name in names}
    return InfiniteBiclustering(**settings, inference=inference, random_state=request["seed"]), table


def _results(model: Any, about: About) -> Results:
    found = general_results(model, about)
    data = model.posterior_.data
    files: dict[str, str | bytes] = {}
    grids: list[Grid | str] = []
    for side, labels in enumerate((model.row_labels_, model.column_labels_)):
        word, names = ("row", "column")[side], data.names(side)
        files[f"{word}s.csv"] = csv_text([(word, "cluster"), *zip(names, labels.tolist(), strict=True)])
        members = [[n for n, k in zip(names, labels, strict=True) if k == each] for each in range(labels.max() + 1)]
        rows = [(str(k), str(len(each)), some_of(each)) for k, each in enumerate(members[:30])]
        grids.append(Grid(f"Clusters of {word}s", ("cluster", "size", f"{word}s"), rows, right=(1,)))
    means = model.block_means_
    if means.ndim == 2:
        head = ("row cluster", *(f"columns {k}" for k in range(means.shape[1])))
        files["blocks.csv"] = csv_text([head, *((k, *line) for k, line in enumerate(means.tolist()))])
    rows_found, columns_found = model.n_clusters_
    summary = {"n_row_clusters": rows_found, "n_column_clusters": columns_found, **found.summary}
    return Results(summary, [*grids, *found.screen], files)


def _rehearsals() -> dict[str, Request]:
    """Small fits of relations that are there or not, and of counts."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    often = np.where(np.arange(20)[:, None] % 2 == np.arange(12) % 2, 0.8, 0.2)
    names = [f"column {j}" for j in range(12)]
    relations = pd.DataFrame((rng.random(often.shape) < often).astype(int), columns=names)
    counts = pd.DataFrame(rng.poisson(5.0 * often), columns=names)
    return {
        "relations": COMMAND.request(relations),
        "counts": COMMAND.request(counts, model="symmetric"),
    }


COMMAND = Command(
    "bicluster", HELP, _build, OPTIONS, EXAMPLES, _results, doing="grouping rows and columns", rehearsals=_rehearsals
)
