"""Figures of biclusterings: the matrix as it came and sorted by clusters, and the means of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .cells import as_sparse

# Cells of a picture along each side; larger matrices are shown as means.
MOST_CELLS = 600
# Names that fit beside the picture.
MOST_NAMES = 60


def _picture(matrix: Any) -> np.ndarray:
    """The matrix with at most so many cells on each side, as means of neighbours; missing cells count as zero."""
    cells = as_sparse(matrix._replace(values=np.nan_to_num(matrix.values)))
    for _ in range(2):
        step = -(-cells.shape[0] // MOST_CELLS)
        if step > 1:
            from scipy import sparse

            n = cells.shape[0]
            rows = np.arange(n) // step
            weights = sparse.csr_array((np.full(n, 1.0 / step), (rows, np.arange(n))))
            cells = weights @ cells
        cells = cells.T.tocsr()
    return np.asarray(cells.toarray())


def matrix_figure(model: Any) -> Figure:
    """The matrix before and after, with lines between clusters and names where they fit; and the means of blocks."""
    data = model.posterior_.data
    orders = [np.argsort(part, kind="stable") for part in (model.row_labels_, model.column_labels_)]
    place = [np.argsort(order) for order in orders]
    matrix = data.matrix
    after = matrix._replace(rows=place[0][matrix.rows], columns=place[1][matrix.columns])
    height = 4.2 if matrix.shape[0] <= MOST_NAMES else 5.0
    figure = Figure(figsize=(13.0, max(height, 0.13 * min(matrix.shape[0], MOST_NAMES) + 1.2)), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=(1.0, 1.0, 0.6))
    before = _picture(matrix)
    top = float(np.quantile(before[before > 0], 0.98)) if (before > 0).any() else 1.0
    low = min(0.0, float(before.min()))
    for axis, picture, title in ((axes[0], before, "as it came"), (axes[1], _picture(after), "sorted by clusters")):
        axis.imshow(picture, aspect="auto", cmap="Blues", vmin=low, vmax=top, interpolation="nearest")
        axis.set(title=title, xticks=[], yticks=[])
        axis.grid(visible=False)
    sizes = [np.bincount(part) for part in (model.row_labels_, model.column_labels_)]
    scale = [picture / n for picture, n in zip(before.shape, matrix.shape, strict=True)]
    for edge in np.cumsum(sizes[0])[:-1]:
        axes[1].axhline(edge * scale[0] - 0.5, color="#c0504d", linewidth=0.7)
    for edge in np.cumsum(sizes[1])[:-1]:
        axes[1].axvline(edge * scale[1] - 0.5, color="#c0504d", linewidth=0.7)
    if matrix.shape[0] <= MOST_NAMES:
        names = data.names(0)
        axes[0].set_yticks(range(len(names)), names, fontsize=6)
        axes[1].set_yticks(range(len(names)), [names[i] for i in orders[0]], fontsize=6)
    means = model.block_means_ if model.block_means_.ndim == 2 else model.block_means_.argmax(axis=2)
    shown = axes[2].imshow(means, aspect="auto", cmap="Blues", interpolation="nearest")
    axes[2].set(title="means of blocks", xlabel="column cluster", ylabel="row cluster")
    axes[2].grid(visible=False)
    figure.colorbar(shown, ax=axes[2], shrink=0.8)
    return figure
