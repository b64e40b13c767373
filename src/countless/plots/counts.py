"""Bars: the posterior of the number of clusters, and the sizes of the clusters that were found."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from ._style import COLOURS, INK, PALE, QUIET, axes, colour, count, percent, quiet
from .certainty import label_probability

# Named bars beyond this many would be unreadable.
MOST_NAMES = 40


def n_clusters(model: Any, ax: Axes | None = None) -> Axes:
    """Bars of the posterior probability of the number of clusters.

    The number of clusters of the consensus is in colour. A MAP fit has one partition, hence one bar.

    Parameters
    ----------
    model : fitted estimator or Posterior
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
    posterior = getattr(model, "posterior_", model)
    pmf = posterior.n_clusters_pmf()
    chosen = getattr(model, "n_clusters_", max(pmf, key=lambda k: pmf[k]))
    ax = axes(ax, (5.0, 3.4))
    bars = ax.bar(list(pmf), list(pmf.values()), width=0.8, color=[COLOURS[0] if k == chosen else PALE for k in pmf])
    if len(pmf) <= 12:
        ax.bar_label(bars, [percent(share) for share in pmf.values()], fontsize=8, color=INK, padding=1)
    if chosen not in pmf:
        ax.axvline(chosen, color=COLOURS[0], lw=1.2, ls=":")
    quiet(ax)
    ax.set(xlabel="number of clusters", ylabel="posterior probability")
    ax.set_ylim(0.0, 1.12 * max(pmf.values()))
    ax.set_xlim(min(*pmf, chosen) - 1.5, max(*pmf, chosen) + 1.5)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, steps=[1, 2, 5, 10]))
    if not posterior.is_sampled:
        ax.set_ylabel("")
        ax.set_yticks([])
        ax.set_title("How many? One partition, no posterior", fontsize=10, loc="left")
    else:
        ax.set_title(f"How many? (consensus: {chosen})", fontsize=10, loc="left")
    return ax


def sizes(model: Any, X: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Bars of the cluster sizes, each with how sure its rows are of it on average.

    Parameters
    ----------
    model : fitted estimator
    X : array, optional
        The rows the model was fitted to; needed to say how sure a single partition (MAP) is.
    ax : Axes, optional

    Returns
    -------
    Axes

    See Also
    --------
    label_probability : what the percentages are the mean of.

    Examples
    --------
    >>> import countless as cl
    >>> X = [[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]
    >>> model = cl.DPMixture(random_state=0).fit(X)
    >>> len(cl.plots.sizes(model, X).patches) == model.n_clusters_
    True
    """
    labels = np.asarray(model.labels_)
    counts = np.bincount(labels)
    ax = axes(ax, (5.0, 3.4))
    bars = ax.bar(np.arange(len(counts)), counts, width=0.8, color=[colour(k) for k in range(len(counts))])
    quiet(ax)
    title = f"How large? ({count(len(counts), 'cluster')})"
    if X is not None or model.posterior_.is_sampled:
        certain = np.bincount(labels, label_probability(model, X)) / counts
        title = "How large, and how sure of its rows?"
        _name_bars(ax, bars, [percent(share) for share in certain])
    ax.set(xlabel="cluster", ylabel="rows")
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set_ylim(0.0, 1.15 * counts.max())
    # Two bars across the whole width would look like something else.
    room = max(0.3, 0.5 * (6 - len(counts)))
    ax.set_xlim(-0.5 - room, len(counts) - 0.5 + room)
    if len(counts) <= MOST_NAMES:
        ax.set_xticks(np.arange(len(counts)))
    ax.set_title(title, fontsize=10, loc="left")
    return ax


def _name_bars(ax: Axes, bars: Any, names: list[str]) -> None:
    if len(names) <= MOST_NAMES:
        upright = len(names) > 14
        ax.bar_label(bars, names, fontsize=7 if upright else 8, color=INK, padding=2, rotation=90 * upright)
    else:
        ax.text(1.0, 1.0, "too many clusters to name", transform=ax.transAxes, ha="right", color=QUIET, size=8)
