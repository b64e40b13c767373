"""The similarity matrix as a heat map: which rows belong together, whatever the clusters are called."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ..posterior import partitions
from ._style import INK, QUIET, axes, count, quiet
from .certainty import MOST_DRAWS

# More rows than pixels would add nothing.
MOST_ROWS = 1000
MOST_NAMES = 30


def similarity(model: Any, ax: Axes | None = None) -> Axes:
    """Heat map of the probability that two rows are in the same cluster, rows ordered by the consensus.

    A sharp block is a cluster that all draws agree on; a faint one is merged with or split from others in
    some. Beyond 1000 rows a random subset is shown, and said so.

    Parameters
    ----------
    model : fitted estimator
    ax : Axes, optional

    Returns
    -------
    Axes

    References
    ----------
    Wade and Ghahramani 2018, *Bayesian cluster analysis: point estimation and credible balls*, Bayesian
    Analysis 13, 559-626.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.similarity(model).images[0].get_array().shape
    (6, 6)
    """
    labels = np.asarray(model.labels_)
    draws = model.posterior_.flat_labels(MOST_DRAWS)
    rows = _subset(len(labels))
    matrix = partitions.similarity(draws[:, rows])
    order, ends = _ordered(labels[rows], matrix)
    ax = axes(ax, (5.6, 4.6), compress=True)
    image = ax.imshow(
        matrix[np.ix_(order, order)],
        vmin=0.0,
        vmax=1.0,
        cmap="cividis",
        interpolation="nearest",
        rasterized=True,
    )
    _name_blocks(ax, labels[rows][order], ends)
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, ticks=[0.0, 0.5, 1.0])
    bar.set_label("probability of sharing a cluster", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    shown = f" ({len(rows):,} of {count(len(labels), 'row')} shown)" if len(rows) < len(labels) else ""
    ax.set_title(f"Which rows belong together?{shown}", fontsize=10, loc="left")
    return ax


def _subset(n: int) -> NDArray[np.int64]:
    if n <= MOST_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, size=MOST_ROWS, replace=False))


def _ordered(labels: NDArray[Any], matrix: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows by cluster, within it the surest first; and where each cluster ends."""
    own = labels[:, None] == labels
    sure = (matrix * own).sum(axis=1) / own.sum(axis=1)
    order = np.lexsort((-sure, labels))
    return order, np.flatnonzero(np.diff(labels[order])) + 1


def _name_blocks(ax: Axes, labels: NDArray[Any], ends: NDArray[np.int64]) -> None:
    """Thin lines between clusters, and their names at the left where there is room."""
    quiet(ax)
    ax.spines[:].set_visible(False)
    bounds = np.concatenate([[0], ends, [len(labels)]])
    ax.hlines(bounds[1:-1] - 0.5, -0.5, len(labels) - 0.5, color="white", lw=0.4, alpha=0.7)
    ax.vlines(bounds[1:-1] - 0.5, -0.5, len(labels) - 0.5, color="white", lw=0.4, alpha=0.7)
    wide = np.diff(bounds) >= len(labels) / MOST_NAMES
    centres = (bounds[:-1] + bounds[1:] - 1) / 2
    ax.set_yticks(centres[wide], labels[bounds[:-1]][wide].astype(str))
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.set_ylabel("rows, by cluster")
    ax.yaxis.label.set_color(INK)
    ax.tick_params(axis="y", colors=INK if wide.any() else QUIET)
