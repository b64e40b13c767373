"""The report of a mixture: the sections of its page, in their order."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any

from ...core.text import count
from ...families import Table
from ...plots.chains import LEFT_OUT
from ...plots.parts.fit import Fit, fitted
from ...report import Page, Section, chains, converged, facts, settings, table, unfinished
from ...report import clusters as about
from ...report.rows import Shown, rows_content
from ...report.settings import seed_of
from .command import FIXED
from .data import MixtureData

# Tables that are drawn from the model for the page, cells of a table that is not too large for that, and checks shown.
REPLICATES, MOST_CELLS, MOST_CHECKS, MOST_SENTENCES = 50, 2_000_000, 20, 6


def report_page(model: Any, title: str | None, command: str | None, most_rows: int) -> Page:
    """The page of a fitted mixture with at most ``most_rows`` of its rows.

    The answer comes first: how many clusters, how certain, and whether the chains agree. Then the rows in a plane,
    which clusters form one group, what distinguishes each cluster, the posterior of the number of clusters, which rows
    belong together, whether tables drawn from the model look like this one, traces, a table of rows with their
    probabilities, which shapes were compared, and the settings.
    """
    fit = fitted(model)
    shown = Shown.of(fit.data, fit.labels, most_rows)
    section, tree = about.tree(fit) if isinstance(fit.data, MixtureData) else (None, None)
    cards = [about.how_many(fit), about.how_certain(fit), converged(fit.diagnostics), about.what_was_read(fit)]
    return Page(
        title or f"{count(fit.n_rows, 'row')}, {count(len(fit.data.columns), 'column')}",
        about.headline(fit),
        [
            facts(cards, [fit.words.unknown, unfinished(fit.posterior)], remarks=[about.how_predictive(fit)]),
            about.scatter(fit, shown),
            section,
            about.cluster_profiles(fit),
            about.n_clusters(fit),
            about.pairs(fit),
            _checks(fit),
            chains(fit.posterior, fit.diagnostics, LEFT_OUT),
            about.row_table(fit, shown),
            _shapes(model),
            settings(model, command or shell_command(model), _in_words(fit)),
        ],
        {about.ROWS: rows_content(fit, shown), about.TREE: tree},
    )


def _checks(fit: Fit) -> Section | None:
    """The table beside tables drawn from the model; None where there are too many cells for a page."""
    if not isinstance(fit.data, MixtureData) or fit.data.rows.size > MOST_CELLS:
        return None
    found = fit.posterior.checks(REPLICATES)
    header = ["column", "what", "here", "model, from", "to", "deviations", "striking"]
    rows = [
        [
            " and ".join(check.columns),
            check.what,
            *(round(value, 4) for value in (check.observed, check.low, check.high)),
            round(check.deviations, 1),
            "yes" if check.striking else "",
        ]
        for check in found.checks[:MOST_CHECKS]
    ]
    if not rows:
        return None
    sentences = [check.text + "." for check in found.striking[:MOST_SENTENCES]] or [str(found)]
    more = len(found.striking) - MOST_SENTENCES
    note = " ".join(sentences) + (f" And {more} more." if more > 0 else "")
    remark = (
        f"{REPLICATES} tables of the same size were drawn from the fitted model; 95% of them are in between. "
        "What is striking may split one group into several clusters; another family or shape may suit it better."
    )
    return table("checks", "Does the model fit?", header, rows, note=note, remarks=(remark,), link="Fit")


def _shapes(model: Any) -> Section | None:
    """The shapes that were compared for the measurements of a table; None where there was nothing to compare."""
    trials = getattr(model, "choice_", [])
    if len(trials) < 2:
        return None
    header = ["shape", "log density of a row", "gain", "standard error", "clusters", "taken"]
    rows = [
        [
            trial["shape"],
            round(trial["log_density"], 3),
            round(trial["gain"], 3),
            round(trial["standard_error"], 3),
            trial["n_clusters"],
            "yes" if trial["taken"] else "",
        ]
        for trial in trials
    ]
    note = (
        "Short fits with each shape predicted rows that they had not seen. The simplest is taken that is within one "
        "standard error of the best. Gains are over the first shape; clusters are those of the short fit."
    )
    return table("shapes", "Which shape do clusters have?", header, rows, note=note, link="Shapes")


def _in_words(fit: Fit) -> dict[str, str]:
    """The concentration, and the kinds of columns where there are several."""
    model, words = fit.model, {}
    kinds = Counter(column.family for column in fit.data.columns)
    if len(kinds) > 1:
        listed = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        words["family"] = f"{type(model.family_).__name__}: {listed}"
    if fit.kind == "estimate":
        return words
    mean = " (posterior mean)" if fit.kind == "sampled" else ""
    return {**words, "concentration": f"{model.concentration_:.4g}{mean}"}


def shell_command(model: Any) -> str | None:
    """The command line of the same fit; None where a setting cannot be given there."""
    if type(model).command is None:
        return None
    words = ["countless", "fit", "TABLE.csv"]
    for name in ("family", "prior", "inference", "tune"):
        if not hasattr(model, name):
            continue
        value = getattr(model, name)
        if value is None and name == "family":
            # Left open it is read off the table, as on the command line, unless the rows were an array of numbers.
            value = "auto" if isinstance(model.family_, Table) else model.family_.short_name()
        value = value or FIXED
        if not isinstance(value, str):
            return None
        words += [f"--{name}", value]
    seed = seed_of(model)
    return shlex.join(words if seed is None else [*words, "--seed", str(seed)])
