"""One figure that answers two questions at a glance: what was found, and how sure is it?"""

from __future__ import annotations

import io
import os
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..io import write_whole
from ._style import INK, Picture, axes, count, layout, percent, quiet
from .certainty import label_probability
from .clusters import clusters
from .counts import n_clusters, sizes
from .heatmap import similarity

SURE = 0.9


def summary(model: Any, X: ArrayLike, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of what was found and how sure it is, with a sentence that says so.

    Panels: the rows by cluster; which rows belong together; the posterior of the number of clusters; the
    sizes of the clusters. A MAP fit has no posterior, so the second panel shows instead how clearly each row
    belongs to its cluster given the others, and the third is left out.

    Parameters
    ----------
    model : fitted estimator
    X : array or data frame
        The rows the model was fitted to.
    path : path, optional
        Where to save the figure too; the format follows from the suffix (``.png``, ``.pdf``, ``.svg``).

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
    >>> X = cl.datasets.load_faithful()
    >>> figure = cl.plots.summary(cl.DPMixture(random_state=0).fit(X), X)
    >>> len(figure.axes) >= 4
    True
    """
    figure = Picture(figsize=(13.0, 8.4), layout=layout())
    sampled = model.posterior_.is_sampled
    below = ["counts"] * 5 + ["sizes"] * 5 if sampled else ["rows"] * 6 + ["sizes"] * 4
    ratios = [2.0, 1.0] if sampled else [1.0, 1.0]
    panels: Any = figure.subplot_mosaic([["rows"] * 6 + ["pairs"] * 4, below], height_ratios=ratios)
    clusters(model, X, panels["rows"])
    sizes(model, X, panels["sizes"])
    if sampled:
        similarity(model, panels["pairs"])
        n_clusters(model, panels["counts"])
    else:
        _clearness(model, X, panels["pairs"])
    title = "\n".join(textwrap.wrap(sentence(model, X), 110))
    figure.suptitle(title, fontsize=13, color=INK, x=0.01, ha="left", fontweight="bold")
    if path is not None:
        write_whole(path, render(figure, Path(path).suffix.lstrip(".") or "png"))
    return figure


def sentence(model: Any, X: ArrayLike | None = None) -> str:
    """What was found and how sure it is, in one sentence.

    Parameters
    ----------
    model : fitted estimator
    X : array, optional
        The rows the model was fitted to; used for a single partition (MAP).

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
    found = f"{count(model.n_clusters_, 'cluster')} in {count(len(model.labels_), 'row')}"
    if not model.posterior_.is_sampled:
        what = "most probable partition" if model.posterior_.components is None else "best variational mixture"
        return f"{found}: the {what} found, without its uncertainty"
    pmf = model.posterior_.n_clusters_pmf()
    mode = max(pmf, key=lambda k: pmf[k])
    share = percent(float(np.mean(label_probability(model, X))))
    together = f"rows of one cluster stay together in {share} of draws"
    if mode == model.n_clusters_:
        return f"{found} (probability {percent(pmf[mode])}); {together}"
    low, high = _interval(model.posterior_.n_clusters)
    return f"{found} (single draws have {low} to {high}); {together}"


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


def _interval(values: Any) -> tuple[int, int]:
    """Central 95% of the draws."""
    low, high = np.quantile(values, [0.025, 0.975], method="inverted_cdf")
    return int(low), int(high)


def _clearness(model: Any, X: ArrayLike, ax: Any) -> None:
    """Histogram of the probability of each row's cluster, for a single partition."""
    ax = axes(ax)
    quiet(ax)
    share = label_probability(model, X)
    ax.hist(share, bins=np.linspace(0.0, 1.0, 21), weights=np.full(len(share), 1.0 / len(share)), color="#0072B2")
    ax.set(
        xlabel="probability of a row's cluster, given the clusters",
        ylabel="share of the rows",
        xlim=(0.0, 1.0),
    )
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_title(
        f"How clear? {percent(float(np.mean(share >= SURE)))} of the rows reach {SURE:.0%}",
        size=10,
        loc="left",
    )
