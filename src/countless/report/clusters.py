"""Facts and sections about clusters of rows, for any model that has ``labels_`` and draws of a partition."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..core.text import count, percent
from ..plots.parts.fit import SURE, Fit
from ..plots.parts.kinds import SINGLE
from ..plots.parts.pick import spread
from ..plots.tree import MOST_CLUSTERS
from ..posterior.partition.tree import OVERLAP, ClusterTree
from .profiles import profiles
from .rows import Shown
from .sections import Section
from .widgets import bars, fact

# Rows of the similarity matrix and draws it is averaged over: more would not be visible.
MOST_PAIRED = 300
MOST_DRAWS = 1_000
# Rows of each cluster that the matrix shows at least.
FEWEST_PAIRED = 5
# Where the rows are, among what the sections of a page share.
ROWS, TREE = "rows", "tree"


def headline(fit: Fit) -> str:
    """What was found, in a few words: that chains disagree comes before any number, all likely numbers before one."""
    if fit.warning is not None:
        return fit.warning
    low, high = fit.likely if fit.kind == "sampled" and not fit.has_own_labels else (fit.n_clusters, fit.n_clusters)
    if low == high == fit.n_clusters:
        return f"{count(low, 'cluster')} in {count(fit.n_rows, 'row')}"
    return f"{_range(low, high)} clusters in {count(fit.n_rows, 'row')}, {fit.n_clusters} in the consensus"


# --- facts -----------------------------------------------------------------------------------------------------------


def how_many(fit: Fit) -> dict[str, str]:
    """The numbers of clusters that are probable, and which of them the page shows."""
    question, found = "How many clusters?", fit.n_clusters
    if fit.has_own_labels:
        return fact(question, str(found), "As in the labels that were given in place of the clusters found.")
    if fit.kind == "estimate":
        return fact(question, str(found), "As many as were asked for and have rows; no other number was tried.")
    if fit.kind != "sampled":
        return fact(question, str(found), "Found by optimisation; its probability is unknown.")
    shown = f"The consensus of all draws, which this page shows, has {found}."
    if fit.disagreement is not None:
        words = f"The chains disagree, so that shares of their draws are no probabilities. {shown}"
        return fact(question, fit.disagreement, words, "bad")
    pmf = fit.posterior.n_clusters_pmf()
    mode, (low, high) = max(pmf, key=lambda k: pmf[k]), fit.likely
    if pmf[mode] == 1.0:
        words = "The same number in every draw."
    elif low == high:
        words = f"With probability {percent(pmf[mode])}."
    else:
        words = f"With probability 95%; the most probable number is {mode} ({percent(pmf[mode])})."
    if low == high == found:
        return fact(question, str(found), words)
    return fact(question, _range(low, high), f"{words} {shown}")


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} {'or' if high == low + 1 else 'to'} {high}"


def how_certain(fit: Fit) -> dict[str, str]:
    """The share of rows whose cluster is certain."""
    probability = np.asarray(fit.certainty.probability)
    uncertain = int(np.sum(probability < SURE))
    rest = f"{count(uncertain, 'row')} {'is' if uncertain == 1 else 'are'}" if uncertain else "no row is"
    words = f"of the rows belong to their cluster with probability {SURE:.0%} or more; {rest} less certain."
    share, caution, state = percent(float(np.mean(probability >= SURE))), fit.words.caution, "plain"
    if fit.disagreement is not None:
        caution, state = "The chains disagree: these are shares of their draws, not probabilities.", "unknown"
    return fact("How certain are the rows?", share, f"{words} {caution}".rstrip(), state)


def how_predictive(fit: Fit) -> str | None:
    """How well a row is predicted from all others, in a sentence; None where the model does not say so."""
    found = getattr(fit.model, "held_out_", None)
    if found is None:
        return None
    return f"{str(found)[0].upper()}{str(found)[1:]}; the larger, the better the fit predicts (countless compare)."


def what_was_read(fit: Fit) -> dict[str, str]:
    """Rows, columns and missing cells."""
    data = fit.data
    categories = sum(column.is_categorical for column in data.columns)
    numbers = len(data.columns) - categories
    parts = [count(n, noun) for n, noun in ((numbers, "numeric column"), (categories, "column of categories")) if n]
    n_missing = int(np.isnan(data.rows).sum())
    share = percent(n_missing / max(data.rows.size, 1))
    missing = f"{count(n_missing, 'missing cell')} ({share})" if n_missing else "no missing cells"
    return fact("What was read?", count(len(data.rows), "row"), f"{' and '.join(parts)}; {missing}.")


# --- sections ------------------------------------------------------------------------------------------------------


def scatter(fit: Fit, shown: Shown) -> Section:
    """The rows in a plane that the reader chooses."""
    axes = ", choose the axes" if len(fit.data.columns) > 2 else ""
    hollow = bool(np.any(fit.certainty.probability[shown.rows] < SURE))
    note = f"Each mark is a row. Point at a mark to see its row{axes}, and drag to zoom in."
    if hollow:
        note += f" Hollow marks are rows whose cluster has a probability below {SURE:.0%}."
    remarks: tuple[str, ...] = ()
    if len(shown.rows) < fit.n_rows:
        remarks = (
            f"This page holds {len(shown.rows):,} of the {fit.n_rows:,} rows, chosen at random, with small clusters "
            "whole. All numbers in the text are about all rows.",
        )
    return Section("rows", "The rows", "scatter", {"table": ROWS}, note, remarks, "Rows")


def tree(fit: Fit) -> tuple[Section, dict[str, Any]] | tuple[None, None]:
    """Which clusters overlap, with a cut that the reader moves, and the tree; None where there is none to read."""
    if not 2 <= fit.n_clusters <= MOST_CLUSTERS:
        return None, None
    found: ClusterTree = fit.posterior.tree(fit.labels)
    content = {
        "joins": found.joins.tolist(),
        "overlaps": found.overlaps.tolist(),
        "sizes": fit.sizes.tolist(),
        "n_groups": found.n_groups(),
    }
    note = (
        "Several clusters can be parts of one cloud, such as a long tail or a flat stretch. The further left two "
        "branches join, the more they overlap: by the chance that a new row of the smaller one is taken for one of the "
        "other. Move the cut, or click into the tree; the scatter plot and the table follow."
    )
    start = f"{count(found.n_groups(), 'group')} at first: clusters that overlap by less than {OVERLAP:.0%} are apart."
    return Section(
        "groups", "Which clusters form one group?", "tree", {"table": TREE}, note, (start,), "Groups"
    ), content


def cluster_profiles(fit: Fit) -> Section:
    """What distinguishes each cluster."""
    cards = profiles(fit)
    kinds = {trait["bar"]["kind"] for card in cards for trait in card["traits"] if trait["bar"]}
    note = "What distinguishes each cluster from the other rows, the most distinctive trait first."
    if len(cards) == 1:
        note = "All rows are in one cluster."
    if "range" in kinds:
        note += (
            " On a line, the dot is the mean of the cluster and the thin bar its middle half; the grey bar is the "
            "middle half of the other rows."
        )
    if "share" in kinds:
        note += (
            " For a category, the coloured bar is its share in the cluster and the upright line its share in the "
            "other rows."
        )
    content = {"n_rows": fit.n_rows, "clusters": cards}
    return Section("clusters", "What distinguishes the clusters?", "profiles", content, note, link="Clusters")


def n_clusters(fit: Fit) -> Section | None:
    """Probabilities of the number of clusters; None where they are unknown."""
    if fit.kind != "sampled":
        return None
    what = "The probability of each number of clusters: its share of the draws."
    if fit.disagreement is not None:
        what = "The share of each number of clusters among the draws; the chains disagree, so it is no probability."
    return bars(
        "how-many",
        "How many clusters?",
        fit.posterior.n_clusters_pmf(),
        "number of clusters",
        fit.n_clusters,
        note=f"{what} The number of clusters that the rest of this page shows, that of the consensus of all draws, is "
        "in colour.",
        link="How many",
    )


def pairs(fit: Fit) -> Section | None:
    """Probabilities that two rows share a cluster, for some rows ordered by cluster; None for a single partition."""
    if fit.kind in SINGLE:
        return None
    labels = fit.labels
    rows = spread(labels, MOST_PAIRED, FEWEST_PAIRED)
    rows = rows[np.lexsort((-fit.certainty.probability[rows], labels[rows], -fit.sizes[labels[rows]]))]
    matrix = fit.posterior.similarity(rows, at_most=MOST_DRAWS)
    below = matrix[np.tril_indices(len(rows), -1)]
    content = {
        "number": (rows + 1).tolist(),
        "name": None if fit.data.row_names is None else fit.data.row_names.values[rows].tolist(),
        "cluster": labels[rows].tolist(),
        # One byte for each pair below the diagonal, row by row; 250 is a probability of 1.
        "share": base64.b64encode(np.rint(250.0 * below).astype(np.uint8).tobytes()).decode(),
    }
    source = "" if fit.kind == "sampled" else f" The probabilities are shares of {fit.words.similarity}."
    note = (
        "The rows of the table are ordered by cluster along both sides of the square; the darker a cell, the more "
        "probable that its two rows are in the same cluster. Clear dark blocks are clear clusters; shades between two "
        f"blocks are rows that could belong to either.{source}"
    )
    remarks: tuple[str, ...] = ()
    if len(rows) < len(labels):
        remarks = (f"{len(rows)} of {len(labels):,} rows, with at least a few of each cluster.",)
    return Section("pairs", "Which rows belong together?", "pairs", content, note, remarks, "Pairs")


def row_table(fit: Fit, shown: Shown) -> Section:
    """All rows of the page as a table."""
    note = (
        "The cluster of each row, its probability, and the runner-up. Click on a heading to sort: by probability, the "
        "least certain rows come first."
    )
    remarks = []
    if len(shown.rows) < fit.n_rows:
        remarks.append(f"{len(shown.rows):,} of {fit.n_rows:,} rows, as above.")
    n_columns = len(fit.data.columns)
    if len(shown.columns) < n_columns:
        remarks.append(f"The {len(shown.columns)} of {n_columns:,} columns that distinguish the clusters best.")
    return Section("table", "Row by row", "rows", {"table": ROWS}, note, tuple(remarks), "Table")
