"""Chains: traces and running means of the quantities of any model."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..core.text import count
from ..posterior.diagnostics import Quantity
from .parts.fit import Fit, fitted
from .parts.pick import spaced
from .parts.style import (
    GREY,
    INK,
    Picture,
    axes,
    colour,
    headline,
    layout,
    legend_beside,
    line,
    quiet,
    shown_name,
)

FloatArray = NDArray[np.float64]

# Stored with every draw, where a model has them; the other quantities are computed from the draws.
STORED = ("n_clusters", "log_joint", "concentration")
# Left out of the figure of all traces: it repeats the share of the largest cluster.
LEFT_OUT = ("entropy",)
# Longer traces are drawn as the range and mean of this many pieces.
MOST_STEPS = 1500
PIECES = 300
MOST_IN_LEGEND = 8


def traces(model: Any, quantity: str | None = None, ax: Axes | None = None) -> Axes:
    """A quantity along the kept draws, one line for each chain.

    Chains that agree cross each other all the time. A chain that stays apart from the others, or a trend, shows that
    the run was too short. Chains of more than 1,500 draws are shown as the means and ranges of 300 pieces.

    Parameters
    ----------
    model : fitted model
    quantity : str, optional
        For a mixture ``"n_clusters"`` (default), ``"log_joint"``, ``"concentration"``, ``"largest_share"``,
        ``"entropy"`` (of the shares of the clusters) or a learned hyperparameter (as in
        ``posterior_.hyperparameters``); for other models the quantities that ``posterior_.diagnostics()`` lists, by
        default the first; ``"objective"`` for the steps of an optimiser (MAP, variational).
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
    fit = fitted(model)
    quantity = next(iter(fit.quantities)) if quantity is None else quantity
    if quantity == "objective":
        return _objective(fit, ax)
    values, name = _values(fit, quantity)
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


def cumulative_means(model: Any, quantity: str | None = None, ax: Axes | None = None) -> Axes:
    """The running mean of a quantity, one line for each chain; the lines should converge to one level.

    The dotted line is the mean over all draws of all chains.

    Parameters
    ----------
    model : fitted model
    quantity : str, optional
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
    fit = fitted(model)
    values, name = _values(fit, next(iter(fit.quantities)) if quantity is None else quantity)
    ax = axes(ax, (7.6, 3.6))
    quiet(ax)
    n = values.shape[1]
    at = spaced(n, MOST_STEPS)
    for chain, series in enumerate(values):
        means = np.cumsum(series) / np.arange(1, n + 1)
        ax.plot(at + 1, means[at], color=colour(chain), ls=line(chain), lw=1.3, label=f"chain {chain + 1}")
    ax.axhline(float(values.mean()), color=INK, lw=1.0, ls=":", zorder=1)
    ax.set(xlabel="draws so far", ylabel=f"mean {name}")
    ax.margins(x=0.01)
    _name_chains(ax, values)
    headline(ax, "Do the means converge?", f"dotted: mean of all draws, {float(values.mean()):.4g}")
    return ax


def chains(model: Any) -> Figure:
    """Figure of all traces beside their running means, with R-hat, effective draws and a verdict.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    Figure

    See Also
    --------
    traces, cumulative_means : one panel of it.
    countless.posterior.Posterior.diagnostics : the numbers.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> len(cl.plots.chains(model).axes)
    8
    """
    fit = fitted(model)
    _require_chains(fit, next(iter(fit.quantities)))
    names = [name for name in fit.quantities if name not in LEFT_OUT]
    figure = Picture(figsize=(11.0, 0.6 + 2.3 * len(names)), layout=layout())
    panels = figure.subplots(len(names), 2, squeeze=False, width_ratios=[3.0, 2.0])
    told = {each.name: each for each in fit.diagnostics.quantities}
    for row, (name, (left, right)) in enumerate(zip(names, panels, strict=True)):
        traces(fit, name, left)
        cumulative_means(fit, name, right)
        for ax in (left, right):
            _strip(ax, first=row == 0, last=row == len(names) - 1, legend=row == 0 and ax is right)
        if name in told:
            _tell(left, told[name])
        right.set_ylabel("")
    figure.align_ylabels(panels[:, 0])
    title = "\n".join(textwrap.wrap(fit.diagnostics.verdict, 100))
    figure.suptitle(title, fontsize=12, color=INK, x=0.01, ha="left", fontweight="bold")
    return figure


def _strip(ax: Axes, first: bool, last: bool, legend: bool) -> None:
    """Remove from a panel what another panel of its column shows already."""
    for text in [text for text in ax.texts if text.get_gid() == "note"]:
        text.remove()
    ax.set_title(ax.get_title(loc="left") if first else "", loc="left", fontsize=10, pad=18.0 if first else 6.0)
    if not last:
        ax.set_xlabel("")
    shown = ax.get_legend()
    if shown is not None and not legend:
        shown.remove()


def _tell(ax: Axes, quantity: Quantity) -> None:
    """R-hat and effective draws above a panel."""
    parts = [f"R-hat {quantity.rhat:.2f}"] if np.isfinite(quantity.rhat) and not quantity.is_constant else []
    if np.isfinite(quantity.ess_bulk):
        parts.append(f"effective draws {quantity.ess_bulk:,.0f} (tails {quantity.ess_tail:,.0f})")
    words = "the same in all draws" if quantity.is_constant else ", ".join(parts)
    ax.annotate(
        words,
        (0.0, 1.0),
        xytext=(0.0, 4.0),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8,
        color=GREY,
        va="bottom",
    )


def _values(fit: Fit, quantity: str) -> tuple[FloatArray, str]:
    """Values (chain, draw) of a quantity, and its name in words."""
    stored = quantity in STORED and hasattr(fit.posterior, quantity)
    if not stored and quantity not in fit.quantities:
        known = ", ".join(map(repr, fit.quantities))
        raise ValueError(f"quantity: {quantity!r} is unknown; choose one of {known}")
    _require_chains(fit, quantity)
    values = getattr(fit.posterior, quantity) if stored else fit.quantities[quantity]
    return np.asarray(values, dtype=np.float64), shown_name(fit.posterior.words(quantity), 40)


def _require_chains(fit: Fit, quantity: str) -> None:
    if fit.kind != "sampled":
        raise ValueError(
            f"quantity: {fit.words.no_chains} and no chains to trace {quantity!r} along; choose quantity='objective', "
            "or fit with inference='gibbs'"
        )


def _one_trace(ax: Axes, chain: int, series: FloatArray) -> None:
    style: Any = {"color": colour(chain), "ls": line(chain), "label": f"chain {chain + 1}"}
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


def _objective(fit: Fit, ax: Axes | None) -> Axes:
    steps = np.asarray(fit.posterior.objective, dtype=np.float64).reshape(-1)
    if steps.size == 0:
        raise ValueError("quantity: samplers have no 'objective'; choose 'log_joint'")
    ax = axes(ax, (7.6, 3.6))
    quiet(ax)
    ax.plot(
        np.arange(1, len(steps) + 1), steps, color=colour(0), lw=1.3, marker="o" if len(steps) <= 60 else "", ms=3.0
    )
    ax.set(xlabel="step", ylabel=fit.words.objective)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    headline(ax, f"Did the search converge? {count(len(steps), 'step')}")
    return ax
