"""Bars: the posterior of the number of clusters, and the sizes of the clusters that were found."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ..posterior import Posterior
from ._fit import Fit, fitted
from ._style import COLOURS, INK, PALE, axes, colour, headline, percent, quiet, room

# Percentages of more bars than this could not be read.
MOST_NAMES = 40
# Points that a percentage needs.
WIDE = 22.0


def n_clusters(model: Any, ax: Axes | None = None) -> Axes:
    """Bars of the posterior probability of the number of clusters.

    The number of clusters of the consensus is in colour. A MAP or variational fit has no posterior of it: one bar.

    Parameters
    ----------
    model : fitted DPMixture, or its posterior
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
    if isinstance(model, Posterior):
        posterior, chosen = model, None
    else:
        fit = fitted(model)
        posterior, chosen = fit.posterior, fit.n_clusters
    ax = axes(ax, (5.0, 3.4))
    quiet(ax)
    ax.set_xlabel("number of clusters")
    if posterior.is_sampled:
        _probabilities(ax, posterior.n_clusters_pmf(), chosen)
    else:
        _single(ax, posterior, chosen)
    low, high = ax.get_xlim()
    # A few bars across the whole width would look like something else.
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


def _single(ax: Axes, posterior: Posterior, chosen: int | None) -> None:
    number = int(posterior.n_clusters.reshape(-1)[0]) if chosen is None else chosen
    ax.bar([number], [1.0], width=0.8, color=COLOURS[0])
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_ylim(0.0, 1.12)
    ax.set_xlim(number - 1.0, number + 1.0)
    what = "one partition" if posterior.components is None else "a variational mixture"
    headline(ax, f"How many? {number}: {what}, no posterior")


def sizes(model: Any, ax: Axes | None = None) -> Axes:
    """Bars of the cluster sizes, each with how sure its rows are of it on average.

    Parameters
    ----------
    model : fitted DPMixture
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
    headline(ax, "How large, how sure of its rows?", note)
    return ax


def _name_bars(ax: Axes, bars: Any, fit: Fit, upright: bool) -> str:
    certain = np.bincount(fit.labels, fit.certainty.probability) / fit.sizes
    if len(certain) > MOST_NAMES:
        return f"sure of {percent(float(certain.min()))} to {percent(float(certain.max()))}"
    names = [percent(float(share)) for share in certain]
    ax.bar_label(bars, names, fontsize=7 if upright else 8, color=INK, padding=2, rotation=90 if upright else 0)
    return ""
