"""Plots: what was found and how sure it is. Functions take a fitted model, draw into Axes and return them.

All of them work from ``posterior_`` and ``labels_`` alone, so that a saved run can be drawn as well.
None opens a window.
"""

from __future__ import annotations

from ._style import percent
from .chains import chains, cumulative_means, traces
from .clusters import clusters
from .counts import n_clusters, sizes
from .density import density
from .heatmap import similarity
from .overview import render, sentence, summary
from .profiles import profiles
from .uncertainty import uncertainty, wavering

__all__ = [
    "chains",
    "clusters",
    "cumulative_means",
    "density",
    "n_clusters",
    "percent",
    "profiles",
    "render",
    "sentence",
    "similarity",
    "sizes",
    "summary",
    "traces",
    "uncertainty",
    "wavering",
]
