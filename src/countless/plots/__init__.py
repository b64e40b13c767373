"""Plots: what was found and how sure it is. Functions take and return Axes; none opens a window."""

from __future__ import annotations

from ._style import percent
from .certainty import label_probability
from .clusters import clusters
from .counts import n_clusters, sizes
from .heatmap import similarity
from .overview import render, sentence, summary

__all__ = [
    "clusters",
    "label_probability",
    "n_clusters",
    "percent",
    "render",
    "sentence",
    "similarity",
    "sizes",
    "summary",
]
