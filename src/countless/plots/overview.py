"""One figure that answers two questions at a glance: what was found, and how certain is it?"""

from __future__ import annotations

import io
import os
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..core.files import write_whole
from ..core.text import count, percent
from .clusters import clusters
from .counts import n_clusters, sizes
from .heatmap import similarity
from .parts.fit import fitted
from .parts.style import INK, Picture, layout
from .profiles import profiles
from .uncertainty import uncertainty


def summary(model: Any, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of what was found and how certain it is, with a sentence as its title.

    Panels: the rows by cluster; which rows belong together; what distinguishes the clusters; the posterior of the
    number of clusters; the sizes of the clusters. For a MAP or variational fit the second panel shows the probability
    of each row's cluster given the clusters found, and the number of clusters has no panel.

    Parameters
    ----------
    model : fitted model
    path : path, optional
        File to save the figure in; the suffix sets the format (``.png``, ``.pdf``, ``.svg``).

    Returns
    -------
    Figure

    References
    ----------
    Wade and Ghahramani 2018, *Bayesian cluster analysis: point estimation and credible balls*, Bayesian
    Analysis 13, 559-626.

    Examples
    --------
    >>> import countless as cl
    >>> figure = cl.plots.summary(cl.DPMixture("gaussian", random_state=0).fit(cl.datasets.load_faithful()))
    >>> len(figure.axes) >= 4
    True
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"path must name a file, got {type(path).__name__}")
    fit = fitted(model)
    figure = Picture(figsize=(13.0, 9.0), layout=layout())
    sampled = fit.kind == "sampled"
    grid = figure.add_gridspec(2, 1, height_ratios=[1.45, 1.0])
    above = grid[0].subgridspec(1, 2, width_ratios=[1.35, 1.0])
    widths = [1.5, 1.0, 1.0] if sampled else [1.5, 1.0]
    below = grid[1].subgridspec(1, len(widths), width_ratios=widths)
    clusters(fit, ax=figure.add_subplot(above[0]))
    (similarity if sampled else uncertainty)(fit, ax=figure.add_subplot(above[1]))
    # The first panel shows a single column already.
    alone = len(fit.data.columns) == 1
    (uncertainty if alone and sampled else profiles)(fit, ax=figure.add_subplot(below[0]))
    if sampled:
        n_clusters(fit, ax=figure.add_subplot(below[1]))
    sizes(fit, ax=figure.add_subplot(below[-1]))
    title = "\n".join(textwrap.wrap(sentence(fit), 110))
    figure.suptitle(title, fontsize=13, color=INK, x=0.01, ha="left", fontweight="bold")
    if path is not None:
        write_whole(path, render(figure, Path(path).suffix.lstrip(".") or "png"))
    return figure


def sentence(model: Any) -> str:
    """What was found and how certain it is, in one sentence.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    str

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.sentence(model)
    '2 clusters in 6 rows: the most probable partition found, without its uncertainty'
    """
    fit = fitted(model)
    found = f"{count(fit.n_clusters, 'cluster')} in {count(fit.n_rows, 'row')}"
    if fit.has_own_labels:
        return f"{found}, as in the labels that were given in place of the clusters found"
    if fit.kind != "sampled":
        return f"{found}: {fit.words.found}, without its uncertainty"
    if fit.warning is not None:
        counted = count(fit.n_clusters, "cluster")
        return f"{fit.warning} in {count(fit.n_rows, 'row')}; the consensus of all draws has {counted}"
    pmf = fit.posterior.n_clusters_pmf()
    mode = max(pmf, key=lambda k: pmf[k])
    share = percent(float(np.mean(fit.certainty.probability)))
    together = f"rows of one cluster stay together in {share} of draws"
    if mode == fit.n_clusters:
        return f"{found} (probability {percent(pmf[mode])}); {together}"
    low, high = fit.likely
    return f"{found} in the consensus (single draws have {low} to {high}); {together}"


def render(figure: Figure, kind: str = "png") -> bytes:
    """The figure as the bytes of a file; no time stamp, so that the same figure gives the same bytes.

    Parameters
    ----------
    figure : Figure
    kind : str
        ``"png"``, ``"pdf"``, ``"svg"`` or another format of matplotlib.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.render(cl.plots.n_clusters(model).figure)[1:4]
    b'PNG'
    """
    buffer = io.BytesIO()
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise ValueError(f"path: no figures of kind {kind!r}; choose one of {', '.join(sorted(known))}")
    stamp = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    figure.savefig(buffer, format=kind, dpi=120, metadata=stamp)
    return buffer.getvalue()
