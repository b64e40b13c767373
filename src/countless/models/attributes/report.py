"""Sections of the report that only latent attributes have."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.text import percent
from .figures import layout_figure, matrix_figure, membership_figure

# Names that are listed of a cluster.
MOST_NAMES = 30
# Attributes whose weights are drawn, and clusters of each.
MOST_ATTRIBUTES, MOST_CLUSTERS = 6, 30
FOLLOWED = ("n_shared", "concentration", "cluster_concentration", "bias", "noise")


def sections(model: Any) -> list[Any]:
    """Who has which attribute, the weights, the matrix beside its sums, and cumulative means of each chain."""
    from ... import report

    found = []
    if model.n_attributes_:
        found.append(_members(model))
        figure = membership_figure(model)
        note = "Colours are clusters inside an attribute; pale where it is not sure that the object has the attribute."
        found.append(
            report.image("memberships", "Who has which attribute?", figure, "Objects by attributes.", note=note)
        )
        found += _weights(model)
    found.append(report.image("matrix", "The matrix and the model", matrix_figure(model), "R, sorted, and its sums."))
    places = layout_figure(model)
    if places is not None:
        note = "Objects that are alike are near each other; each panel colours the clusters of one attribute."
        found.append(
            report.image("layout", "Objects of each attribute", places, "Objects laid out by force.", note=note)
        )
    if model.posterior_.is_sampled:
        found.append(_cumulative(model))
    return found


def _names_of(model: Any) -> list[str]:
    known = list(model.posterior_.data.known.names)
    return known + [str(m + 1) for m in range(model.n_attributes_ - len(known))]


def _members(model: Any) -> Any:
    from ... import report

    names = model.posterior_.data.object_names()
    lines: list[list[Any]] = []
    for m, title in enumerate(_names_of(model)):
        for c in range(int(model.clusters_[:, m].max()) + 1):
            inside = np.flatnonzero(model.clusters_[:, m] == c)
            tail = ", ..." if len(inside) > MOST_NAMES else ""
            listed = ", ".join(names[i] for i in inside[:MOST_NAMES]) + tail
            sure = percent(float(model.membership_probabilities_[inside, m].mean()))
            lines.append([title, c, len(inside), sure, listed])
    header = ["attribute", "cluster", "objects", "how sure", "names"]
    note = "How sure: the mean probability of these objects to have the attribute."
    return report.table("attributes", "Attributes and their clusters", header, lines, note=note)


def _weights(model: Any) -> list[Any]:
    from ... import report

    found: list[Any] = []
    note = f"What a pair of objects gains from an attribute that both have, beside the bias of {model.bias_:.4g}."
    for m, (title, square) in enumerate(zip(_names_of(model), model.weights_, strict=True)):
        if 1 < len(square) <= MOST_CLUSTERS and len(found) < MOST_ATTRIBUTES:
            sizes = [int((model.clusters_[:, m] == c).sum()) for c in range(len(square))]
            names = [f"{c} ({size})" for c, size in enumerate(sizes)]
            heading = f"Weights between the clusters of attribute {title}"
            found.append(report.heatmap(f"weights-{m + 1}", heading, square, names, names, "weight", note=note))
    return found


def _cumulative(model: Any) -> Any:
    from ... import report

    posterior = model.posterior_
    steps = np.arange(1, posterior.shape[1] + 1)
    series = {
        posterior.words(name): np.cumsum(posterior[name], axis=1) / steps
        for name in FOLLOWED
        if np.ptp(posterior[name]) > 0.0
    }
    note = "Means of all draws so far. Chains that agree end at the same height."
    return report.lines("cumulative", "Cumulative means of each chain", series, note=note)
