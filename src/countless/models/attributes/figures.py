"""Figures of latent attributes: the matrix beside its sums, who has which attribute, and objects laid out by force."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...plots.parts.style import INK, PALE, Picture, colour, layout, marker, shown_names
from .kernels.blocks import FloatArray, IntArray

# Objects whose names fit beside a picture, attributes that are laid out, and objects up to which a layout is worth it.
MOST_NAMES, MOST_LAYOUTS, MOST_LAID_OUT = 60, 6, 400


def object_order(clusters: IntArray) -> IntArray:
    """Objects sorted by their clusters in the first attribute, then in the second, ..., those without it last."""
    keys = [np.where(column < 0, np.iinfo(np.int64).max, column) for column in clusters.T]
    return np.lexsort(keys[::-1]) if keys else np.arange(len(clusters))


def matrix_figure(model: Any) -> Picture:
    """The matrix as it came, the same sorted by attributes, and what the model makes of it."""
    data, order = model.posterior_.data, object_order(model.clusters_)
    sums = model.predict_links()
    raw = data.matrix
    seen = raw[~np.isnan(raw)]
    low, high = (float(np.quantile(seen, q)) for q in (0.01, 0.99))
    if high <= low:
        low, high = float(seen.min()), float(seen.max()) or 1.0
    figure = Picture(figsize=(12.6, 4.6), layout=layout())
    panels = figure.subplots(1, 3)
    titles = (
        "as it came",
        "sorted by attributes",
        "probability of a link" if data.binary else "what the model makes of it",
    )
    shown = (raw, raw[np.ix_(order, order)], sums[np.ix_(order, order)])
    for panel, values, title in zip(panels, shown, titles, strict=True):
        picture = panel.imshow(values, cmap="Blues", vmin=low, vmax=high, interpolation="nearest")
        panel.set_title(title, fontsize=10, loc="left", color=INK)
        panel.set(xticks=[], yticks=[])
        panel.grid(visible=False)
    if len(raw) <= MOST_NAMES:
        names = shown_names(data.object_names(), 14)
        panels[0].set_yticks(range(len(raw)), names, fontsize=6)
        panels[1].set_yticks(range(len(raw)), [names[i] for i in order], fontsize=6)
    figure.colorbar(picture, ax=panels, shrink=0.8)
    return figure


def membership_figure(model: Any) -> Picture:
    """A row for each object and a column for each attribute, coloured by cluster; pale where that is not sure."""
    clusters, sure = model.clusters_, model.membership_probabilities_
    order = object_order(clusters)
    names = shown_names(model.posterior_.data.object_names(), 18)
    n, k = clusters.shape
    figure = Picture(figsize=(1.9 + 0.45 * k + 1.6, min(12.0, 1.0 + 0.16 * n)), layout=layout())
    panel = figure.add_subplot()
    from matplotlib.colors import to_rgb

    pixels = np.ones((n, k, 3))
    for at, i in enumerate(order):
        for m in range(k):
            if clusters[i, m] >= 0:
                strength = float(np.clip(sure[i, m], 0.25, 1.0))
                pixels[at, m] = 1.0 - strength * (1.0 - np.array(to_rgb(colour(int(clusters[i, m])))))
    panel.imshow(pixels, aspect="auto", interpolation="nearest")
    panel.set_xticks(range(k), [str(m + 1) for m in range(k)], fontsize=8)
    panel.set_xlabel("attribute", fontsize=9)
    panel.set_yticks(
        range(n) if n <= MOST_NAMES else [], [names[i] for i in order] if n <= MOST_NAMES else [], fontsize=6
    )
    panel.set_xticks(np.arange(k + 1) - 0.5, minor=True)
    panel.grid(which="minor", axis="x", color=PALE, linewidth=0.8)
    panel.grid(which="major", visible=False)
    panel.tick_params(which="both", length=0)
    return figure


def positions(matrix: FloatArray, steps: int = 150) -> FloatArray:
    """Places of objects, similar ones near each other: a layout by forces (Fruchterman and Reingold 1991).

    Springs as strong as the squared similarity pull, all objects push each other away, and steps become shorter.
    """
    seen = matrix[~np.isnan(matrix)]
    low, high = float(seen.min()), float(seen.max())
    strength = np.where(np.isnan(matrix), 0.0, (matrix - low) / max(high - low, 1e-300)) ** 2
    np.fill_diagonal(strength, 0.0)
    strength = 0.5 * (strength + strength.T)
    n = len(matrix)
    apart = 1.0 / np.sqrt(n)
    # As much pull as in a graph of a few links for each object.
    strength *= min(1.0, 4.0 * n / max(float(strength.sum()), 1e-300))
    places: FloatArray = np.random.default_rng(0).uniform(size=(n, 2))
    for step in np.linspace(0.1, 0.002, steps):
        between = places[:, None] - places
        length = np.maximum(np.sqrt((between**2).sum(axis=2)), 1e-3)
        force = (between * (apart**2 / length**2 - strength * length / apart)[:, :, None]).sum(axis=1)
        size = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 1e-12)
        places = places + force / size * np.minimum(size, step)
    return places


def layout_figure(model: Any) -> Picture | None:
    """Objects laid out by force, one panel for each attribute: colours are clusters, grey dots lack the attribute."""
    data, clusters = model.posterior_.data, model.clusters_
    count = min(clusters.shape[1], MOST_LAYOUTS)
    if not count or len(clusters) > MOST_LAID_OUT:
        return None
    places = positions(data.matrix)
    wide = min(count, 3)
    figure = Picture(figsize=(4.1 * wide, 3.6 * -(-count // wide)), layout=layout())
    names = shown_names(data.object_names(), 10)
    for m in range(count):
        panel = figure.add_subplot(-(-count // wide), wide, m + 1)
        _links(panel, places, data)
        outside = clusters[:, m] < 0
        panel.scatter(places[outside, 0], places[outside, 1], s=14, color=PALE, zorder=2)
        for c in range(int(clusters[:, m].max()) + 1):
            inside = clusters[:, m] == c
            panel.scatter(places[inside, 0], places[inside, 1], s=42, color=colour(c), marker=marker(c), zorder=3)
        if len(clusters) <= 40:
            for i in np.flatnonzero(~outside):
                panel.annotate(names[i], places[i], fontsize=5.5, xytext=(3, 3), textcoords="offset points", color=INK)
        panel.set_title(f"attribute {m + 1}: {int((~outside).sum())} objects", fontsize=10, loc="left", color=INK)
        panel.set(xticks=[], yticks=[])
        panel.grid(visible=False)
        for spine in panel.spines.values():
            spine.set_color(PALE)
    return figure


def _links(panel: Any, places: FloatArray, data: Any) -> None:
    if not data.binary:
        return
    from matplotlib.collections import LineCollection

    one, other = np.nonzero(np.tril(np.nan_to_num(data.matrix) + np.nan_to_num(data.matrix).T, -1))
    panel.add_collection(
        LineCollection(list(places[np.stack([one, other], axis=1)]), colors=PALE, linewidths=0.5, zorder=1)
    )
