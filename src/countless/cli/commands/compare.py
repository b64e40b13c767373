"""``countless compare``: which of several fits predicts best, and how two clusterings of the same rows agree."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...models.command import TABLE, Grid
from .. import _options as options
from .._app import command, print_json
from .._errors import one_line_warnings

if TYPE_CHECKING:
    import pandas as pd

    from ...models.comparison import Comparison

EXAMPLES = (
    "countless compare penguins-countless/labels.csv penguins.csv --column label --column species",
    "countless compare first-run second-run third-run",
)

# What each index says, for people: the value that means full agreement comes first.
MEANINGS = {
    "rand": "1 is equal; share of pairs of rows on which both agree",
    "jaccard": "1 is equal; pairs together in both, over pairs together in either",
    "hubert": "1 is equal, 0 unrelated; correlation over pairs",
    "ari": "1 is equal, 0 as by chance; adjusted Rand index",
    "nmi": "1 is equal; normalised mutual information",
    "vi": "0 is equal; variation of information, in nats",
    "assignment_error": "0 is equal; share of rows misplaced at the best matching",
    "purity": "1 is pure; share of rows in the main class of their cluster",
    "balanced_purity": "1 is pure; the same, corrected for one large class",
}


@command(EXAMPLES)
def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="A B ...",
            help="Folders of runs, or two tables with a column of labels; the second has the true classes.",
        ),
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=TABLE,
            metavar="NAME",
            help="Column of the labels, label if left out; give it twice where it has another name in B.",
            show_default=False,
        ),
    ] = None,
    permutations: Annotated[
        int,
        typer.Option(rich_help_panel="p-values", metavar="N", min=0, help="Permutations that p-values are taken from."),
    ] = 999,
    seed: Annotated[
        int, typer.Option(rich_help_panel="p-values", metavar="N", min=0, help="Seed of the permutations.")
    ] = 0,
    as_json: options.Json = False,
) -> None:
    """Compare fits of the same table, or two clusterings of the same rows.

    Runs are ranked by the log density of each row given all others, with the standard error of each difference to the
    best. Of two clusterings every index of agreement is shown, with the share of random permutations of the rows that
    agree as well or better (p-value); rows are matched by their order, or by their numbers where both tables have a
    column [bold]row[/].
    """
    names = column or []
    if len(names) > 2:
        raise ValueError(f"--column: give it once or twice, got {len(names)} names")
    if len(paths) < 2:
        raise ValueError("compare needs two or more runs, or two tables of labels")
    runs = all((path / "run.json").is_file() for path in paths)
    if len(paths) > 2 and not runs:
        other = next(path for path in paths if not (path / "run.json").is_file())
        raise ValueError(f"{other} is not the folder of a run; only runs can be compared three or more at a time")
    ranked = _ranked(paths, must=len(paths) > 2) if runs and not names else None
    agreed = _agreement(paths[0], paths[1], names, permutations, seed) if len(paths) == 2 else None
    if as_json:
        print_json({**({} if ranked is None else ranked.as_json()), **(agreed or {})})
        return
    if ranked is not None:
        ranked.show()
    if agreed is not None:
        _show(agreed)


@dataclass(frozen=True)
class _Ranked:
    """Runs by how well they predict; or a sentence why they cannot be ranked."""

    found: Comparison | None
    sentence: str

    def as_json(self) -> dict[str, Any]:
        fits = None if self.found is None else [asdict(fit) for fit in self.found.fits]
        return {"fits": fits, "verdict": self.sentence}

    def show(self) -> None:
        from .._results import show

        if self.found is None:
            show([f"Not ranked: {self.sentence}."])
            return
        header = ("run", "clusters", "log density of a row", "less than the best by")
        rows = [
            (
                fit.name,
                str(fit.n_clusters),
                f"{fit.log_density:.4f} ± {fit.standard_error:.4f}",
                "" if at == 0 else f"{-fit.difference:.4f} ± {fit.difference_error:.4f}",
            )
            for at, fit in enumerate(self.found.fits)
        ]
        title = f"Which fit predicts a row best from the {self.found.n_rows - 1:,} others?"
        show([Grid(title, header, rows, right=(1, 2, 3)), self.sentence])


def _ranked(paths: list[Path], must: bool) -> _Ranked:
    """The runs ranked; where they ``must`` be, ValueError says why they cannot."""
    from ...io import load
    from ...models.comparison import compare as compare_fits

    with one_line_warnings():
        fits = {str(path): load(path) for path in paths}
    if len(fits) < len(paths):
        raise ValueError("compare: the same run is given twice")
    try:
        found = compare_fits(fits)
    except ValueError as error:
        if must:
            raise
        return _Ranked(None, str(error))
    return _Ranked(found, found.verdict)


def _agreement(a: Path, b: Path, names: list[str], permutations: int, seed: int) -> dict[str, Any]:
    """Every index of agreement between the labels of two tables or runs."""
    from ...metrics import METRICS, comparison_matrix

    first, second = _labels(a, names[:1]), _labels(b, names[-1:])
    x, y = _matched(first, second)
    found: dict[str, Any] = {}
    for name in METRICS:
        matrix = comparison_matrix([x], [y], name, permutations, seed)
        p = None if matrix.p_values is None else float(matrix.p_values[0, 0])
        found[name] = {"value": float(matrix.values[0, 0]), "p_value": p}
    sizes = {"rows": len(x), "clusters_a": len(set(x)), "clusters_b": len(set(y))}
    return {"a": str(a), "b": str(b), **sizes, "permutations": permutations, "metrics": found}


def _labels(path: Path, names: list[str]) -> pd.DataFrame:
    """A table of labels and, where there are any, numbers of rows."""
    import pandas as pd

    from ...io import read_table

    file = path / "labels.csv" if path.is_dir() and (path / "labels.csv").is_file() else path
    table = read_table(file)
    columns = [str(name) for name in table.columns]
    choices = [name for name in columns if name != "row"]
    name = names[0] if names else "label" if "label" in columns else choices[0] if len(choices) == 1 else None
    if name is None or name not in columns:
        listed = ", ".join(repr(known) for known in columns[:20]) + (", ..." if len(columns) > 20 else "")
        asked = "which column holds the labels? It has" if name is None else f"has no column {name!r}; it has"
        raise ValueError(
            f"{file}: {asked} {listed}; choose with --column" if name is None else f"{file} {asked} {listed}"
        )
    labels = table[name]
    if labels.isna().any():
        at = int(labels.isna().to_numpy().argmax())
        raise ValueError(f"{file}: {name!r} has empty cells (first in row {at + 1}); every row needs a label")
    numbers = table["row"] if "row" in columns and name != "row" else pd.Series(range(1, len(table) + 1))
    found = pd.DataFrame({"row": numbers.to_numpy(), "label": labels.astype(str).to_numpy()})
    found.attrs = {"file": str(file), "numbered": "row" in columns}
    return found


def _matched(a: pd.DataFrame, b: pd.DataFrame) -> tuple[list[str], list[str]]:
    if a.attrs["numbered"] and b.attrs["numbered"] and a["row"].is_unique and b["row"].is_unique:
        if set(a["row"]) != set(b["row"]):
            raise ValueError(f"{a.attrs['file']} and {b.attrs['file']} number different rows in their column 'row'")
        b = b.set_index("row").loc[a["row"]]
    if len(a) != len(b):
        raise ValueError(
            f"{a.attrs['file']} has {len(a):,} rows and {b.attrs['file']} {len(b):,}; only labels of the same rows can "
            "be compared"
        )
    return a["label"].tolist(), b["label"].tolist()


def _show(agreed: dict[str, Any]) -> None:
    from .._results import show

    permutations, rows = agreed["permutations"], []
    for name, entry in agreed["metrics"].items():
        p = entry["p_value"]
        value = "undefined" if entry["value"] != entry["value"] else f"{entry['value']:.4f}"
        shown = "" if p is None or p != p else f"{p:.3g}"
        rows.append((name.replace("_", " "), value, shown, MEANINGS.get(name, "")))
    clusters = f"{agreed['clusters_a']} clusters in {agreed['a']}, {agreed['clusters_b']} in {agreed['b']}"
    grid = Grid("Do the labels agree?", ("index", "value", "p-value", "meaning"), rows, right=(1, 2))
    show([f"{agreed['rows']:,} rows: {clusters}.", grid])
    if permutations:
        typer.echo(f"p-values from {permutations:,} permutations; none can be below {1 / (1 + permutations):.3g}.")
