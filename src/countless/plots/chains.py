"""What the chains did: traces and running means of quantities that need no names of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..posterior import Posterior
from ._fit import fitted
from ._style import INK, Picture, axes, colour, count, headline, layout, legend_beside, line, quiet, shown_name, spaced

FloatArray = NDArray[np.float64]

QUANTITIES = {
    "n_clusters": "number of clusters",
    "log_joint": "log joint",
    "concentration": "concentration",
    "largest_share": "share of the largest cluster",
}
# Longer traces are drawn as the range and mean of this many pieces.
MOST_STEPS = 1500
PIECES = 300
MOST_IN_LEGEND = 8


def traces(model: Any, quantity: str = "n_clusters", ax: Axes | None = None) -> Axes:
    """A quantity along the kept draws, one line for each chain.

    Chains that agree cross each other all the time; one that stays away from the others, or a trend, says
    that the run was too short. Beyond 1,500 draws, the mean and the range of 300 pieces of each chain.

    Parameters
    ----------
    model : fitted DPMixture
    quantity : str
        ``"n_clusters"``, ``"log_joint"``, ``"concentration"``, ``"largest_share"``, a hyperparameter that was learned
        (as in ``posterior_.hyperparameters``), or ``"objective"``: the steps of an optimiser (MAP, variational).
    ax : Axes, optional

    Returns
    -------
    Axes

    See Also
    --------
    cumulative_means, chains

    References
    ----------
    Gelman and Rubin 1992, *Inference from iterative simulation using multiple sequences*, Statistical Science 7,
    457-472.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> len(cl.plots.traces(model, "log_joint").lines) == model.posterior_.labels.shape[0]
    True
    """
    posterior = fitted(model).posterior
    if quantity == "objective":
        return _objective(posterior, ax)
    values, name = quantity_of(posterior, quantity)
    ax = axes(ax, (7.6, 3.6))
    quiet(ax)
    for chain, series in enumerate(values):
        _one_trace(ax, chain, series)
    ax.set(xlabel="draw", ylabel=name)
    ax.margins(x=0.01)
    if quantity == "n_clusters":
        ax.yaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    _name_chains(ax, values)
    piece = "" if values.shape[1] <= MOST_STEPS else f"mean and range of each {values.shape[1] // PIECES} draws"
    headline(ax, f"Do the chains agree? {count(len(values), 'chain')} of {count(values.shape[1], 'draw')}", piece)
    return ax


def cumulative_means(model: Any, quantity: str = "n_clusters", ax: Axes | None = None) -> Axes:
    """The mean of a quantity over the draws so far, one line for each chain; they should meet and stay.

    The dotted line is the mean over all draws of all chains.

    Parameters
    ----------
    model : fitted DPMixture
    quantity : str
        As for ``traces``.
    ax : Axes, optional

    Returns
    -------
    Axes

    References
    ----------
    Yu and Mykland 1998, *Looking at Markov samplers through cusum path plots*, Statistics and Computing 8, 275-286.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.cumulative_means(model).get_ylabel()
    'mean number of clusters'
    """
    values, name = quantity_of(fitted(model).posterior, quantity)
    ax = axes(ax, (7.6, 3.6))
    quiet(ax)
    n = values.shape[1]
    at = spaced(n, MOST_STEPS)
    for chain, series in enumerate(values):
        means = np.cumsum(series) / np.arange(1, n + 1)
        ax.plot(at + 1, means[at], color=colour(chain), ls=line(chain), lw=1.3, label=f"chain {chain}")
    ax.axhline(float(values.mean()), color=INK, lw=1.0, ls=":", zorder=1)
    ax.set(xlabel="draws so far", ylabel=f"mean {name}")
    ax.margins(x=0.01)
    _name_chains(ax, values)
    headline(ax, "Where do the means settle?", f"dotted: all draws of all chains, {float(values.mean()):.4g}")
    return ax


def chains(model: Any) -> Figure:
    """Figure of all traces beside their cumulative means.

    Parameters
    ----------
    model : fitted DPMixture

    Returns
    -------
    Figure

    See Also
    --------
    traces, cumulative_means : one panel of it.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> len(cl.plots.chains(model).axes)
    8
    """
    fit = fitted(model)
    learned = {name: values for name, values in fit.posterior.hyperparameters.items() if np.ptp(values) > 0.0}
    names = [*QUANTITIES, *learned]
    _require_chains(fit.posterior, names[0])
    figure = Picture(figsize=(11.0, 2.3 * len(names)), layout=layout())
    panels = figure.subplots(len(names), 2, squeeze=False, width_ratios=[3.0, 2.0])
    for row, (name, (left, right)) in enumerate(zip(names, panels, strict=True)):
        traces(fit, name, left)
        cumulative_means(fit, name, right)
        for ax in (left, right):
            for text in [text for text in ax.texts if text.get_gid() == "note"]:
                text.remove()
            ax.set_title(ax.get_title(loc="left") if row == 0 else "", loc="left", fontsize=10, pad=6.0)
            if row < len(names) - 1:
                ax.set_xlabel("")
            if ax.get_legend() is not None and (row > 0 or ax is left):
                ax.get_legend().remove()
        right.set_ylabel("")
    figure.align_ylabels(panels[:, 0])
    return figure


def quantity_of(posterior: Posterior, quantity: str) -> tuple[FloatArray, str]:
    """Values (chain, draw) of a quantity and its name for people."""
    known = [*QUANTITIES, *posterior.hyperparameters]
    if quantity not in known:
        raise ValueError(f"quantity: {quantity!r} is not known; choose one of {', '.join(map(repr, known))}")
    _require_chains(posterior, quantity)
    if quantity in posterior.hyperparameters:
        return np.asarray(posterior.hyperparameters[quantity], dtype=np.float64), shown_name(quantity)
    if quantity == "largest_share":
        return _largest(posterior), QUANTITIES[quantity]
    return np.asarray(getattr(posterior, quantity), dtype=np.float64), QUANTITIES[quantity]


def _require_chains(posterior: Posterior, quantity: str) -> None:
    if posterior.is_sampled:
        return
    what = (
        "a MAP fit has one partition" if posterior.components is None else "draws of a variational fit are independent"
    )
    raise ValueError(
        f"quantity: {what} and no chains to trace {quantity!r} along; choose quantity='objective', or fit with "
        "inference='gibbs'"
    )


def _largest(posterior: Posterior) -> FloatArray:
    flat = posterior.labels.reshape(posterior.n_draws, -1)
    shares = [np.bincount(draw).max() / len(draw) for draw in flat]
    return np.array(shares).reshape(posterior.n_clusters.shape)


def _one_trace(ax: Axes, chain: int, series: FloatArray) -> None:
    style: Any = {"color": colour(chain), "ls": line(chain), "label": f"chain {chain}"}
    if len(series) <= MOST_STEPS:
        ax.plot(np.arange(1, len(series) + 1), series, lw=0.9, alpha=0.85, **style)
        return
    pieces = np.array_split(series, PIECES)
    middle = np.cumsum([len(piece) for piece in pieces]) - 0.5 * len(pieces[0])
    low, high = [piece.min() for piece in pieces], [piece.max() for piece in pieces]
    ax.fill_between(middle, low, high, color=colour(chain), alpha=0.15, lw=0)
    ax.plot(middle, [piece.mean() for piece in pieces], lw=1.1, **style)


def _name_chains(ax: Axes, values: FloatArray) -> None:
    if 1 < len(values) <= MOST_IN_LEGEND:
        legend_beside(ax, handlelength=1.4)


def _objective(posterior: Posterior, ax: Axes | None) -> Axes:
    if posterior.objective.size == 0:
        raise ValueError("quantity: samplers have no 'objective'; choose 'log_joint'")
    ax = axes(ax, (7.6, 3.6))
    quiet(ax)
    steps = posterior.objective.reshape(-1)
    ax.plot(
        np.arange(1, len(steps) + 1), steps, color=colour(0), lw=1.3, marker="o" if len(steps) <= 60 else "", ms=3.0
    )
    ax.set(xlabel="step", ylabel="log joint" if posterior.components is None else "bound")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    headline(ax, f"Did the search settle? {count(len(steps), 'step')}")
    return ax
