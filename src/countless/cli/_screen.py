"""What is said on the screen at the end of a fit: how the columns were read, how many clusters, which, how sure."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ..estimators import DPMixture
    from ..report.findings import Findings

MOST_COLUMNS = 30
MOST_CLUSTERS = 30
MOST_TRAITS = 3


def show(found: Findings, seconds: float | None, compared: dict[str, Any] | None = None) -> None:
    """Tables and sentences about a fitted model."""
    from rich.console import Console

    from ..plots import sentence

    model = found.model
    console = Console(highlight=False, markup=False)
    console.print(_column_table(model))
    if model.posterior_.is_sampled:
        console.print(_count_table(model))
    console.print(_cluster_table(found))
    typer.echo(f"{sentence(model)}.")
    typer.echo(as_options(found.diagnostics.verdict))
    if compared:
        typer.echo(_agreement(compared))
    took = "" if seconds is None else f", {seconds:.1f} seconds"
    typer.echo(f"{type(model.inference_).__name__}{took}.")


def as_options(words: str) -> str:
    """Settings in a sentence, as they are given on a command line: ``draws=3000`` is ``--draws 3000``."""
    return re.sub(r"\b(warmup|draws|chains)=(\d+)(,(?= (?:warmup|draws|chains)=))?", r"--\1 \2", words)


def _column_table(model: DPMixture) -> Any:
    """Name, family, missing cells, and why it was read so, where there is anything to say."""
    from rich.table import Table

    from ..report.settings import columns_of

    columns = columns_of(model)
    shown = columns[:MOST_COLUMNS]
    noted = any(column["note"] for column in shown)
    grid = Table("column", "read as", "missing", title="How were the columns read?", title_justify="left")
    grid.columns[2].justify = "right"
    if noted:
        grid.add_column("because it holds")
    for column in shown:
        missing = "" if column["missing"] is None else f"{column['missing']:,}"
        grid.add_row(column["name"], column["family"], missing, *([column["note"]] if noted else []))
    if len(columns) > MOST_COLUMNS:
        grid.add_row(f"and {len(columns) - MOST_COLUMNS} more")
    return grid


def _count_table(model: DPMixture) -> Any:
    from rich.table import Table

    from ..plots import percent

    pmf = model.posterior_.n_clusters_pmf()
    grid = Table("clusters", "probability", "", title="How many clusters?", title_justify="left")
    top = max(pmf.values())
    for k, share in pmf.items():
        if share >= 0.005:
            mark = " (consensus)" if k == model.n_clusters_ else ""
            grid.add_row(str(k), percent(share), "#" * round(24 * share / top) + mark)
    return grid


def _cluster_table(found: Findings) -> Any:
    from rich.table import Table

    from ..plots import percent

    grid = Table("cluster", "rows", "share", "sure", "what tells it from the others", title_justify="left")
    grid.title = "Which clusters?"
    n_rows, clusters = len(found.labels), found.summaries
    for each in clusters[:MOST_CLUSTERS]:
        told = "; ".join(trait.text for trait in each.traits[:MOST_TRAITS])
        mine = float(found.certainty.probability[found.labels == each.label].mean())
        grid.add_row(str(each.label), f"{each.size:,}", percent(each.size / n_rows), percent(mine), told)
    if len(clusters) > MOST_CLUSTERS:
        rest = sum(each.size for each in clusters[MOST_CLUSTERS:])
        grid.add_row("others", f"{rest:,}", percent(rest / n_rows), "", f"{len(clusters) - MOST_CLUSTERS} smaller ones")
    return grid


def _agreement(compared: dict[str, Any]) -> str:
    figures = ", ".join(f"{name} {compared[key]:.3f}" for key, name in NAMES.items())
    return f"Against {compared['label']!r} ({compared['classes']} classes, {compared['rows']:,} rows): {figures}."


NAMES = {
    "ari": "adjusted Rand index",
    "nmi": "normalised mutual information",
    "vi": "variation of information",
    "purity": "purity",
}


def wrote(paths: list[Path], run: Path | None = None) -> None:
    """Which files there are now, and what to do next."""
    page = [path for path in paths if path.suffix == ".html"]
    typer.echo(f"Wrote {', '.join(str(path) for path in paths)}")
    if page:
        typer.echo(f"Open {page[0]} in a browser to look around.")
    if run is not None:
        typer.echo(f"New rows:  countless predict {run} NEW.csv")
