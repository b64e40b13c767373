"""One column: its predictive distribution with a band, over the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..core.text import count, percent
from .parts.fit import Fit, fitted
from .parts.marginal import Marginal, marginal
from .parts.pick import thinned
from .parts.style import (
    INK,
    PALE,
    QUIET,
    axes,
    colour,
    headline,
    legend_beside,
    name_clusters,
    plain_dates,
    plain_numbers,
    quiet,
    shown_name,
    shown_names,
)

FloatArray = NDArray[np.float64]

BAND = "#E3E3E3"
# More ticks than this on the rug hide each other.
MOST_TICKS = 2000
# More bars than this are a curve.
MOST_BARS = 50
MOST_LEVELS = 25
# Shares of more clusters than this would be a tangle.
MOST_PARTS = 12


def density(model: Any, column: int | str | None = None, ax: Axes | None = None) -> Axes:
    """Predictive distribution of one column, with its uncertainty, over the data.

    Numbers: the predictive density, averaged over draws, with a pointwise 90% band, a histogram and a rug of the data,
    and the part of each consensus cluster. Counts and categories: predictive probabilities with 90% intervals, beside
    the shares in the data. The band covers the unknown density: weights and parameters of the clusters are drawn given
    each draw of the partition (for a MAP fit, given its single partition).

    One column of several is a mixture over the clusters of all columns, with the column's own part of the family. This
    is exact for independent columns and for full covariances. Missing cells are left out, and so is what the other
    cells of a row in a Gaussian block say about them.

    Parameters
    ----------
    model : fitted model
    column : int or str, optional
        Number or name; optional if there is one column only.
    ax : Axes, optional

    Returns
    -------
    Axes

    References
    ----------
    Escobar and West 1995, *Bayesian density estimation and inference using mixtures*, Journal of the American
    Statistical Association 90, 577-588; Gelfand and Kottas 2002, *A computational approach for full nonparametric
    Bayesian inference under Dirichlet process mixture models*, Journal of Computational and Graphical Statistics 11,
    289-305, for the band.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture("gaussian", random_state=0).fit(cl.datasets.load_galaxies())
    >>> cl.plots.density(model).get_xlabel()
    'velocity'
    """
    fit = fitted(model)
    if column is None and len(fit.data.columns) > 1:
        raise ValueError(
            f"column: there are {len(fit.data.columns)}; name the one to show, such as {fit.data.names[0]!r}"
        )
    return draw_density(axes(ax, (7.6, 4.6)), fit, 0 if column is None else fit.column(column))


def draw_density(ax: Axes, fit: Fit, j: int, title: str = "") -> Axes:
    """The same for a column given by number, with an optional title."""
    cells = fit.data.rows[:, j]
    missing = int(np.isnan(cells).sum())
    expected = marginal(fit, j)
    column = fit.data.columns[j]
    quiet(ax)
    if column.is_categorical:
        notes = _categories(ax, expected, cells, column.levels or ())
    elif expected.is_discrete:
        notes = _counts(ax, fit, expected, cells)
    else:
        notes = _curve(ax, fit, expected, cells)
    ax.set_xlabel(shown_name(column.name, 60))
    if column.is_date:
        plain_dates(ax.xaxis)
    elif not column.is_categorical:
        plain_numbers(ax.xaxis, float(expected.points[0]), float(expected.points[-1]))
    legend_beside(ax)
    name, found = shown_name(column.name), count(fit.n_clusters, "cluster")
    title = title or f"What does the model predict? {name} in {count(fit.n_rows, 'row')}, {found}"
    headline(ax, title, *notes, f"{count(missing, 'missing cell')} left out" if missing else "")
    return ax


def _band_name(fit: Fit) -> str:
    return "90% band" if fit.kind == "sampled" else f"90% band,\n{fit.words.fit}"


# --- numbers -----------------------------------------------------------------------------------------------------


def _curve(ax: Axes, fit: Fit, expected: Marginal, cells: FloatArray) -> list[str]:
    x = expected.points
    seen = ~np.isnan(cells)
    inside = seen & (cells >= x[0]) & (cells <= x[-1])
    edges = _bins(cells[inside])
    counts, _ = np.histogram(cells[inside], edges)
    heights = counts / (seen.sum() * np.diff(edges))
    _data(ax, heights, edges)
    _parts(ax, expected, None)
    ax.fill_between(x, expected.low, expected.high, color=BAND, lw=0, label=_band_name(fit), zorder=1)
    ax.plot(x, expected.mean, color=INK, lw=1.6, label="predictive", zorder=5)
    # The band may peak sharply between two rows; the axis leaves such peaks out.
    top = float(max(expected.mean.max(), heights.max(), np.quantile(expected.high, 0.98)))
    _rug(ax, cells[inside], fit.labels[inside], top)
    ax.set_xlim(x[0], x[-1])
    _name_parts(ax, expected)
    ax.set_ylabel("density")
    plain_numbers(ax.yaxis, 0.0, top)
    outside = int(seen.sum() - inside.sum())
    return [f"{count(outside, 'row')} outside the axis"] if outside else []


def _data(ax: Axes, heights: FloatArray, edges: FloatArray) -> None:
    ax.stairs(heights, edges, color=QUIET, lw=1.0, label="data", zorder=2)


def _bins(cells: FloatArray) -> FloatArray:
    low, high = float(cells.min()), float(cells.max())
    whole = not np.any(cells != np.floor(cells))
    if whole and 2 <= high - low <= 80:
        return np.arange(low - 0.5, high + 1.0)
    inner = np.quantile(cells, [0.25, 0.75])
    # Two thirds of the width of Freedman and Diaconis (1981): the quartiles of a mixture are further apart than those
    # of its parts.
    width = 4.0 / 3.0 * float(inner[1] - inner[0]) / len(cells) ** (1 / 3)
    n = int(np.clip((high - low) / width if width > 0.0 else 10, 10, 80))
    return np.linspace(low, high, n + 1) if high > low else np.array([low - 0.5, low + 0.5])


def _parts(ax: Axes, expected: Marginal, step: Any) -> None:
    style: Any = {"drawstyle": "steps-mid"} if step else {}
    if 1 < len(expected.parts) <= MOST_PARTS:
        for k, part in enumerate(expected.parts):
            ax.fill_between(expected.points, part, color=colour(k), alpha=0.2, lw=0, step=step, zorder=3)
            ax.plot(expected.points, part, color=colour(k), lw=1.3, zorder=4, **style)


def _name_parts(ax: Axes, expected: Marginal) -> None:
    if 1 < len(expected.parts) <= MOST_PARTS:
        peaks = [int(np.argmax(part)) for part in expected.parts]
        places = [(k, float(expected.points[at]), float(expected.parts[k, at])) for k, at in enumerate(peaks)]
        name_clusters(ax, sorted(places, key=lambda place: -place[2]), above=8.0)


def _rug(ax: Axes, cells: FloatArray, labels: NDArray[np.int64], top: float) -> None:
    """Ticks of the rows below the axis, coloured by cluster."""
    shown = thinned(len(cells), MOST_TICKS)
    for k in np.unique(labels[shown]):
        mine = cells[shown][labels[shown] == k]
        ax.vlines(mine, -0.055 * top, -0.015 * top, color=colour(int(k)), lw=0.8, alpha=0.8, rasterized=True)
    ax.set_ylim(-0.07 * top, 1.12 * top)


# --- counts and categories -----------------------------------------------------------------------------------------


def _counts(ax: Axes, fit: Fit, expected: Marginal, cells: FloatArray) -> list[str]:
    x = expected.points
    seen = cells[~np.isnan(cells)]
    shares = np.bincount(np.clip(seen - x[0], 0, len(x) - 1).astype(np.int64), minlength=len(x)) / len(seen)
    outside = int(((seen < x[0]) | (seen > x[-1])).sum())
    if len(x) <= MOST_BARS:
        ax.bar(x, shares, width=0.85, color=PALE, label="data", zorder=1)
        _intervals(ax, x, expected, "predictive,\n90% interval")
        ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
    else:
        width = -(-len(x) // 80)
        edges = np.arange(x[0] - 0.5, x[-1] + width, width)
        _data(ax, np.histogram(seen, edges)[0] / len(seen) / width, edges)
        ax.fill_between(x, expected.low, expected.high, color=BAND, lw=0, label=_band_name(fit), zorder=1)
        ax.plot(x, expected.mean, color=INK, lw=1.6, label="predictive", zorder=5)
        shares = shares[:0]
    _parts(ax, expected, "mid")
    ax.set_ylabel("probability")
    top = 1.12 * float(max(expected.high.max(), shares.max(initial=0.0)))
    ax.set(ylim=(0.0, top), xlim=(x[0] - 0.7, x[-1] + 0.7))
    plain_numbers(ax.yaxis, 0.0, top)
    _name_parts(ax, expected)
    return [f"{count(outside, 'row')} outside the axis"] if outside else []


def _intervals(ax: Axes, x: FloatArray, expected: Marginal, name: str) -> None:
    spread = [
        np.maximum(expected.mean - expected.low, 0.0),
        np.maximum(expected.high - expected.mean, 0.0),
    ]
    ax.errorbar(x, expected.mean, yerr=spread, fmt="o", ms=4.0, color=INK, elinewidth=1.2, label=name, zorder=5)


def _categories(ax: Axes, expected: Marginal, cells: FloatArray, levels: tuple[str, ...]) -> list[str]:
    codes = cells[~np.isnan(cells)].astype(np.int64)
    shares = np.bincount(codes, minlength=len(levels)) / len(codes)
    shown = np.arange(len(levels))
    note = []
    if len(levels) > MOST_LEVELS:
        shown = np.sort(np.argsort(-expected.mean, kind="stable")[:MOST_LEVELS])
        rest = 1.0 - float(expected.mean[shown].sum())
        note = [f"{MOST_LEVELS} most probable of {len(levels)} categories; the others: {percent(rest)}"]
    kept = expected._replace(mean=expected.mean[shown], low=expected.low[shown], high=expected.high[shown])
    places = np.arange(float(len(shown)))
    ax.bar(places, shares[shown], width=0.7, color=PALE, label="data", zorder=1)
    _intervals(ax, places, kept, "predictive,\n90% interval")
    names = shown_names([levels[level] for level in shown], 18)
    slanted = sum(map(len, names)) > 70
    ax.set_xticks(places, names, rotation=40 if slanted else 0, ha="right" if slanted else "center")
    if slanted:
        ax.tick_params(axis="x", pad=1.0)
        for text in ax.get_xticklabels():
            text.set_rotation_mode("anchor")
    ax.set_xlim(-0.8 - max(0.0, 2.0 - 0.5 * len(shown)), len(shown) - 0.2 + max(0.0, 2.0 - 0.5 * len(shown)))
    ax.set_ylim(0.0, 1.12 * float(max(kept.high.max(), shares[shown].max())))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_ylabel("probability")
    return note
