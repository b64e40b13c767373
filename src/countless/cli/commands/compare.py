"""``countless compare``: agreement between two clusterings of the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...models.command import TABLE
from .. import _options as options
from .._app import command, print_json

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = (
    "countless compare penguins-countless/labels.csv penguins.csv --column label --column species",
    "countless compare first-run second-run --json",
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
    a: Annotated[Path, typer.Argument(metavar="A", help="Table with a column of labels, or the folder of a run.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The same; for the purities, these are the true classes.")],
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
    """Compare two clusterings of the same rows, with p-values.

    Every index of agreement is shown. Rows are matched by their order; by their numbers, where both tables have a
    column [bold]row[/]. A p-value is the share of random permutations of the rows that agree as well or better.
    """
    from ...metrics import METRICS, comparison_matrix

    names = column or []
    if len(names) > 2:
        raise ValueError(f"--column: give it once or twice, got {len(names)} names")
    first, second = _labels(a, names[:1]), _labels(b, names[-1:])
    x, y = _matched(first, second)
    found: dict[str, Any] = {}
    for name in METRICS:
        matrix = comparison_matrix([x], [y], name, permutations, seed)
        p = None if matrix.p_values is None else float(matrix.p_values[0, 0])
        found[name] = {"value": float(matrix.values[0, 0]), "p_value": p}
    sizes = {"rows": len(x), "clusters_a": len(set(x)), "clusters_b": len(set(y))}
    if as_json:
        print_json({"a": str(a), "b": str(b), **sizes, "permutations": permutations, "metrics": found})
        return
    typer.echo(f"{sizes['rows']:,} rows: {sizes['clusters_a']} clusters in {a}, {sizes['clusters_b']} in {b}.")
    _show(found, permutations)


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


def _show(found: dict[str, Any], permutations: int) -> None:
    from rich.console import Console
    from rich.table import Table

    grid = Table("index", "value", "p-value", "meaning")
    grid.columns[1].justify = grid.columns[2].justify = "right"
    for name, entry in found.items():
        p = entry["p_value"]
        value = "undefined" if entry["value"] != entry["value"] else f"{entry['value']:.4f}"
        shown = "" if p is None or p != p else f"{p:.3g}"
        grid.add_row(name.replace("_", " "), value, shown, MEANINGS.get(name, ""))
    Console(highlight=False, markup=False).print(grid)
    if permutations:
        typer.echo(f"p-values from {permutations:,} permutations; none can be below {1 / (1 + permutations):.3g}.")
