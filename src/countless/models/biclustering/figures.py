"""The figure of the report: the matrix as it came and sorted by clusters, and the means of blocks."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from ...plots.blocks import MOST_NAMES, blocks, matrix
from ...plots.parts.style import Picture, layout


def matrix_figure(model: Any) -> Figure:
    """The matrix before and after, with lines between clusters and names where they fit; and the means of blocks."""
    shape = model.posterior_.data.matrix.shape
    rows, columns = (n if n <= MOST_NAMES else 50 for n in shape)
    figure = Picture(figsize=(8.0 + 0.085 * columns, 3.2 + 0.085 * rows), layout=layout())
    axes = figure.subplots(1, 3, width_ratios=(0.7, 0.6 + 0.013 * columns, 0.6))
    matrix(model, reorder=False, names=False, ax=axes[0])
    matrix(model, ax=axes[1])
    blocks(model, ax=axes[2])
    return figure
