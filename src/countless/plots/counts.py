"""Bars: the posterior of the number of clusters, and the sizes of the clusters that were found."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ..core.text import percent
from .parts.fit import Fit, fitted
from .parts.style import COLOURS, INK, PALE, axes, colour, headline, quiet, room

# Percentages of more bars than this could not be read.
MOST_NAMES = 40
# Points that a percentage needs.
WIDE = 22.0


def n_clusters(model: Any, ax: Axes | None = None) -> Axes:
    """Bars of the posterior probability of the number of clusters.

    The number of clusters of the consensus is in colour. A MAP or variational fit does not know these probabilities and
    gets one bar.

    Parameters
    ----------
    model : fitted model, or its posterior
    ax : Axes, optional

    Returns
    -------
    Axes

    References
    ----------
    Escobar and West 1995, *Bayesian density estimation and inference using mixtures*, Journal of the American
    Statistical Association 90, 577-588, section 5.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.n_clusters(model).get_xlabel()
    'number of clusters'
    """
    fit = fitted(model)
    chosen = fit.n_clusters if fit.has_labels else None
    ax = axes(ax, (5.0, 3.4))
    quiet(ax)
    ax.set_xlabel("number of clusters")
    if fit.kind == "sampled":
        _probabilities(ax, fit.posterior.n_clusters_pmf(), chosen)
    else:
        _single(ax, fit, chosen)
    low, high = ax.get_xlim()
    # A few bars are kept narrow.
    low = max(0.0, min(low, 0.5 * (low + high) - 3.5))
    ax.set_xlim(low, max(high, low + 7.0))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, steps=[1, 2, 5, 10]))
    return ax


def _probabilities(ax: Axes, pmf: dict[int, float], chosen: int | None) -> None:
    hues = [COLOURS[0] if k == chosen else PALE for k in pmf]
    bars = ax.bar(list(pmf), list(pmf.values()), width=0.8, color=hues)
    wide = room(ax)[0] / (max(pmf) - min(pmf) + 3)
    if wide >= 20.0:
        small = 8 if wide >= 26.0 else 7
        ax.bar_label(bars, [percent(share) for share in pmf.values()], fontsize=small, color=INK, padding=1)
    everything = [*pmf] if chosen is None else [*pmf, chosen]
    if chosen is not None and chosen not in pmf:
        ax.axvline(chosen, color=COLOURS[0], lw=1.4, ls=":")
    ax.set_ylabel("posterior probability")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_ylim(0.0, 1.12 * max(pmf.values()))
    ax.set_xlim(min(everything) - 1.0, max(everything) + 1.0)
    headline(ax, "How many?" if chosen is None else f"How many? {chosen} in the consensus")


def _single(ax: Axes, fit: Fit, chosen: int | None) -> None:
    number = int(fit.posterior.n_clusters.reshape(-1)[0]) if chosen is None else chosen
    ax.bar([number], [1.0], width=0.8, color=COLOURS[0])
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_ylim(0.0, 1.12)
    ax.set_xlim(number - 1.0, number + 1.0)
    headline(ax, f"How many? {number}: {fit.words.fit}, no posterior")


def sizes(model: Any, ax: Axes | None = None) -> Axes:
    """Bars of the cluster sizes, each with the mean probability of its rows.

    Parameters
    ----------
    model : fitted model
    ax : Axes, optional

    Returns
    -------
    Axes

    See Also
    --------
    uncertainty : the probabilities that the percentages are the mean of.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> len(cl.plots.sizes(model).patches) == model.n_clusters_
    True
    """
    fit = fitted(model)
    counts = fit.sizes
    ax = axes(ax, (5.0, 3.4))
    wide = room(ax)[0] / (len(counts) + 1)
    bars = ax.bar(np.arange(len(counts)), counts, width=0.8, color=[colour(k) for k in range(len(counts))])
    quiet(ax)
    note = _name_bars(ax, bars, fit, upright=wide < WIDE)
    ax.set(xlabel="cluster", ylabel="rows")
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    ax.set_ylim(0.0, 1.15 * counts.max())
    margin = max(0.3, 0.5 * (6 - len(counts)))
    ax.set_xlim(-0.5 - margin, len(counts) - 0.5 + margin)
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if step * wide >= 14.0 or step == 1000)
    ax.set_xticks(np.arange(0, len(counts), step))
    headline(ax, "How large, how certain?", note)
    return ax


def _name_bars(ax: Axes, bars: Any, fit: Fit, upright: bool) -> str:
    certain = np.bincount(fit.labels, fit.certainty.probability) / fit.sizes
    if len(certain) > MOST_NAMES:
        return f"mean probabilities of rows: {percent(float(certain.min()))} to {percent(float(certain.max()))}"
    names = [percent(float(share)) for share in certain]
    ax.bar_label(bars, names, fontsize=7 if upright else 8, color=INK, padding=2, rotation=90 if upright else 0)
    return ""
