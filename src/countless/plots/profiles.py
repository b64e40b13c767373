"""Cluster profiles: which columns and categories distinguish each cluster from the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..core.text import percent
from .parts.effects import Feature, features
from .parts.fit import fitted
from .parts.style import INK, PALE, axes, colour, headline, room

MOST_FEATURES = 30
MOST_CLUSTERS = 20
# Colours are at their deepest for this many standard deviations.
DEEPEST = 2.5
# Points that a number in a cell needs, and the name of a row.
CELL = (25.0, 8.0)
NAME = 10.5


def profiles(model: Any, ax: Axes | None = None) -> Axes:
    """Heat map of what distinguishes each cluster.

    A row is a column of the table, or one category of it; a column is a cluster. Colours are the distance from all
    rows: standardised differences of means for numbers, log odds ratios for categories, times sqrt(3) / pi, which makes
    them comparable. The numbers are the mean of the cluster or the share of the category in it; the last column is that
    of all rows. Of more than 30 columns those with the largest share of variance between clusters are shown, of more
    than 20 clusters the largest, and a note says so.

    Parameters
    ----------
    model : fitted model
    ax : Axes, optional

    Returns
    -------
    Axes

    References
    ----------
    Cohen 1988, *Statistical power analysis for the behavioral sciences*, chapter 2; Chinn 2000, *A simple method for
    converting an odds ratio to effect size*, Statistics in Medicine 19, 3127-3131.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture("gaussian", random_state=0).fit(cl.datasets.load_faithful())
    >>> [label.get_text() for label in cl.plots.profiles(model).get_yticklabels()]
    ['eruptions', 'waiting']
    """
    fit = fitted(model)
    every = features(fit)
    if not every:
        raise ValueError("model: all cells of its rows are missing, so that nothing distinguishes the clusters")
    # The caller's axes may have room for fewer names.
    picked = _most_telling(every, MOST_FEATURES if ax is None else int(np.clip(room(ax)[1] / NAME, 3, MOST_FEATURES)))
    shown = np.sort(np.argsort(-fit.sizes, kind="stable")[:MOST_CLUSTERS])
    effects = np.array([feature.effects[shown] for feature in picked])
    width = 2.8 + 0.48 * (len(shown) + 1) + 1.0
    ax = axes(ax, (max(5.2, width), max(2.6, 1.5 + 0.26 * len(picked))))
    deepest = float(np.clip(np.nanmax(np.abs(effects), initial=0.0), 1.0, DEEPEST))
    _paint(ax, effects, deepest)
    _name(ax, picked, shown)
    _write(ax, picked, shown, effects / deepest)
    _colour_bar(ax)
    notes = []
    if len(picked) < len(every):
        what = "columns and categories" if any(feature.is_share for feature in every) else "columns"
        notes.append(f"the {len(picked)} most distinctive of {len(every)} {what}")
    if len(shown) < fit.n_clusters:
        notes.append(f"the {len(shown)} largest of {fit.n_clusters} clusters")
    if fit.n_clusters == 1:
        notes.append("there is only one cluster")
    headline(ax, "What distinguishes the clusters?", *notes)
    return ax


def _most_telling(every: list[Feature], at_most: int) -> list[Feature]:
    order = np.argsort([-feature.telling for feature in every], kind="stable")[:at_most]
    return [every[i] for i in np.sort(order)]


def _paint(ax: Axes, effects: NDArray[np.float64], deepest: float) -> None:
    n_features, n_clusters = effects.shape
    ax.set_facecolor(PALE)
    ax.imshow(
        np.ma.masked_invalid(effects),
        cmap="RdBu_r",
        vmin=-deepest,
        vmax=deepest,
        aspect="auto",
        interpolation="nearest",
    )
    ax.hlines(np.arange(1, n_features) - 0.5, -0.5, n_clusters - 0.5, color="white", lw=1.0)
    ax.vlines(np.arange(1, n_clusters) - 0.5, -0.5, n_features - 0.5, color="white", lw=1.0)


def _write(ax: Axes, picked: list[Feature], shown: NDArray[np.int64], depth: NDArray[np.float64]) -> None:
    """Values in the cells and of all rows beside them, where they can be read."""
    width, height = room(ax)
    cell = width / (len(shown) + 1), height / len(picked)
    if cell[0] < CELL[0] or cell[1] < CELL[1]:
        return
    n_clusters = len(shown)
    ax.axvspan(n_clusters - 0.5, n_clusters + 0.5, color="white", lw=0)
    ax.set_xlim(-0.5, n_clusters + 0.5)
    ax.set_xticks(np.arange(n_clusters + 1), [*map(str, shown), "all"])
    _colour_names(ax, shown)
    size = float(np.clip(min(cell[0] / 4.2, cell[1] / 1.5), 6.0, 9.0))
    for i, feature in enumerate(picked):
        numbers = [*feature.values[shown], feature.overall]
        texts = [percent(v) if feature.is_share else shortest(v) for v in numbers]
        for place, (number, text) in enumerate(zip(numbers, texts, strict=True)):
            if not np.isnan(number):
                dark = place < len(shown) and abs(depth[i, place]) > 0.6
                ax.text(place, i, text, ha="center", va="center", fontsize=size, color="white" if dark else INK)


def shortest(number: float) -> str:
    """A number in about three digits, at most five characters wide where it can be."""
    size = abs(number)
    if size == 0.0:
        return "0"
    if size >= 1e9 or size < 1e-3:
        return f"{number:.0e}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    if size >= 1e4:
        return f"{number / 1e6:.1f}M" if size >= 999_500 else f"{number / 1e3:.0f}k"
    digits = 0 if size >= 100.0 else 1 if size >= 10.0 else 2 if size >= 0.1 else 3
    return f"{number:.{digits}f}"


def _name(ax: Axes, picked: list[Feature], shown: NDArray[np.int64]) -> None:
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, colors=INK, labelsize=9)
    ax.set_yticks(np.arange(len(picked)), [feature.name for feature in picked])
    if len(picked) > 20:
        ax.tick_params(axis="y", labelsize=8)
    ax.set_xticks(np.arange(len(shown)), [*map(str, shown)])
    _colour_names(ax, shown)
    ax.set_xlabel("cluster", color=INK)


def _colour_names(ax: Axes, shown: NDArray[np.int64]) -> None:
    for place, text in enumerate(ax.get_xticklabels()):
        is_cluster = place < len(shown)
        text.set_color(colour(int(shown[place])) if is_cluster else INK)
        text.set_fontweight("bold" if is_cluster else "normal")


def _colour_bar(ax: Axes) -> None:
    bar = ax.figure.colorbar(ax.images[0], ax=ax, fraction=0.04, pad=0.02, extend="both", aspect=25)
    bar.set_label("standard deviations from all rows", fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    bar.locator = MaxNLocator(nbins=5, integer=True)
    bar.update_ticks()
