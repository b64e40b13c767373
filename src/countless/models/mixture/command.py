"""``countless fit``: what DPMixture says to the command line."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING, Any

from ..command import (
    CHAIN_OPTIONS,
    IGNORE,
    KINDS,
    LABEL,
    MISSING,
    NAME,
    About,
    Command,
    Grid,
    Option,
    Request,
    Results,
    asked_chains,
    column_grid,
    csv_text,
    plain,
    with_chains,
)
from .new_rows import predict

if TYPE_CHECKING:
    import pandas as pd

    from ...plots.parts.fit import Fit
    from ...posterior.diagnostics import Diagnostics
    from ...posterior.partition.summaries import ClusterSummary

HELP = """
Cluster the rows of a table; the number of clusters is inferred.

Writes [bold]report.html[/], labels.csv (cluster of each row, its probability, the runner-up), summary.json and
summary.png into the folder --out. Stop it at any time; [bold]countless resume[/] continues.
"""
EXAMPLES = (
    "countless fit penguins.csv --label species",
    "countless fit patients.xlsx --ignore id --columns stage=categorical",
)
# Bars of the number of clusters on the screen, and the share of draws below which a number has none.
MOST_BARS, RARE = 16, 0.005
# Columns that are called so are probably known classes.
CALLED_CLASS = ("class", "classes", "label", "labels", "target", "outcome")
# Rows of a grid on the screen, and traits of a cluster there and in the summary.
MOST_ROWS = 30
MOST_TRAITS, MOST_TRAITS_WRITTEN = 3, 5
# Names of rows that a grid on the screen shows of a cluster.
MOST_NAMES = 3
# Hyperparameters stay as they are set from the data.
FIXED = "none"
# Indices of agreement with known classes, and how people read them.
COMPARED = {
    "ari": "adjusted Rand index",
    "nmi": "normalised mutual information",
    "vi": "variation of information",
    "purity": "purity",
}


# --- options ------------------------------------------------------------------------------------------------------


def _families() -> list[str]:
    from ...families import FAMILIES

    return [*sorted(FAMILIES.everything()), "auto"]


def _priors() -> list[str]:
    from ...priors.names import PRIORS

    return sorted(PRIORS.everything())


def _engines() -> list[str]:
    from ...chains.engine import ENGINES

    return [*sorted(name for name, cls in ENGINES.everything().items() if cls.serves == "mixture"), "auto"]


def _tunings() -> list[str]:
    from ...tuning import TUNINGS

    return [*sorted(TUNINGS.everything()), FIXED]


OPTIONS = (
    KINDS,
    IGNORE,
    LABEL,
    NAME,
    MISSING,
    Option(
        "family",
        "auto (default: column by column), gaussian, poisson, ...",
        default="auto",
        choices=_families,
    ),
    Option(
        "prior",
        "crp (default), pitman-yor, finite-dirichlet, mixture-of-finite.",
        default="crp",
        choices=_priors,
    ),
    Option(
        "clusters",
        "Clusters that you want; fewer where the rows fill fewer.",
        kind=int,
        metavar="N",
        minimum=1,
    ),
    Option("at_most", "Most clusters that there may be.", int, metavar="N", minimum=1),
    Option(
        "inference",
        "auto (default), gibbs, variational, map, uncollapsed, ...",
        default="auto",
        choices=_engines,
    ),
    Option(
        "concentration",
        "Of the prior; larger, more clusters. Left out, learned.",
        kind=float,
        metavar="X",
    ),
    Option(
        "tune",
        "Hyperparameters: learn (default), none, empirical-bayes, ...",
        default="learn",
        choices=_tunings,
    ),
    *CHAIN_OPTIONS,
)


# --- from options to an estimator ---------------------------------------------------------------------------------


def build(request: Request) -> tuple[Any, pd.DataFrame]:
    """A DPMixture whose every choice has been checked against the table, and the table."""
    from ...priors import resolve_prior
    from .estimator import DPMixture

    family = _with_kinds(request["family"], request.kinds) if request.kinds else request["family"]
    prior: Any = _limited(request) or resolve_prior(request["prior"])
    concentration = request["concentration"]
    if concentration is not None:
        try:
            prior = prior.with_concentration(concentration)
        except ValueError as error:
            raise ValueError(f"--concentration: {error}") from None
    model = DPMixture(
        family=family,
        prior=request["prior"] if concentration is None and not _limits(request) else prior,
        inference=_engine(request, family, prior),
        random_state=request["seed"],
        tune=None if request["tune"] == FIXED else request["tune"],
    )
    return model, request.table


def _limits(request: Request) -> list[str]:
    """Options about the number of clusters that were given."""
    return [name for name in ("clusters", "at_most") if request.options.get(name) is not None]


def _limited(request: Request) -> Any:
    """The prior with a wanted or a largest number of clusters; None where there is none."""
    from ...priors import FiniteDirichlet

    limits = _limits(request)
    if not limits:
        return None
    if len(limits) > 1:
        raise ValueError("--clusters and --at-most: give one of them")
    flag = f"--{limits[0].replace('_', '-')}"
    if request["prior"] not in ("crp", "finite-dirichlet"):
        raise ValueError(f"{flag}: it sets the prior to finite-dirichlet; leave out --prior {request['prior']}")
    wanted = request[limits[0]]
    if wanted > len(request.table):
        raise ValueError(f"{flag}: {wanted} clusters are more than the {len(request.table):,} rows of the table")
    # With a total of as many as there are components, weights are uniform, and hardly any component stays empty.
    return FiniteDirichlet(wanted, float(wanted) if limits == ["clusters"] else None)


def _with_kinds(family: str, kinds: Any) -> Any:
    """A mixed table in which some columns have a kind of their own."""
    from ...families import Table
    from ...families.table.written import PARTS

    if family != "auto":
        raise ValueError(f"--columns: kinds of single columns need --family auto, got {family!r}")
    known = [*(name for name in _families() if name != "auto"), *PARTS]
    for name, kind in kinds.items():
        if kind != "ignore" and kind not in known:
            listed = ", ".join(map(repr, known))
            raise ValueError(f"--columns: {kind!r} for {name!r} is not known; choose one of {listed}, 'ignore'")
    return Table(dict(kinds))


def _engine(request: Request, family: Any, prior: Any) -> Any:
    """The engine, or its name where nothing but the name was asked for; it must be able to fit the table."""
    from ...core.errors import CannotDrawMissing, ColumnOfText, MissingCell
    from ...families import resolve_family
    from .engines.choice import resolve_inference

    name = "gibbs" if request["inference"] == "auto" and asked_chains(request) else request["inference"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit reads the table again, and warns then
            known, rows = resolve_family(family).read(request.table)
        known.check(rows)
        known = known.resolve(rows)
        missing = known.draws_missing(rows)
        engine = resolve_inference(name, len(rows), known, prior.resolve(len(rows)), False, missing)
    except ColumnOfText as error:
        raise ValueError(
            f"column {error.column!r} holds text; choose --family auto, which takes categories, or encode it as "
            "numbers, or leave it out with --ignore"
        ) from None
    except MissingCell as error:
        column = str(request.table.columns[error.column])
        raise ValueError(
            f"column {column!r} has a missing cell in row {error.row + 1}; choose --family auto, which takes missing "
            "cells, or leave it out with --ignore"
        ) from None
    except CannotDrawMissing as error:
        raise ValueError(
            f"cells are missing in correlated Gaussian columns, which {error.engine} cannot draw; choose --inference "
            f"{' or '.join(error.able)}, or --family diagonal-gaussian"
        ) from None
    chosen = with_chains(engine, request, name, "choose --inference gibbs")
    return chosen if asked_chains(request) else name


# --- from a fitted model to what people see -----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Found:
    """A fitted model and the answers of its posterior that the results share."""

    fit: Fit
    compared: dict[str, Any] | None

    @classmethod
    def of(cls, model: Any, about: About) -> _Found:
        from ...plots.parts.fit import fitted

        return cls(fitted(model), compared(about, model.labels_))

    @property
    def model(self) -> Any:
        return self.fit.model

    @property
    def clusters(self) -> list[ClusterSummary]:
        """The largest first."""
        return self.fit.summaries

    @property
    def diagnostics(self) -> Diagnostics:
        return self.fit.diagnostics

    @property
    def disagree(self) -> bool:
        """Whether chains disagree, so that shares of their draws are no probabilities."""
        return self.fit.disagreement is not None

    def sure(self, label: int) -> float:
        """Mean probability of the rows of a cluster."""
        return float(self.model.certainty_.probability[self.model.labels_ == label].mean())


def results(model: Any, about: About) -> Results:
    """Summary, tables for the screen, labels and figure of a fitted mixture."""
    from ... import plots
    from ...report.settings import columns_of

    found = _Found.of(model, about)
    screen: list[Grid | str] = [*column_grid(columns_of(model)), *_known_classes(model, about)]
    answer = [f"{plots.sentence(found.fit)}.", found.diagnostics.sentence(command_line=True)]
    if found.disagree:
        screen.append(f"WARNING: {answer.pop(0)}")
    if model.posterior_.is_sampled:
        screen.append(_count_grid(found))
    screen += [_cluster_grid(found), *answer]
    allowed = getattr(model.prior, "n_components", model.n_clusters_)
    if model.n_clusters_ < allowed:
        screen.append(f"{allowed} clusters were allowed; the rows fill {model.n_clusters_}.")
    if model.held_out_ is not None:
        screen.append(f"{str(model.held_out_).capitalize()}.")
    if found.compared is not None:
        screen.append(_agreement(found.compared))
    files: dict[str, str | bytes] = {
        "labels.csv": _labels_text(model),
        "summary.png": plots.render(plots.summary(found.fit)),
    }
    return Results(_summary(found, about), screen, files)


def _known_classes(model: Any, about: About) -> list[str]:
    """How a column of what are probably known classes is left out of the fit."""
    read = [column.name for column in model.posterior_.data.columns if column.is_categorical]
    name = next((name for name in read if name.lower() in CALLED_CLASS), None)
    if name is None or about.label is not None or len(model.posterior_.data.columns) < 2:
        return []
    return [f"{name!r} was clustered like the other columns; --label {name} would only compare it with the clusters."]


def compared(about: About, labels: Any) -> dict[str, Any] | None:
    """Agreement with the known classes, over the rows whose class is known; None where none is."""
    import numpy as np

    from ...metrics import compare

    if about.classes is None or len(about.classes) != len(labels):
        return None
    known = [i for i, each in enumerate(about.classes) if each is not None]
    classes = [about.classes[i] for i in known]
    if not classes:
        return None
    values = compare(np.asarray(labels)[known], classes, metrics=tuple(COMPARED))
    return {"label": about.label, "rows": len(known), "classes": len(set(classes)), **values}


def _summary(found: _Found, about: About) -> dict[str, Any]:
    """Everything needed to know what was found and to find it again."""
    from ...plots import sentence
    from ...report.settings import columns_of, versions

    model, posterior = found.model, found.model.posterior_
    pmf = posterior.n_clusters_pmf() if posterior.is_sampled and not found.disagree else {}
    by_chain = {"n_clusters_by_chain": found.fit.modes} if found.disagree else {}
    return {
        "found": sentence(found.fit),
        "n_clusters": int(model.n_clusters_),
        "n_clusters_probability": {str(k): share for k, share in pmf.items()} or None,
        **by_chain,
        **found.diagnostics.summary(),
        "clusters": [
            {
                "label": each.label,
                "size": each.size,
                "size_interval": [each.size_low, each.size_high],
                "probability": round(found.sure(each.label), 4),
                "traits": [_trait(trait) for trait in each.traits[:MOST_TRAITS_WRITTEN]],
            }
            for each in found.clusters
        ],
        "concentration": model.concentration_,
        "held_out": None if model.held_out_ is None else model.held_out_.summary(),
        **({} if found.compared is None else {"compared": found.compared}),
        "data": {"file": about.file, "rows": len(model.labels_), "columns": columns_of(model)},
        "family": plain(model.family_),
        "prior": plain(model.prior_),
        "inference": plain(model.inference_),
        "tune": plain(model.tune),
        "seed": model.random_state if isinstance(model.random_state, int) else None,
        "command": about.command,
        "versions": versions(),
    }


def _trait(trait: Any) -> dict[str, Any]:
    """What distinguishes a cluster, in words and as numbers."""
    return {name: getattr(trait, name) for name in ("text", "column", "level", "value", "others", "effect")}


def _labels_text(model: Any) -> str:
    """One line per row, numbered from 1: its name, if any, label, its probability, and what comes second."""
    sure, names = model.certainty_, model.row_names_
    columns = (model.labels_, sure.probability, sure.runner_up, sure.runner_up_probability)
    header = ["row", "label", "probability", "runner_up", "runner_up_probability"]
    lines: list[list[Any]] = [header[:1] + ["name"] * (names is not None) + header[1:]]
    for i, (label, p, second, p2) in enumerate(zip(*columns, strict=True)):
        named = [] if names is None else [names[i]]
        lines.append([i + 1, *named, label, f"{p:.4f}", *([second, f"{p2:.4f}"] if second >= 0 else ["", ""])])
    return csv_text(lines)


def _count_grid(found: _Found) -> Grid:
    from ...plots import percent

    model = found.model
    bars = _bars(model.posterior_.n_clusters_pmf())
    top = max(share for _, _, share in bars)
    rows = []
    for low, high, share in bars:
        mark = " (consensus)" if low <= model.n_clusters_ <= high else ""
        number = str(low) if low == high else f"{low} to {high}"
        rows.append([number, percent(share), "#" * round(24 * share / top) + mark])
    header = ("clusters", "share of draws, no probability" if found.disagree else "probability", "")
    return Grid("How many clusters?", header, rows)


def _bars(pmf: dict[int, float]) -> list[tuple[int, int, float]]:
    """Numbers of clusters with their share of the draws; ranges of numbers where there are too many for the screen."""
    shown = [k for k, share in pmf.items() if share >= RARE]
    width = -(-(shown[-1] - shown[0] + 1) // MOST_BARS)
    bars = [(low, low + width - 1) for low in range(shown[0], shown[-1] + 1, width)]
    held = [(low, high, sum(pmf.get(k, 0.0) for k in range(low, high + 1))) for low, high in bars]
    return [bar for bar in held if bar[2] >= RARE]


def _cluster_grid(found: _Found) -> Grid:
    from ...plots import percent
    from ...report.profiles import such_as

    n_rows, clusters = len(found.model.labels_), found.clusters
    rows = []
    for each in clusters[:MOST_ROWS]:
        traits = "; ".join(trait.text for trait in each.traits[:MOST_TRAITS])
        names = such_as(found.fit, each.label, MOST_NAMES)
        traits = traits if names is None else f"{names}: {traits}"
        share, sure = percent(each.size / n_rows), percent(found.sure(each.label))
        rows.append([str(each.label), f"{each.size:,}", share, sure, traits])
    if len(clusters) > MOST_ROWS:
        rest = sum(each.size for each in clusters[MOST_ROWS:])
        more = f"{len(clusters) - MOST_ROWS} smaller ones"
        rows.append(["others", f"{rest:,}", percent(rest / n_rows), "", more])
    return Grid("Which clusters?", ("cluster", "rows", "share", "sure", "what distinguishes it"), rows)


def _agreement(values: dict[str, Any]) -> str:
    figures = ", ".join(f"{name} {values[key]:.3f}" for key, name in COMPARED.items())
    return f"Against {values['label']!r} ({values['classes']} classes, {values['rows']:,} rows): {figures}."


# --- the command ---------------------------------------------------------------------------------------------------


def rehearsals() -> dict[str, Request]:
    """Small fits of a table, of numbers alone, and of many rows."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    groups = rng.integers(0, 3, size=80)
    table = pd.DataFrame(rng.normal(size=(80, 2)) + 4.0 * groups[:, None], columns=["height", "weight"])
    numbers = table.copy()
    table["colour"] = np.array(["red", "green", "blue"])[(groups + (rng.random(80) < 0.2)) % 3]
    table["visits"] = rng.poisson(1.0 + 4.0 * groups)
    return {
        "a table": COMMAND.request(table.mask(rng.random(table.shape) < 0.05)),
        "numbers": COMMAND.request(numbers, family="gaussian"),
        "many rows": COMMAND.request(numbers, family="gaussian", inference="variational"),
    }


COMMAND = Command("fit", HELP, build, OPTIONS, EXAMPLES, results, predict, "clustering", rehearsals)
