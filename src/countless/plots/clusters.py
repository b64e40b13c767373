"""The rows coloured by cluster, in the plane of two columns or of two principal components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Ellipse
from numpy.typing import NDArray

from ..core.text import count
from .density import draw_density
from .parts.fit import Fit, fitted
from .parts.marginal import takes_any_number
from .parts.plane import Plane, principal, two_columns
from .parts.style import (
    axes,
    colour,
    headline,
    legend_beside,
    marker,
    name_clusters,
    plain_dates,
    plain_numbers,
    quiet,
    shown_names,
)

FloatArray = NDArray[np.float64]

MOST_IN_LEGEND = 12
# More points than this hide each other.
MOST_POINTS = 20_000
# Clusters of up to this many rows are drawn row by row where the others are shades.
ALWAYS_SHOWN = 50
# Fewer rows say nothing about the shape of a cluster.
FEWEST_IN_ELLIPSE = 5
# Squared radius that holds 90% of a two-dimensional Gaussian: -2 log(1 - 0.9).
ELLIPSE_90 = -2.0 * np.log(0.1)
# Cells of the shaded picture: fine enough to be smooth, coarse enough that one row is a visible dot.
SHADES = (330, 240)


def clusters(model: Any, columns: Sequence[int | str] | None = None, ax: Axes | None = None) -> Axes:
    """Show the rows coloured by consensus cluster.

    Two columns: a scatter with the 90% ellipse of each cluster. More: the plane of the first two principal
    components, each column with one unit of variance, categories as zeros and ones, missing cells at the mean of their
    column. One column: its ``density``. More than 20,000 rows are shown as an image: the hue shows the clusters, the
    depth the number of rows (on a log scale), and a note says so.

    Parameters
    ----------
    model : fitted model
    columns : sequence of int or str, optional
        Columns to show, by number or name. Default: all of them.
    ax : Axes, optional

    Returns
    -------
    Axes

    References
    ----------
    Okabe and Ito 2008, *Color universal design*, for the colours.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture("gaussian", random_state=0).fit(cl.datasets.load_faithful())
    >>> ax = cl.plots.clusters(model)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('eruptions', 'waiting')
    """
    fit = fitted(model)
    picked = _pick(fit, columns)
    ax = axes(ax, (7.6, 5.0))
    title = f"What was found? {count(fit.n_clusters, 'cluster')} in {count(fit.n_rows, 'row')}"
    if len(picked) == 1:
        return draw_density(ax, fit, picked[0], title)
    plane = two_columns(fit.data, *picked) if len(picked) == 2 else principal(fit.data, picked)
    quiet(ax)
    labels = fit.labels[plane.rows]
    many = len(labels) > MOST_POINTS
    if many:
        _shade(ax, plane.places, labels)
    else:
        _points(ax, plane.places, labels, fit.sizes)
    oval = len(picked) > 2 or all(takes_any_number(fit.data, j) for j in picked)
    _name_and_encircle(ax, plane, labels, oval)
    _label_axes(ax, plane)
    if not many and 1 < fit.n_clusters <= MOST_IN_LEGEND:
        _legend(ax)
    headline(
        ax, title, "shade: rows, on a log scale" if many else "", "ovals: 90% of a cluster" if oval else "", plane.note
    )
    return ax


def _pick(fit: Fit, columns: Any) -> list[int]:
    if columns is None:
        return list(range(len(fit.data.columns)))
    if isinstance(columns, str) or not isinstance(columns, (Sequence, np.ndarray)):
        columns = [columns]
    picked = [fit.column(column, "columns") for column in columns]
    if not picked:
        raise ValueError("columns: name at least one column")
    if len(set(picked)) < len(picked):
        raise ValueError(f"columns: each column once, got {list(columns)!r}")
    return picked


def _points(ax: Axes, places: FloatArray, labels: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
    n = len(places)
    size, alpha = (26.0, 0.75) if n <= 500 else (14.0, 0.6) if n <= 5000 else (5.0, 0.35)
    for k in range(len(sizes)):
        mine = places[labels == k]
        ax.scatter(
            mine[:, 0],
            mine[:, 1],
            s=size,
            alpha=alpha,
            color=colour(k),
            marker=marker(k),
            linewidths=0,
            rasterized=n > 2000,
            label=f"{k}: {count(int(sizes[k]), 'row')}",
        )


def _shade(ax: Axes, places: FloatArray, labels: NDArray[np.int64]) -> None:
    """All rows as an image: the hue of a cell mixes those of its clusters, its depth is the log of its rows."""
    low, high = places.min(axis=0), places.max(axis=0)
    margin = 0.03 * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin
    cells = np.minimum(((places - low) / (high - low) * SHADES).astype(np.int64), np.array(SHADES) - 1)
    at = cells[:, 1] * SHADES[0] + cells[:, 0]
    hues = np.array([to_rgb(colour(k)) for k in range(int(labels.max()) + 1)])
    n_cells = SHADES[0] * SHADES[1]
    rows = np.bincount(at, minlength=n_cells)
    mixed = np.stack([np.bincount(at, hues[labels, c], minlength=n_cells) for c in range(3)], axis=1)
    depth = np.log1p(rows) / np.log1p(rows.max())
    image = np.ones((n_cells, 4))
    image[:, :3] = mixed / np.maximum(rows, 1)[:, None]
    image[:, 3] = np.where(rows > 0, 0.2 + 0.8 * depth, 0.0)
    ax.imshow(
        image.reshape(SHADES[1], SHADES[0], 4),
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        zorder=1,
    )
    for k in np.flatnonzero(np.bincount(labels) <= ALWAYS_SHOWN):
        mine = places[labels == k]
        ax.scatter(mine[:, 0], mine[:, 1], s=12.0, color=colour(int(k)), marker=marker(int(k)), linewidths=0, zorder=2)


def _typical(places: FloatArray, levels: tuple[str, ...] | None) -> float:
    """The middle of a cluster; of categories, the most frequent one."""
    return float(np.median(places)) if levels is None else float(np.bincount(places.round().astype(np.int64)).argmax())


def _name_and_encircle(ax: Axes, plane: Plane, labels: NDArray[np.int64], oval: bool) -> None:
    sizes = np.bincount(labels)
    names = []
    for k in np.argsort(-sizes, kind="stable"):
        members = plane.places[labels == k]
        if oval and len(members) >= FEWEST_IN_ELLIPSE:
            _ellipse(ax, members, colour(int(k)), 1.4 if len(sizes) <= MOST_IN_LEGEND else 0.8)
        if len(members):
            x, y = (_typical(members[:, axis], plane.levels[axis]) for axis in (0, 1))
            names.append((int(k), x, y))
    ax.autoscale_view()
    # The name of a small cluster would hide its rows.
    name_clusters(ax, [place for place in names if sizes[place[0]] >= FEWEST_IN_ELLIPSE])
    name_clusters(ax, [place for place in names if sizes[place[0]] < FEWEST_IN_ELLIPSE], above=11.0)


def _ellipse(ax: Axes, members: FloatArray, shade: str, width_of_line: float) -> None:
    """The 90% ellipse of a Gaussian with the mean and covariance of the members."""
    values, vectors = np.linalg.eigh(np.cov(members.T))
    width, height = 2.0 * np.sqrt(ELLIPSE_90 * np.maximum(values[::-1], 0.0))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    oval = Ellipse(members.mean(axis=0), width, height, angle=angle, fill=False, ec=shade, lw=width_of_line, zorder=3)
    ax.add_patch(oval)


def _label_axes(ax: Axes, plane: Plane) -> None:
    ax.set(xlabel=plane.names[0], ylabel=plane.names[1])
    for axis, levels, are_dates in zip((ax.xaxis, ax.yaxis), plane.levels, plane.dates, strict=True):
        if are_dates:
            plain_dates(axis)
        elif levels is not None and len(levels) <= 20:
            axis.set_ticks(range(len(levels)), shown_names(levels, 14))
        elif levels is None:
            plain_numbers(axis, *axis.get_view_interval())


def _legend(ax: Axes) -> None:
    legend = legend_beside(ax, title="cluster", handletextpad=0.2, alignment="left")
    for handle in legend.legend_handles:
        handle.set_alpha(1.0)
        handle.set_sizes([30.0])
