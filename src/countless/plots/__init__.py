"""Plots: what was found and how certain it is. Functions take a fitted model, draw into Axes and return them.

They need ``posterior_`` and ``labels_`` only, so that they work with a saved run as well. Traces need ``posterior_``
only, of any model. No function opens a window.
"""

from __future__ import annotations

from ..core.text import percent
from .blocks import blocks, matrix
from .chains import chains, cumulative_means, traces
from .checks import checks
from .clusters import clusters
from .counts import n_clusters, sizes
from .density import density
from .heatmap import similarity
from .overview import render, sentence, summary
from .profiles import profiles
from .states import forecast, states, transitions
from .tree import tree
from .uncertainty import uncertainty, wavering

__all__ = [
    "blocks",
    "chains",
    "checks",
    "clusters",
    "cumulative_means",
    "density",
    "forecast",
    "matrix",
    "n_clusters",
    "percent",
    "profiles",
    "render",
    "sentence",
    "similarity",
    "sizes",
    "states",
    "summary",
    "traces",
    "transitions",
    "tree",
    "uncertainty",
    "wavering",
]
