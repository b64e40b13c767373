"""How certain the cluster of each row is: all rows sorted, and the least certain with their second choice."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import NDArray

from ..core.text import count, percent
from .heatmap import apart
from .parts.fit import SURE, Fit, fitted
from .parts.pick import spaced
from .parts.style import INK, PALE, QUIET, axes, colour, headline, marker, quiet, room

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Bars of all rows together: more would be thinner than a pixel.
MOST_BARS = 1200
# The least share of the height that a cluster gets, so that a small one can be seen.
LEAST_HEIGHT = 1.0 / 30.0
MOST_WAVERING = 25
FEW = 8


def uncertainty(model: Any, ax: Axes | None = None) -> Axes:
    """Probability of each row's cluster, cluster by cluster, the most certain rows on top.

    Each row is a bar: the part in the colour of its cluster is the probability of that cluster, the part that follows
    is that of the runner-up. The height of a cluster is its number of rows, with a minimum for small clusters.

    Parameters
    ----------
    model : fitted model
    ax : Axes, optional

    Returns
    -------
    Axes

    See Also
    --------
    wavering : the least certain rows by number.

    References
    ----------
    Wade and Ghahramani 2018, *Bayesian cluster analysis: point estimation and credible balls*, Bayesian
    Analysis 13, 559-626; the layout is that of Rousseeuw's (1987) silhouettes.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.uncertainty(model).get_xlabel()
    'probability of the cluster'
    """
    fit = fitted(model)
    ax = axes(ax, (6.4, 4.8))
    quiet(ax)
    shares = np.maximum(fit.sizes / fit.n_rows, min(LEAST_HEIGHT, 0.7 / fit.n_clusters))
    heights = shares / shares.sum()
    gap = 0.004 if fit.n_clusters > 1 else 0.0
    tops = np.cumsum(heights) - heights
    thinned = False
    for k in range(fit.n_clusters):
        members = np.flatnonzero(fit.labels == k)
        order = members[np.argsort(-fit.certainty.probability[members], kind="stable")]
        kept = order[spaced(len(order), max(30, int(MOST_BARS * heights[k])))]
        thinned |= len(kept) < len(order)
        _bars(ax, fit, k, kept, float(tops[k]) + gap, float(tops[k] + heights[k]) - gap)
    _name_axes(ax, fit, tops + 0.5 * heights)
    n_wavering = int((fit.certainty.probability < SURE).sum())
    title = f"How certain is each row? {n_wavering:,} of {count(fit.n_rows, 'row')} below {SURE:.0%}"
    headline(ax, title, _busiest(fit), "rows thinned evenly" if thinned else "", fit.words.rows)
    return ax


def wavering(model: Any, ax: Axes | None = None, at_most: int = MOST_WAVERING) -> Axes:
    """The least certain rows, each with the probabilities of its cluster and of the runner-up.

    These are rows whose cluster has a probability below 90%; if there are none, the eight least certain rows.

    Parameters
    ----------
    model : fitted model
    ax : Axes, optional
    at_most : int
        Number of rows to show.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> len(cl.plots.wavering(model, at_most=3).get_yticklabels()) <= 3
    True
    """
    fit = fitted(model)
    if not isinstance(at_most, (int, np.integer)) or at_most < 1:
        raise ValueError(f"at_most must be a whole number of at least 1, got {at_most!r}")
    sure = fit.certainty
    n_wavering = int((sure.probability < SURE).sum())
    # If every row is certain, a few show by how much.
    shown = min(int(at_most), n_wavering or FEW, fit.n_rows)
    rows = np.argsort(sure.probability, kind="stable")[:shown]
    ax = axes(ax, (6.0, max(2.4, 1.1 + 0.2 * len(rows))))
    quiet(ax)
    places = np.arange(len(rows))
    own, second = sure.probability[rows], sure.runner_up_probability[rows]
    ax.hlines(places, np.where(sure.runner_up[rows] < 0, own, second), own, color=PALE, lw=2.0, zorder=1)
    ahead = own >= second
    _dots(ax, second, places, sure.runner_up[rows], filled=False, right=~ahead)
    _dots(ax, own, places, fit.labels[rows], filled=True, right=ahead)
    ax.set_yticks(places, [f"row {row}" for row in rows])
    ax.tick_params(axis="y", labelsize=8, length=0)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set(xlim=(-0.05, 1.05), xlabel="probability of the cluster")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.axvline(SURE, color=QUIET, lw=0.8, ls=":", zorder=0)
    title = f"Which rows are uncertain? {n_wavering:,} of {count(fit.n_rows, 'row')}"
    headline(
        ax,
        title if shown >= n_wavering else f"{title}, the {shown} least certain shown",
        "filled: own cluster, open: runner-up" if fit.n_clusters > 1 else "",
        fit.words.rows,
    )
    return ax


def _bars(ax: Axes, fit: Fit, k: int, rows: NDArray[np.int64], top: float, bottom: float) -> None:
    """Bars of the rows of one cluster between two heights."""
    sure = fit.certainty
    edges = np.linspace(top, bottom, len(rows) + 1)
    own = sure.probability[rows]
    second = np.minimum(own + sure.runner_up_probability[rows], 1.0)
    ax.stairs(np.ones(len(rows)), edges, orientation="horizontal", fill=True, color="#EFEFEF", lw=0, zorder=1)
    heights = edges[:-1], edges[1:]
    seen = np.flatnonzero((sure.runner_up[rows] >= 0) & (second > own))
    corners = [
        [(own[i], heights[0][i]), (second[i], heights[0][i]), (second[i], heights[1][i]), (own[i], heights[1][i])]
        for i in seen
    ]
    shades = [colour(int(other)) for other in sure.runner_up[rows][seen]]
    ax.add_collection(
        PolyCollection(corners, facecolors=shades, alpha=0.45, linewidths=0, zorder=2, gid=f"instead of {k}")
    )
    ax.stairs(own, edges, orientation="horizontal", fill=True, color=colour(k), lw=0, zorder=3, gid=f"cluster {k}")


def _name_axes(ax: Axes, fit: Fit, middles: NDArray[np.float64]) -> None:
    with_sizes = fit.n_clusters <= 15
    names = [f"{k}  ({size:,})" if with_sizes else str(k) for k, size in enumerate(fit.sizes)]
    named = apart(middles, fit.sizes, 9.5 / room(ax)[1])
    ax.set_yticks(middles[named], [names[k] for k in named])
    ax.tick_params(axis="y", length=0, labelsize=9 if fit.n_clusters <= 15 else 7)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(1.0, 0.0)
    ax.set_xlim(0.0, 1.0)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_ylabel("cluster (rows), most certain on top" if with_sizes else "cluster, most certain on top")
    ax.set_xlabel("probability of the cluster")
    ax.axvline(SURE, color=INK, lw=0.8, ls=":", zorder=4)


def _busiest(fit: Fit) -> str:
    """The two clusters between which most of the uncertain rows lie."""
    unsure = (fit.certainty.probability < SURE) & (fit.certainty.runner_up >= 0)
    if not unsure.any():
        return ""
    a, b = fit.labels[unsure], fit.certainty.runner_up[unsure]
    pairs, counts = np.unique(np.stack([np.minimum(a, b), np.maximum(a, b)]), axis=1, return_counts=True)
    at = int(np.argmax(counts))
    share = "all" if len(counts) == 1 else percent(counts[at] / counts.sum())
    return f"{share} of them between {pairs[0, at]} and {pairs[1, at]}"


def _dots(ax: Axes, x: FloatArray, y: IntArray, clusters: IntArray, filled: bool, right: NDArray[np.bool_]) -> None:
    """A mark of each row at its probability, with the number of the cluster at one side."""
    for k in np.unique(clusters[clusters >= 0]):
        mine, shade = clusters == k, colour(int(k))
        face = shade if filled else "white"
        ax.scatter(
            x[mine], y[mine], s=30.0, marker=marker(int(k)), fc=face, ec=shade, lw=1.2, zorder=3 if filled else 2
        )
    for i in np.flatnonzero(clusters >= 0):
        ax.annotate(
            str(clusters[i]),
            (x[i], y[i]),
            xytext=(5.0 if right[i] else -5.0, 0.0),
            textcoords="offset points",
            fontsize=7,
            color=INK,
            ha="left" if right[i] else "right",
            va="center",
        )
