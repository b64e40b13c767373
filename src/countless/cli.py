"""The command line: a demonstration, and the clustering of a table in a file.

Everything is checked before anything is computed, and all files are written together at the end: a mistake is
one line on standard error, exit code 2, and no file. Heavy modules are imported inside the commands, so that
``countless --version`` answers at once.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from . import __version__

if TYPE_CHECKING:
    import pandas as pd

    from .estimators import DPMixture

INTERRUPTED = 130
MISTAKE = 2
DEFECT = 1

# Columns whose cluster means fit on a line of the table.
MOST_MEANS = 5


class OneLineErrors(typer.core.TyperGroup):
    """A group whose errors are one line on standard error and an exit code, whoever raised them."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run, and leave with the exit code."""
        standalone = options.pop("standalone_mode", True)
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except Exception as error:
            code = _complain(error)
        if code == INTERRUPTED:
            _say("error: interrupted; nothing was written")
        if not standalone:
            return code
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Clustering when you do not know how many: the number of clusters is inferred with its uncertainty.",
)


def main() -> None:
    """Entry point of the command ``countless``.

    Examples
    --------
    >>> from countless.cli import main
    >>> callable(main)
    True
    """
    app()


@app.callback(invoke_without_command=True)
def _about(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> None:
    if version:
        typer.echo(f"countless {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("countless-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
) -> None:
    """Cluster the Old Faithful eruptions that ship with the package, and draw what was found."""
    from . import plots
    from .datasets import load_faithful
    from .estimators import DPMixture
    from .io import check_folder, write_together

    check_folder(out, "--out")
    table = load_faithful()
    typer.echo("Old Faithful: 272 eruptions, their length and the wait for the next one (minutes).")
    model, seconds = _fit(DPMixture(random_state=seed), table)
    figure = plots.render(plots.summary(model))
    _show(model, table, seconds)
    typer.echo(_about_eruptions(model, table))
    _report(write_together(out, {"old-faithful.png": figure}, "--out"))


@app.command()
def fit(
    file: Annotated[Path, typer.Argument(help="Table: CSV or TSV, UTF-8, names in the first line.")],
    family: Annotated[str, typer.Option(help="What the rows of one cluster look like.")] = "gaussian",
    prior: Annotated[str, typer.Option(help="How rows fall into clusters.")] = "crp",
    inference: Annotated[
        str,
        typer.Option(
            help="How the posterior is found: auto, gibbs, variational, map, uncollapsed, blocked, single-site."
        ),
    ] = "auto",
    chains: Annotated[int | None, typer.Option(help="Independent chains (sampling only).")] = None,
    draws: Annotated[int | None, typer.Option(help="Draws kept in each chain.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Sweeps before the first draw is kept.")] = None,
    concentration: Annotated[
        float | None, typer.Option(help="Fixed concentration of the prior; default, it is learned.")
    ] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to use, separated by commas.")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Column to leave out; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("countless-fit"),
) -> None:
    """Cluster the rows of a table of numbers; the number of clusters is inferred.

    Writes labels.csv, summary.json and summary.png into the folder --out; files of these names are replaced.

    In labels.csv, rows are numbered from 1, and the probability says how sure a label is: how probably the
    row shares a cluster with another row of its own (for MAP: how probable its cluster is, given the others).
    """
    from . import plots
    from .io import check_folder, read_table, write_together

    check_folder(out, "--out")
    chosen = [name.strip() for name in columns.split(",")] if columns is not None else None
    table = read_table(file, chosen, ignore or [], numbers_only=True)
    model = _model(table, family, prior, inference, concentration, seed, chains=chains, draws=draws, warmup=warmup)
    model, seconds = _fit(model, table)
    sure = plots.label_probability(model)
    figure = plots.render(plots.summary(model))
    results: dict[str, str | bytes] = {
        "labels.csv": _labels_text(model, sure),
        "summary.json": _summary_text(model, table, file, seed, sure),
        "summary.png": figure,
    }
    paths = write_together(out, results, "--out")
    _show(model, table, seconds)
    _report(paths)


# --- from options to a fitted model ---------------------------------------------------------------------


def _model(
    table: pd.DataFrame,
    family: str,
    prior: str,
    inference: str,
    concentration: float | None,
    seed: int,
    **sampling: int | None,
) -> DPMixture:
    """An estimator whose every choice has been checked against the table."""
    from .estimators import DPMixture
    from .families import resolve_family
    from .priors import resolve_prior

    chosen_family = _from_name("--family", resolve_family, family)
    chosen_prior = _from_name("--prior", resolve_prior, prior)
    if concentration is not None:
        try:
            chosen_prior = chosen_prior.with_concentration(concentration)
        except ValueError as error:
            raise ValueError(f"--concentration: {error}") from None
    settings = {key: value for key, value in sampling.items() if value is not None}
    engine = _engine(inference, table.shape, chosen_prior.has_sticks, settings)
    rows = table.to_numpy()
    chosen_family.check(rows)
    chosen_family.resolve(rows)
    return DPMixture(family=chosen_family, prior=chosen_prior, inference=engine, random_state=seed)


def _engine(name: str, shape: tuple[int, int], sticks: bool, settings: dict[str, int]) -> Any:
    """The engine with the settings that were given; ``auto`` samples where settings of a sampler were."""
    from .inference import resolve_inference

    if name == "auto" and settings:
        name = "gibbs"
    engine: Any = _from_name("--inference", lambda text: resolve_inference(text, *shape, sticks), name)
    known = {field.name for field in dataclasses.fields(engine)}
    for setting in settings:
        if setting not in known:
            raise ValueError(f"--{setting}: inference {name!r} has no such setting; leave it out or choose 'gibbs'")
    return dataclasses.replace(engine, **settings)


def _from_name(option: str, resolve: Any, name: str) -> Any:
    """What a short name stands for; errors speak of the option, not of Python objects."""
    try:
        return resolve(name)
    except ValueError as error:
        listed = str(error).split(", or pass ")[0].partition("choose one of ")[2]
        extra = ", 'auto'" if option == "--inference" else ""
        raise ValueError(f"{option}: {name!r} is not known; choose one of {listed}{extra}") from None


def _fit(model: DPMixture, table: pd.DataFrame) -> tuple[DPMixture, float]:
    """Fit; an interrupted fit is given up, other warnings are one line."""
    n_rows, n_columns = table.shape
    _say(f"clustering {n_rows:,} rows x {n_columns} columns (the first run compiles, about 20 seconds) ...")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the fit was interrupted")
        warnings.showwarning = lambda message, *_: _say(f"warning: {' '.join(str(message).split())}")
        try:
            model.fit(table)
        except UserWarning:
            raise KeyboardInterrupt from None
    return model, time.perf_counter() - start


# --- what is written ------------------------------------------------------------------------------------


def _labels_text(model: DPMixture, sure: Any) -> str:
    lines = [f"{i},{label},{p:.4f}" for i, (label, p) in enumerate(zip(model.labels_, sure, strict=True), start=1)]
    return "\n".join(["row,label,probability", *lines, ""])


def _summary_text(model: DPMixture, table: pd.DataFrame, file: Path, seed: int, sure: Any) -> str:
    """Everything needed to know what was found and to find it again; the same run gives the same text."""
    import json
    import platform

    import numba
    import numpy as np
    import scipy
    import sklearn

    from .plots import sentence

    libraries = {module.__name__: module.__version__ for module in (np, scipy, numba, sklearn)}
    counts = np.bincount(model.labels_)
    content = {
        "found": sentence(model),
        "n_clusters": model.n_clusters_,
        "n_clusters_probability": {str(k): share for k, share in model.posterior_.n_clusters_pmf().items()},
        "sizes": counts.tolist(),
        "label_probability": (np.bincount(model.labels_, sure) / counts).round(4).tolist(),
        "concentration": model.concentration_,
        "data": {"file": file.name, "rows": len(table), "columns": [str(name) for name in table.columns]},
        "family": _plain(model.family_),
        "prior": _plain(model.prior_),
        "inference": _plain(model.inference_),
        "seed": seed,
        "versions": {"countless": __version__, "python": platform.python_version(), **libraries},
    }
    return json.dumps(content, indent=2) + "\n"


def _plain(value: Any) -> Any:
    """Objects as dictionaries with their class name, arrays as lists."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"name": type(value).__name__, **fields}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


# --- what is said ---------------------------------------------------------------------------------------


def _show(model: DPMixture, table: pd.DataFrame, seconds: float) -> None:
    """How many clusters with their probabilities, their sizes, and a sentence."""
    from rich.console import Console

    from .plots import sentence

    console = Console(highlight=False)
    if model.posterior_.is_sampled:
        console.print(_count_table(model))
    console.print(_cluster_table(model, table))
    typer.echo(f"{sentence(model)}.")
    typer.echo(f"{type(model.inference_).__name__}, {seconds:.1f} seconds.")


def _count_table(model: DPMixture) -> Any:
    from rich.table import Table

    from .plots import percent

    pmf = model.posterior_.n_clusters_pmf()
    grid = Table("clusters", "probability", "", title="How many clusters?", title_justify="left")
    top = max(pmf.values())
    for k, share in pmf.items():
        if share >= 0.005:
            mark = " (consensus)" if k == model.n_clusters_ else ""
            grid.add_row(str(k), percent(share), "#" * round(24 * share / top) + mark)
    return grid


def _cluster_table(model: DPMixture, table: pd.DataFrame) -> Any:
    import numpy as np
    from rich.table import Table

    from .plots import label_probability, percent

    names = [str(name) for name in table.columns[:MOST_MEANS]]
    grid = Table("cluster", "rows", "share", "sure", *(f"mean {name}" for name in names), title_justify="left")
    grid.title = "Which clusters?"
    sure = label_probability(model)
    for k, size in enumerate(np.bincount(model.labels_)):
        mine = model.labels_ == k
        means = table.loc[mine].iloc[:, :MOST_MEANS].mean()
        cells = [f"{mean:.4g}" for mean in means]
        grid.add_row(str(k), f"{size:,}", percent(size / len(table)), percent(sure[mine].mean()), *cells)
    return grid


def _about_eruptions(model: DPMixture, table: pd.DataFrame) -> str:
    """The two largest clusters in words."""
    largest = table.groupby(model.labels_).size().nlargest(2).index
    if len(largest) < 2:
        return "All eruptions look alike."
    means = table.groupby(model.labels_).mean().loc[largest].sort_values("eruptions")
    (short, soon), (long, late) = means.to_numpy()
    tail = " The small clusters are eruptions in between." if model.n_clusters_ > 2 else ""
    return (
        f"In words: short eruptions ({short:.1f} min, the next after {soon:.0f} min) and long ones "
        f"({long:.1f} min, the next after {late:.0f} min).{tail}"
    )


def _report(paths: list[Path]) -> None:
    typer.echo(f"Wrote {', '.join(str(path) for path in paths)}")


def _complain(error: Exception) -> int:
    """Say what is wrong in one line; returns the exit code."""
    if os.environ.get("COUNTLESS_DEBUG"):
        raise error
    if hasattr(error, "format_message"):
        _say(f"error: {error.format_message()}")
        return MISTAKE
    if isinstance(error, (ValueError, OSError)):
        _say(f"error: {error}")
        return MISTAKE
    if isinstance(error, MemoryError):
        _say("error: there is not enough memory for a table of this size")
        return MISTAKE
    _say(f"error: a defect of countless ({type(error).__name__}: {error}); COUNTLESS_DEBUG=1 shows where")
    return DEFECT


def _say(line: str) -> None:
    typer.echo(" ".join(line.split()), err=True)
