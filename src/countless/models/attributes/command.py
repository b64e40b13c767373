"""``countless attributes``: what LatentAttributes says to the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..command import (
    CHAIN_OPTIONS,
    COLUMNS,
    IGNORE,
    NAME,
    TABLE,
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

if TYPE_CHECKING:
    import pandas as pd

HELP = """
Find overlapping groups in a network or similarity matrix.

FILE is a square matrix, a list of edges (two columns of names, perhaps a third of weights), or a table whose rows are
compared. Writes [bold]report.html[/], attributes.csv, weights.csv, links.csv and summary.json into the folder --out.
"""
EXAMPLES = (
    "countless attributes friends.csv --edges",
    "countless attributes similarities.csv --matrix",
    "countless attributes measurements.csv --kernel distance --name patient",
)


def _kernels() -> list[str]:
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    return ["distance", "dot", *sorted(PAIRWISE_KERNEL_FUNCTIONS)]


def _observations() -> list[str]:
    return ["auto", "bernoulli", "gaussian"]


OPTIONS = (
    COLUMNS,
    IGNORE,
    NAME,
    Option("matrix", "FILE is a square matrix (default).", kind=bool, default=False, panel=TABLE),
    Option("edges", "FILE is a list of edges; other pairs are 0.", kind=bool, default=False, panel=TABLE),
    Option("kernel", "FILE is a table; how alike two rows are.", choices=_kernels, panel=TABLE),
    Option(
        "observation",
        "What a pair holds: auto (default), bernoulli (links), gaussian.",
        default="auto",
        choices=_observations,
    ),
    Option("directed", "A pair has a direction.", kind=bool, default=False),
    Option("concentration", "Of the buffet, where it is not learned.", kind=float, metavar="X"),
    Option("cluster_concentration", "Of the clusters, where it is not learned.", kind=float, metavar="X"),
    Option("noise", "Variance of the noise, where it is not learned.", kind=float, metavar="X"),
    *CHAIN_OPTIONS,
)


def _build(request: Request) -> tuple[Any, Any]:
    from .engines.gibbs import AttributesGibbs
    from .estimator import LatentAttributes

    asked = [name for name in ("matrix", "edges", "kernel") if request[name]]
    if len(asked) > 1:
        raise ValueError(f"--{asked[0]} and --{asked[1]} do not go together; FILE is one of them")
    if request["edges"]:
        R = _from_edges(request.table, request["directed"])
    else:
        R = _numbers(request.named(), bool(request["kernel"]))
    inference = with_chains(AttributesGibbs(), request, "gibbs") if asked_chains(request) else "auto"
    names = ("observation", "concentration", "cluster_concentration", "noise", "kernel", "directed")
    settings = {name: request[name] for name in names}
    return LatentAttributes(**settings, inference=inference, random_state=request["seed"]), R


def _numbers(table: pd.DataFrame, rows: bool) -> pd.DataFrame:
    advice = "if it names the objects, say --name {name}; if FILE lists edges, --edges"
    table = as_numbers(table, advice)
    if not rows and len(table) != len(table.columns):
        raise ValueError(
            f"the table has {len(table)} rows and {len(table.columns)} columns, and is no square matrix; say --edges "
            "for a list of edges, or --kernel distance for a table of measurements"
        )
    return table


def _from_edges(table: pd.DataFrame, directed: bool) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    if len(table.columns) not in (2, 3):
        raise ValueError(
            f"--edges: two or three columns are needed, got {len(table.columns)}; choose them by --columns"
        )
    ends = [table.iloc[:, at] for at in (0, 1)]
    for end in ends:
        if end.isna().any():
            raise ValueError(
                f"--edges: column {str(end.name)!r} has an empty cell in row {int(end.isna().to_numpy().argmax()) + 1}"
            )
    values = np.ones(len(table))
    if len(table.columns) == 3:
        last = table.iloc[:, 2]
        if last.dtype.kind not in "biuf":
            raise ValueError(f"--edges: the third column, {str(last.name)!r}, must hold numbers")
        values = last.to_numpy(dtype="float64")
    numeric = all(end.dtype.kind in "iu" for end in ends)
    found = set(ends[0]) | set(ends[1])
    names = [str(name) for name in (sorted(found) if numeric else sorted(map(str, found)))]
    place = {name: at for at, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)))
    one, other = ([place[str(name)] for name in end] for end in ends)
    matrix[one, other] = values
    if not directed:
        matrix = np.where(np.isnan(matrix) | np.isnan(matrix.T), np.nan, np.maximum(matrix, matrix.T))
    np.fill_diagonal(matrix, np.nan)
    return pd.DataFrame(matrix, index=names, columns=names)


def _results(model: Any, about: About) -> Results:
    found = general_results(model, about)
    names = model.posterior_.data.object_names()
    clusters, count = model.clusters_, model.n_attributes_
    header = ("object", *(f"attribute {m + 1}" for m in range(count)))
    cells = [["" if c < 0 else c for c in line] for line in clusters.tolist()]
    weights: list[tuple[Any, ...]] = [("attribute", "cluster", "other cluster", "weight")]
    for m, square in enumerate(model.weights_):
        weights += [(m + 1, c, d, square[c, d]) for c in range(len(square)) for d in range(len(square))]
    links = [("", *names), *((name, *line) for name, line in zip(names, model.predict_links().tolist(), strict=True))]
    files: dict[str, str | bytes] = {
        "attributes.csv": csv_text([header, *((name, *line) for name, line in zip(names, cells, strict=True))]),
        "weights.csv": csv_text(weights),
        "links.csv": csv_text(links),
    }
    rows = []
    for m in range(min(count, 20)):
        inside = clusters[:, m] >= 0
        sizes = [int((clusters[:, m] == c).sum()) for c in range(int(clusters[:, m].max()) + 1)]
        some = [name for name, there in zip(names, inside, strict=True) if there]
        rows.append((str(m + 1), str(int(inside.sum())), ", ".join(map(str, sizes)), some_of(some)))
    title = "Attributes" if count else "No attribute is shared"
    grid = Grid(title, ("attribute", "objects", "sizes of clusters", "objects"), rows, right=(1,))
    summary = {"n_attributes": count, "bias": model.bias_, "noise": model.noise_, **found.summary}
    return Results(summary, [*([grid] if count else [title]), *found.screen], files)


def _rehearsals() -> dict[str, Request]:
    """Small fits of similarities and of links."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    both = np.where(np.arange(16)[:, None] % 2 == np.arange(16) % 2, 2.0, -2.0)
    noise = rng.normal(size=both.shape)
    similar = both + 0.2 * (noise + noise.T)
    links = (np.tril(rng.random(both.shape)) < 1.0 / (1.0 + np.exp(-np.tril(both)))).astype(float)
    links = np.tril(links, -1) + np.tril(links, -1).T
    names = [f"object {i}" for i in range(16)]
    tables = {"similarities": similar, "links": links}
    return {
        what: COMMAND.request(pd.DataFrame(table, columns=names), draws=20, warmup=10) for what, table in tables.items()
    }


COMMAND = Command(
    "attributes", HELP, _build, OPTIONS, EXAMPLES, _results, doing="finding attributes of", rehearsals=_rehearsals
)
