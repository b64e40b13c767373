"""The rows and the clusters they fall into: a density in one column, a scatter in two, a plane of more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.patches import Ellipse
from numpy.typing import ArrayLike, NDArray

from .._validate import as_rows
from ._style import INK, MOST_POINTS, PALE, axes, colour, column_names, count, marker, quiet, thinned

FloatArray = NDArray[np.float64]

GRID = 400
MOST_IN_LEGEND = 10
# Clusters of up to this many rows are drawn in full even where rows are thinned.
ALWAYS_SHOWN = 50
# Fewer rows say nothing about the shape of a cluster.
FEWEST_IN_ELLIPSE = 5
# Squared radius that holds 90% of a two-dimensional Gaussian: -2 log(1 - 0.9).
ELLIPSE_90 = -2.0 * np.log(0.1)


def clusters(model: Any, X: ArrayLike, ax: Axes | None = None, columns: Sequence[int | str] | None = None) -> Axes:
    """Show the rows coloured by consensus cluster.

    One column: a histogram, the predictive density of the model, and the share of each cluster in it. Two
    columns: a scatter with the 90% ellipse of each cluster. More: the plane of the first two principal
    components of the standardised columns. Beyond 20,000 rows a random subset is drawn, and said so.

    Parameters
    ----------
    model : fitted estimator
    X : array or data frame
        The rows the model was fitted to.
    ax : Axes, optional
    columns : sequence of int or str, optional
        Columns to show, by number or name. Default: all of them.

    Returns
    -------
    Axes

    References
    ----------
    Okabe and Ito 2008, *Color universal design*, for the colours.

    Examples
    --------
    >>> import countless as cl
    >>> X = cl.datasets.load_galaxies()
    >>> model = cl.DPMixture(random_state=0).fit(X)
    >>> cl.plots.clusters(model, X).get_xlabel()
    'velocity'
    """
    rows = as_rows(X)
    labels = np.asarray(model.labels_)
    if len(rows) != len(labels):
        raise ValueError(f"X must hold the {len(labels)} rows that the model was fitted to, got {len(rows)}")
    names = column_names(X, rows.shape[1])
    picked = _pick(columns, names)
    ax = axes(ax, (7.2, 5.0))
    quiet(ax)
    if rows.shape[1] == 1:
        _density(ax, model, rows, labels, names[0])
    elif len(picked) == 1:
        _histogram(ax, rows[:, picked[0]], labels, names[picked[0]])
    elif len(picked) == 2:
        _scatter(ax, model, rows[:, picked], labels)
        ax.set(xlabel=names[picked[0]], ylabel=names[picked[1]])
    else:
        plane, shares = _principal_plane(rows[:, picked])
        _scatter(ax, model, plane, labels)
        ax.set_xlabel(f"principal component 1 of {len(picked)} columns ({shares[0]:.0%} of the variance)")
        ax.set_ylabel(f"principal component 2 ({shares[1]:.0%})")
    return ax


def _pick(columns: Sequence[int | str] | None, names: list[str]) -> list[int]:
    if columns is None:
        return list(range(len(names)))
    picked = []
    for column in columns:
        number = names.index(column) if column in names else column
        if isinstance(number, str) or not -len(names) <= int(number) < len(names):
            raise ValueError(f"columns: {column!r} is not a column of X; it has {', '.join(names)}")
        picked.append(int(number))
    if not picked:
        raise ValueError("columns: name at least one column")
    return picked


# --- one column ----------------------------------------------------------------------------------------


def _density(ax: Axes, model: Any, rows: FloatArray, labels: NDArray[Any], name: str) -> None:
    grid, whole = _grid(model.family_, rows)
    bins = _bins(rows[:, 0], whole)
    heights, *_ = ax.hist(rows[:, 0], bins=bins, density=True, color=PALE, label="data", zorder=1)
    density = np.exp(model.score_samples(_like_fitted(model, grid)))
    parts = np.exp(model._mixture.log_weighted(grid))
    style: Any = {"drawstyle": "steps-mid"} if whole else {}
    for k in range(parts.shape[1] - 1):
        ax.fill_between(
            grid[:, 0],
            parts[:, k],
            color=colour(k),
            alpha=0.25,
            lw=0,
            step="mid" if whole else None,
            zorder=2,
        )
        ax.plot(grid[:, 0], parts[:, k], color=colour(k), lw=1.2, zorder=3, **style)
    ax.plot(grid[:, 0], density, color=INK, lw=1.6, label="predictive density (all draws)", zorder=4, **style)
    top = float(max(density.max(), parts.max(), np.max(heights)))
    _rug(ax, rows[:, 0], labels, top)
    peaks = [int(np.argmax(parts[:, k])) for k in range(parts.shape[1] - 1)]
    for k, at in enumerate(peaks):
        _name(ax, float(grid[at, 0]), float(parts[at, k]), str(k), colour(k), 8.0)
    ax.set(xlabel=name, ylabel="probability" if whole else "density")
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    _headline(ax, labels, len(rows), len(rows))


def _grid(family: Any, rows: FloatArray) -> tuple[FloatArray, bool]:
    """Points for the curve that the family accepts, and whether they are whole numbers."""
    low, high = rows.min(), rows.max()
    margin = 0.08 * (high - low or 1.0)
    for grid in (np.linspace(low - margin, high + margin, GRID), np.linspace(low, high, GRID)):
        try:
            family.check(grid[:, None])
        except ValueError:
            continue
        return grid[:, None], False
    return np.arange(low, high + 1.0)[:, None], True


def _like_fitted(model: Any, grid: FloatArray) -> Any:
    """The grid with the column names the model was fitted with, if there were any."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return grid
    import pandas as pd

    return pd.DataFrame(grid, columns=names)


def _bins(values: FloatArray, whole: bool) -> Any:
    if whole and values.max() - values.min() < GRID:
        return np.arange(values.min() - 0.5, values.max() + 1.0)
    edges = np.histogram_bin_edges(values, bins="fd")
    return np.histogram_bin_edges(values, bins=int(np.clip(len(edges) - 1, 25, 80)))


def _rug(ax: Axes, values: FloatArray, labels: NDArray[Any], top: float) -> None:
    """Ticks of the rows below the axis, coloured by cluster."""
    shown = thinned(len(values), 2000)
    for k in np.unique(labels[shown]):
        mine = values[shown][labels[shown] == k]
        ax.vlines(mine, -0.055 * top, -0.015 * top, color=colour(int(k)), lw=0.8, alpha=0.8, rasterized=True)
    ax.set_ylim(-0.07 * top, 1.12 * top)


def _histogram(ax: Axes, values: FloatArray, labels: NDArray[Any], name: str) -> None:
    """One column of several: rows stacked by cluster."""
    parts = [values[labels == k] for k in range(int(labels.max()) + 1)]
    ax.hist(parts, bins=_bins(values, False), stacked=True, color=[colour(k) for k in range(len(parts))])
    ax.set(xlabel=name, ylabel="rows")
    _headline(ax, labels, len(values), len(values))


# --- two columns ---------------------------------------------------------------------------------------


def _principal_plane(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First two principal components of the standardised columns, and their shares of the variance."""
    spread = rows.std(axis=0)
    standard = (rows - rows.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    values, vectors = np.linalg.eigh(standard.T @ standard)
    axes_ = vectors[:, ::-1][:, :2]
    # A sign of its own choosing would flip the picture from one machine to the next.
    axes_ = axes_ * np.where(axes_.sum(axis=0) < 0.0, -1.0, 1.0)
    return standard @ axes_, values[::-1][:2] / max(values.sum(), np.finfo(float).tiny)


def _scatter(ax: Axes, model: Any, plane: FloatArray, labels: NDArray[Any]) -> None:
    shown = _shown(labels)
    points, groups = _jittered(plane[shown]), labels[shown]
    n = len(shown)
    size, alpha = (26.0, 0.75) if n <= 500 else (12.0, 0.55) if n <= 5000 else (4.0, 0.25)
    sizes = np.bincount(labels)
    for k in range(len(sizes)):
        mine = points[groups == k]
        ax.scatter(
            mine[:, 0],
            mine[:, 1],
            s=size,
            alpha=alpha,
            color=colour(k),
            marker=marker(k),
            linewidths=0,
            rasterized=n > 2000,
            label=f"cluster {k}: {count(int(sizes[k]), 'row')}",
        )
    oval = _takes_any_number(model.family_, model.n_features_in_)
    for k in range(len(sizes)):
        members = plane[labels == k]
        if oval and len(members) >= FEWEST_IN_ELLIPSE:
            _ellipse(ax, members, colour(k), 1.4 if len(sizes) <= MOST_IN_LEGEND else 0.8)
    for k in np.argsort(sizes):
        # The name of a small cluster would hide its rows.
        above = 10.0 if sizes[k] < FEWEST_IN_ELLIPSE else 0.0
        x, y = np.median(plane[labels == k], axis=0)
        _name(ax, x, y, str(k), colour(int(k)), above)
    if len(sizes) <= MOST_IN_LEGEND:
        legend = ax.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=9, loc="best")
        for handle in legend.legend_handles:
            if isinstance(handle, PathCollection):
                handle.set_alpha(1.0)
                handle.set_sizes([30.0])
    _headline(ax, labels, n, len(plane))


def _shown(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Rows to draw: a random subset of many, and in any case all rows of small clusters."""
    small = np.flatnonzero(np.bincount(labels)[labels] <= ALWAYS_SHOWN)
    subset = thinned(len(labels))
    return np.union1d(subset, small[:MOST_POINTS])


def _jittered(points: FloatArray) -> FloatArray:
    """Rows on a coarse grid, moved a little so that equal ones do not hide each other."""
    if len(np.unique(points, axis=0)) > 0.5 * len(points) or np.any(points != np.floor(points)):
        return points
    return points + np.random.default_rng(0).uniform(-0.3, 0.3, size=points.shape)


def _takes_any_number(family: Any, n_columns: int) -> bool:
    """Whether rows may be any real numbers, so that an ellipse is a fair picture of a cluster."""
    try:
        family.check(np.full((1, n_columns), -0.5))
    except ValueError:
        return False
    return True


def _ellipse(ax: Axes, members: FloatArray, shade: str, width_of_line: float) -> None:
    """The 90% ellipse of a Gaussian with the mean and covariance of the members."""
    values, vectors = np.linalg.eigh(np.cov(members.T))
    width, height = 2.0 * np.sqrt(ELLIPSE_90 * np.maximum(values[::-1], 0.0))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    ax.add_patch(
        Ellipse(
            members.mean(axis=0),
            width,
            height,
            angle=angle,
            fill=False,
            edgecolor=shade,
            lw=width_of_line,
            zorder=3,
        )
    )


def _name(ax: Axes, x: float, y: float, name: str, shade: str, above: float = 0.0) -> None:
    """Name of a cluster at a place, or so many points above it."""
    ax.annotate(
        name,
        (x, y),
        xytext=(0.0, above),
        textcoords="offset points",
        color=shade,
        fontsize=11,
        fontweight="bold",
        ha="center",
        va="center",
        zorder=5,
        path_effects=[patheffects.withStroke(linewidth=3.0, foreground="white")],
    )


def _headline(ax: Axes, labels: NDArray[Any], n_shown: int, n_rows: int) -> None:
    found = count(int(labels.max()) + 1, "cluster")
    shown = f"{n_shown:,} of {count(n_rows, 'row')} shown" if n_shown < n_rows else count(n_rows, "row")
    ax.set_title(f"What was found? {found} ({shown})", fontsize=10, loc="left")
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
