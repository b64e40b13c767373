"""A matrix whose rows and columns are grouped together: as it came, sorted by clusters, and the means of its blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from .parts.style import INK, axes, headline, shown_name

FloatArray = NDArray[np.float64]

# Cells of a picture along each side; larger matrices are shown as means of neighbours.
MOST_CELLS = 600
# Names that fit beside the picture, and blocks whose means are written into them.
MOST_NAMES, MOST_WRITTEN = 100, 150


def matrix(model: Any, reorder: bool = True, names: bool = True, ax: Axes | None = None) -> Axes:
    """The matrix of a fit, cluster by cluster with lines between clusters, or as it came.

    Parameters
    ----------
    model : fitted biclustering
    reorder : bool
        Whether rows and columns are sorted by their clusters.
    names : bool
        Whether rows and columns are named, as far as names fit.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> model = cl.InfiniteBiclustering(random_state=0).fit(np.kron(np.eye(2), np.ones((10, 8))))
    >>> len(cl.plots.matrix(model).lines)  # one line between two clusters of rows, and one of columns
    2
    """
    data, labels = model.posterior_.data, (model.row_labels_, model.column_labels_)
    shape = data.matrix.shape
    order = [
        np.argsort(part, kind="stable") if reorder else np.arange(n) for part, n in zip(labels, shape, strict=True)
    ]
    picture = _picture(data.matrix, order)
    named = [names and n <= MOST_NAMES for n in shape]
    height, width = (min(12.0, 3.5 + 0.085 * n) if there else 6.0 for n, there in zip(shape, named, strict=True))
    ax = axes(ax, (width, height))
    low, high = _shades(picture)
    ax.imshow(picture, aspect="auto", cmap="Blues", vmin=low, vmax=high, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.tick_params(length=0)
    ax.grid(visible=False)
    if named[0]:
        ax.set_yticks(range(shape[0]), [shown_name(data.names(0)[i]) for i in order[0]], fontsize=6)
    if named[1]:
        ax.set_xticks(range(shape[1]), [shown_name(data.names(1)[j]) for j in order[1]], fontsize=6, rotation=90)
    if reorder:
        style: Any = {"color": "#D55E00", "linewidth": 0.7}
        edges = [
            np.cumsum(np.bincount(part))[:-1] * n / m for part, n, m in zip(labels, picture.shape, shape, strict=True)
        ]
        for edge in edges[0]:
            ax.axhline(edge - 0.5, **style)
        for edge in edges[1]:
            ax.axvline(edge - 0.5, **style)
    rows, columns = model.n_clusters_
    headline(ax, f"Sorted: {rows} x {columns} clusters" if reorder else f"As it came: {shape[0]:,} x {shape[1]:,}")
    return ax


def blocks(model: Any, ax: Axes | None = None) -> Axes:
    """Mean of a cell of each block; of categories, the most probable one.

    Parameters
    ----------
    model : fitted biclustering
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> model = cl.InfiniteBiclustering(random_state=0).fit(np.kron(np.eye(2), np.ones((10, 8))))
    >>> cl.plots.blocks(model).get_xlabel()
    'column cluster'
    """
    means = np.asarray(model.block_means_)
    means = means if means.ndim == 2 else means.argmax(axis=2).astype(np.float64)
    ax = axes(ax, (1.8 + 0.4 * min(30, max(6, means.shape[1])), 1.6 + 0.32 * min(30, max(5, means.shape[0]))))
    ax.imshow(means, aspect="auto", cmap="Blues", interpolation="nearest")
    ax.grid(visible=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if means.size <= MOST_WRITTEN:
        middle = 0.5 * (means.min() + means.max())
        # As many digits as tell the blocks apart.
        ratio = np.abs(means).max() / max(np.ptp(means), 1e-9 * np.abs(means).max(), 1e-300)
        digits = 2 + max(0, int(np.ceil(np.log10(max(ratio, 1.0)))))
        for (k, m), value in np.ndenumerate(means):
            ink = "white" if value > middle else INK
            ax.text(m, k, f"{value:.{digits}g}", ha="center", va="center", fontsize=7, color=ink)
    for axis, n, most in ((ax.yaxis, means.shape[0], 25), (ax.xaxis, means.shape[1], 12)):
        step = -(-n // most)
        axis.set_ticks(range(0, n, step), [str(k) for k in range(0, n, step)], fontsize=8)
    ax.set_xlabel("column cluster", fontsize=9)
    ax.set_ylabel("row cluster", fontsize=9)
    headline(ax, "Means of blocks")
    return ax


def _shades(picture: FloatArray) -> tuple[float, float]:
    """Numbers that are white and darkest: white is zero where there are zeros, and outliers are as dark as others."""
    if picture.all():
        low, high = np.quantile(picture, [0.02, 0.98])
        return float(low), float(high)
    high = np.quantile(picture[picture > 0], 0.98) if (picture > 0).any() else 1.0
    return min(0.0, float(picture.min())), float(high)


def _picture(cells: Any, order: list[NDArray[np.int64]]) -> FloatArray:
    """The matrix in this order with at most so many cells on each side; missing cells are shown as the mean."""
    from scipy import sparse

    place = [np.argsort(part) for part in order]
    at = place[0][cells.rows], place[1][cells.columns]
    known = ~np.isnan(cells.values)
    mean = cells.values[known].sum() / max(1, cells.n_cells)
    shown = sparse.csr_array((np.where(known, cells.values, mean), at), shape=cells.shape)
    for _ in range(2):
        n = shown.shape[0]
        step = -(-n // MOST_CELLS)
        if step > 1:
            weights = sparse.csr_array((np.full(n, 1.0 / step), (np.arange(n) // step, np.arange(n))))
            shown = weights @ shown
        shown = shown.T.tocsr()
    return np.asarray(shown.toarray(), dtype=np.float64)
