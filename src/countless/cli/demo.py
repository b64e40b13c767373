"""``countless demo``: Old Faithful, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import _options as options
from ._app import command

if TYPE_CHECKING:
    import pandas as pd

    from ..estimators import DPMixture


@command()
def demo(
    out: Annotated[
        Path, typer.Option(rich_help_panel=options.OUTPUT, metavar="FOLDER", help="Folder for the figure and the page.")
    ] = Path("countless-demo"),
    seed: options.Seed = 0,
) -> None:
    """Cluster the Old Faithful eruptions, and show what was found."""
    from .. import plots
    from ..datasets import load_faithful
    from ..estimators import DPMixture
    from ..io import check_folder, write_together
    from ..report.findings import Findings
    from ..report.page import page_of
    from ._models import fitted
    from ._screen import show, wrote

    check_folder(out, "--out")
    table = load_faithful()
    typer.echo("Old Faithful: 272 eruptions, their length and the wait for the next one (minutes).")
    model, seconds = fitted(DPMixture(random_state=seed), table, None)
    found = Findings(model)
    files: dict[str, str | bytes] = {
        "old-faithful.png": plots.render(plots.summary(model)),
        "report.html": page_of(found, "Old Faithful", "countless demo"),
    }
    show(found, seconds)
    typer.echo(_about_eruptions(model, table))
    wrote(write_together(out, files, "--out"))


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
