"""``countless demo``: Old Faithful, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...models.command import OUTPUT
from .. import _options as options
from .._app import command

if TYPE_CHECKING:
    import pandas as pd


@command()
def demo(
    out: Annotated[
        Path, typer.Option(rich_help_panel=OUTPUT, metavar="FOLDER", help="Folder for the figure and the page.")
    ] = Path("countless-demo"),
    seed: options.Seed = 0,
) -> None:
    """Cluster the Old Faithful eruptions, and show what was found."""
    from ... import report
    from ...datasets import load_faithful
    from ...io import check_folder, write_together
    from ...models.command import About
    from .._commands import model_commands
    from .._fit import fitted
    from .._results import show, wrote

    check_folder(out, "--out")
    table = load_faithful()
    typer.echo("Old Faithful: 272 eruptions, their length and the wait for the next one (minutes).")
    fit = model_commands()["fit"]
    request = fit.request(table, family="gaussian", seed=seed)
    model, seconds = fitted(*fit.build(request), None, fit.doing, request)
    results = fit.results(model, About())
    files: dict[str, str | bytes] = {
        "old-faithful.png": results.files["summary.png"],
        "report.html": report.render(model, title="Old Faithful", command="countless demo"),
    }
    show([*results.screen, f"{type(model.inference_).__name__}, {seconds:.1f} seconds.", _in_words(model, table)])
    wrote(write_together(out, files, "--out"))


def _in_words(model: Any, table: pd.DataFrame) -> str:
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
