"""Which clusters overlap, and the groups that they form: a dendrogram."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..core.text import count
from ..posterior.partition.tree import OVERLAP, ClusterTree
from .parts.fit import fitted
from .parts.style import GREY, INK, axes, colour, headline, quiet

# Overlaps that are smaller are drawn there: such clusters are apart.
LEAST = 1e-3
TICKS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, LEAST)
# Clusters of a tree that can be read.
MOST_CLUSTERS = 60


def tree(model: Any, ax: Axes | None = None, n_groups: int | None = None) -> Axes:
    """Clusters that join two by two, those that overlap most first; groups have a colour each.

    Parameters
    ----------
    model : fitted model of a mixture
    ax : Axes, optional
    n_groups : int, optional
        How many groups; default, those that hardly overlap.

    Returns
    -------
    Axes

    See Also
    --------
    countless.DPMixture.merge : the groups of the rows.

    References
    ----------
    Hennig 2010, *Methods for merging Gaussian mixture components*, Advances in Data Analysis and Classification 4,
    3-34.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.tree(model).get_xlabel()
    'overlap of the clusters that join'
    """
    from scipy.cluster.hierarchy import dendrogram

    fit = fitted(model)
    found: ClusterTree = fit.posterior.tree(fit.labels)
    if found.n_clusters > MOST_CLUSTERS:
        raise ValueError(f"model: a tree is drawn of at most {MOST_CLUSTERS} clusters, this fit has {found.n_clusters}")
    groups = found.groups(n_groups)
    ax = axes(ax, (6.4, max(2.2, 1.3 + 0.24 * found.n_clusters)))
    quiet(ax)
    order = dendrogram(found.linkage(), no_plot=True)["leaves"] if found.n_clusters > 1 else [0]
    places = {int(leaf): 10.0 * at + 5.0 for at, leaf in enumerate(order)}
    _branches(ax, found, groups, places)
    ax.set_yticks([places[k] for k in order], [f"cluster {k}: {count(int(fit.sizes[k]), 'row')}" for k in order])
    for label, k in zip(ax.get_yticklabels(), order, strict=True):
        label.set_color(colour(int(groups[k])))
    if n_groups is None:
        ax.axvline(OVERLAP, color=GREY, lw=1.0, ls="--")
    ax.set_xscale("log")
    ax.set_xlim(1.0, 0.7 * LEAST)
    ax.set_xticks(TICKS, [f"{tick:.1%}".replace(".0%", "%") for tick in TICKS[:-1]] + ["less"])
    ax.minorticks_off()
    ax.set_ylim(0.0, 10.0 * found.n_clusters)
    ax.set_xlabel("overlap of the clusters that join")
    note = "joined left of the line: one group" if n_groups is None else ""
    headline(ax, f"Which clusters overlap? {count(int(groups.max()) + 1, 'group')}", note)
    return ax


def _branches(ax: Axes, found: ClusterTree, groups: Any, places: dict[int, float]) -> None:
    """One bracket for each join: from where the two stand to the overlap at which they join."""
    n_clusters = found.n_clusters
    at = dict.fromkeys(range(n_clusters), 1.0)
    place = dict(places)
    inside = {k: {int(groups[k])} for k in range(n_clusters)}
    levels = np.maximum(1.0 - found.levels, LEAST)
    for step, (i, j) in enumerate(found.joins.tolist()):
        node, x = n_clusters + step, float(levels[step])
        inside[node] = inside[i] | inside[j]
        hue = colour(next(iter(inside[node]))) if len(inside[node]) == 1 else INK
        for child in (i, j):
            own = colour(next(iter(inside[child]))) if len(inside[child]) == 1 else INK
            ax.plot([at[child], x], [place[child]] * 2, color=own, lw=1.6, solid_capstyle="butt")
        ax.plot([x, x], [place[i], place[j]], color=hue, lw=1.6, solid_capstyle="projecting")
        at[node], place[node] = x, 0.5 * (place[i] + place[j])
