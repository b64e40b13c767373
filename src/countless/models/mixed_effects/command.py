"""``countless mixed``: what MixedEffects says to the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..command import (
    CHAIN_OPTIONS,
    About,
    Command,
    Grid,
    Option,
    Prediction,
    Request,
    Results,
    general_results,
    with_chains,
)
from .tables import summary_in_words

if TYPE_CHECKING:
    import pandas as pd

HELP = """
Cluster people by how they develop: regression with effects of each subject, from a mixture of unknown size.

The table has one row per visit. In the formula, brackets hold the effects that each subject has for itself and, behind
the bar, the column that names the subject: [bold]y ~ age + (1 + time | subject)[/].

Writes into the folder --out: report.html; effects.csv, with the cluster and the effects of each subject; clusters.csv;
summary.json; and the run itself.
"""
EXAMPLES = (
    'countless mixed sleep.csv --formula "reaction ~ (1 + days | subject)"',
    'countless mixed growth.csv --formula "distance ~ sex + (1 + age | subject)" --out run --json',
)
# What the summary has of each effect of a cluster.
PARTS = ("mean", "2.5%", "97.5%", "spread")
# Clusters on the screen.
MOST_CLUSTERS = 30


def _families() -> list[str]:
    return ["gaussian", "diagonal-gaussian", "spherical-gaussian", "gaussian-known-covariance"]


def _priors() -> list[str]:
    from ...priors.names import PRIORS

    return sorted(PRIORS.everything())


OPTIONS = (
    Option("formula", "Outcome, fixed effects, and (effects | subject).", metavar="FORMULA"),
    Option("family", "Distribution of the effects of a cluster.", default="gaussian", choices=_families),
    Option("prior", "How subjects fall into clusters.", default="crp", choices=_priors),
    Option("noise", "Variance of the noise; left out, it is learned.", kind=float, metavar="X"),
    Option("cluster_noise", "Each cluster has a noise of its own.", kind=bool, default=False),
    Option("inference", "gibbs samples, map optimises.", default="gibbs", choices=lambda: ["gibbs", "map"]),
    *CHAIN_OPTIONS,
)


def build(request: Request) -> tuple[Any, pd.DataFrame]:
    """A MixedEffects that has looked at the table, and the table."""
    from .estimator import MixedEffects, resolve_engine

    if not request["formula"]:
        raise ValueError('--formula: say what depends on what, such as "y ~ age + (1 + time | subject)"')
    name = request["inference"]
    chosen = with_chains(resolve_engine(name), request, name, "choose --inference gibbs")
    model = MixedEffects(
        request["family"],
        request["prior"],
        request["noise"],
        name if chosen == resolve_engine(name) else chosen,
        request["seed"],
        cluster_noise=request["cluster_noise"],
        formula=request["formula"],
    )
    try:
        model._read(*model._tables(request.table, None, None, None))
    except ImportError as error:
        raise ValueError(str(error)) from None
    return model, request.table


def results(model: Any, about: About) -> Results:
    """Summary, tables for the screen and files of a fitted model."""
    general = general_results(model, about)
    summary = {
        "found": model._headline(),
        "n_clusters": model.n_clusters_,
        "clusters": [
            {"label": k, "size": int(row["", "size"])}
            | {part: float(row["", part]) for part in model.cluster_effects_[""].columns if part != "size"}
            | {name: {part: float(row[name, part]) for part in PARTS} for name in model.feature_names_}
            for k, row in model.cluster_effects_.iterrows()
        ],
        "coefficients": {name: dict(row) for name, row in model.summary().iterrows()},
        **general.summary,
    }
    screen: list[Grid | str] = [_coefficient_grid(model), _cluster_grid(model), f"{model._headline()}."]
    screen.append(model.posterior_.diagnostics().sentence(command_line=True))
    effects, clusters = model.effects_.copy(), model.cluster_effects_.copy()
    effects.columns = [f"{name} {part}" for name, part in effects.columns]
    effects.insert(0, "cluster", model.labels_)
    effects.insert(1, "probability", model.certainty_.probability.round(4))
    clusters.columns = [f"{name} {part}".strip() for name, part in clusters.columns]
    files: dict[str, str | bytes] = {
        "effects.csv": effects.to_csv(float_format="%.6g"),
        "clusters.csv": clusters.to_csv(float_format="%.6g"),
    }
    return Results(summary, screen, files)


def _coefficient_grid(model: Any) -> Grid:
    head, rows = summary_in_words(model)
    return Grid("Means, fixed effects and deviations", head, rows, right=(1, 2))


def _cluster_grid(model: Any) -> Grid:
    rows, own = [], model.posterior_.data.cluster_noise
    for k, row in list(model.cluster_effects_.iterrows())[:MOST_CLUSTERS]:
        cells = [f"{row[name, 'mean']:.4g} (spread {row[name, 'spread']:.3g})" for name in model.feature_names_]
        noise = [f"{row['', 'noise']:.4g}"] if own else []
        rows.append([str(k), f"{int(row['', 'size']):,}", *cells, *noise])
    head = ("cluster", "subjects", *model.feature_names_, *(["noise"] if own else []))
    return Grid("Which clusters?", head, rows, right=(1,))


def predict(model: Any, table: pd.DataFrame, file: Path) -> Prediction:
    """Outcomes expected at the visits of a new table, with 95% intervals."""
    try:
        found = model.predict(table, interval=0.95)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    columns = {name: found[name].tolist() for name in found.columns}
    head = [[str(i + 1), *(f"{value:.4g}" for value in row)] for i, row in enumerate(found.head(30).to_numpy())]
    return Prediction(columns, [Grid("Outcomes", ("row", *found.columns), head, right=(1, 2, 3))])


def rehearsals() -> dict[str, Request]:
    """A small fit of visits."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    subject, time = np.divmod(np.arange(90), 3)
    outcome = rng.normal(3.0, 1.0, size=30)[subject] + 0.5 * time + rng.normal(size=90)
    visits = pd.DataFrame({"subject": subject, "time": time, "age": rng.normal(50.0, 5.0, size=90), "outcome": outcome})
    return {"visits": COMMAND.request(visits, formula="outcome ~ age + (1 + time | subject)")}


COMMAND = Command("mixed", HELP, build, OPTIONS, EXAMPLES, results, predict, "clustering the subjects of", rehearsals)
