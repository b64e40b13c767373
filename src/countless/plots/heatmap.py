"""The similarity matrix as a heat map: which rows belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ..core.text import count
from .parts.fit import fitted
from .parts.pick import thinned
from .parts.style import INK, axes, headline, quiet

# More rows than pixels, or shares finer than the shades, would not be visible.
MOST_ROWS = 1000
MOST_DRAWS = 300
# Names closer than this many points touch.
NAME_HEIGHT = 10.0


def similarity(model: Any, ax: Axes | None = None) -> Axes:
    """Heat map of the probability that two rows are in the same cluster, rows ordered by the consensus.

    A sharp block is a cluster on which all draws agree; a faint block is merged with others, or split, in some draws.
    Lines separate the consensus clusters. Of more than 1,000 rows a random subset is shown, and a note says so.

    Parameters
    ----------
    model : fitted model
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
    fit = fitted(model)
    rows = thinned(fit.n_rows, MOST_ROWS)
    matrix = fit.posterior.similarity(rows, at_most=MOST_DRAWS)
    order = _ordered(fit.labels[rows], matrix)
    ax = axes(ax, (5.8, 4.8), compress=True)
    image = ax.imshow(
        matrix[np.ix_(order, order)],
        vmin=0.0,
        vmax=1.0,
        cmap="cividis",
        interpolation="nearest",
        rasterized=True,
    )
    _name_blocks(ax, fit.labels[rows][order])
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, ticks=[0.0, 0.5, 1.0])
    bar.set_label("probability of sharing a cluster", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    shown = f"{len(rows):,} of {count(fit.n_rows, 'row')} shown" if len(rows) < fit.n_rows else ""
    headline(ax, "Which rows belong together?", shown, fit.words.similarity)
    return ax


def _ordered(labels: NDArray[Any], matrix: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows by cluster, the most certain first within each."""
    own = labels[:, None] == labels
    sure = (matrix * own).sum(axis=1) / own.sum(axis=1)
    return np.lexsort((-sure, labels))


def _name_blocks(ax: Axes, labels: NDArray[Any]) -> None:
    """Thin lines between clusters, and their names at the left where there is room."""
    quiet(ax)
    ax.spines[:].set_visible(False)
    n = len(labels)
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [n]])
    lines = bounds[1:-1] - 0.5
    style: Any = {"color": "white", "lw": 0.6 if len(lines) <= 12 else 0.3, "alpha": 0.7}
    ax.hlines(lines, -0.5, n - 0.5, gid="between clusters", **style)
    ax.vlines(lines, -0.5, n - 0.5, **style)
    centres = (bounds[:-1] + bounds[1:] - 1) / 2
    named = apart(centres, np.diff(bounds), n * NAME_HEIGHT / 260.0)
    ax.set_yticks(centres[named], labels[bounds[:-1]][named].astype(str))
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.set_ylabel("rows, by cluster")


def apart(centres: NDArray[np.float64], sizes: NDArray[np.int64], least: float) -> NDArray[np.int64]:
    """Those of the centres that names can stand at without touching; larger clusters come first."""
    chosen: list[int] = []
    for k in np.argsort(-sizes, kind="stable"):
        if all(abs(centres[k] - centres[other]) >= least for other in chosen):
            chosen.append(int(k))
    return np.sort(np.array(chosen, dtype=np.int64))
