"""Figures of mixed effects: trajectories coloured by cluster, effects with their clusters, intervals of subjects."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from ...core.text import count
from ...plots.parts.style import INK, QUIET, axes, colour, headline, quiet

# Lines that a figure of trajectories holds, and subjects of a figure of intervals.
MOST_LINES, MOST_INTERVALS = 300, 80


def trajectories(model: Any, column: str | int | None = None, ax: Axes | None = None) -> Axes:
    """Outcomes of the subjects against one column of their design, coloured by cluster, with the mean of each cluster.

    Parameters
    ----------
    model : fitted MixedEffects
    column : str or int, optional
        Column on the horizontal axis; default, the first that varies.
    ax : Axes, optional
    """
    check_is_fitted(model, "posterior_")
    data = model.posterior_.data
    j = _column(data, column)
    ax = axes(ax)
    shared = data.fixed @ model.posterior_.fixed.mean(axis=(0, 1))
    shown = np.unique(np.linspace(0, data.n_subjects - 1, min(MOST_LINES, data.n_subjects)).astype(int))
    faint = 0.5 if len(shown) < 60 else 0.22
    order = np.argsort(data.X[:, j], kind="stable")
    for i in shown:
        at = order[data.codes[order] == i]
        style: dict[str, Any] = {"marker": "o", "markersize": 2.0} if len(at) < 12 else {}
        shade = colour(int(model.labels_[i]))
        ax.plot(data.X[at, j], data.y[at] - shared[at], color=shade, alpha=faint, lw=0.8, zorder=1, **style)
    table = model.cluster_effects_
    others = np.median(data.X, axis=0)
    for k in range(model.n_clusters_):
        mine = data.X[model.labels_[data.codes] == k, j]
        points = np.linspace(mine.min(), mine.max(), 50)
        design = np.tile(others, (50, 1))
        design[:, j] = points
        means = np.array([table.loc[k, (name, "mean")] for name in data.effect_names])
        size = int(table.loc[k, ("", "size")])
        ax.plot(points, design @ means, color="white", lw=5.0, zorder=2)
        ax.plot(points, design @ means, color=colour(k), lw=2.6, zorder=3, label=f"cluster {k} ({size:,})")
    ax.set_xlabel(data.effect_names[j])
    ax.set_ylabel("outcome" if not data.fixed.shape[1] else "outcome less the fixed effects")
    if model.n_clusters_ > 1:
        ax.legend(frameon=False, fontsize=8, labelcolor=INK)
    quiet(ax)
    headline(ax, f"{count(model.n_clusters_, 'cluster')} of trajectories", _some(len(shown), data.n_subjects))
    return ax


def effects(model: Any, columns: tuple[Any, Any] | None = None, ax: Axes | None = None) -> Axes:
    """Posterior means of the effects in two columns of the design (or the density of one) with the clusters' ellipses.

    An ellipse holds half of the subjects of its cluster, as a normal law has it.
    """
    check_is_fitted(model, "posterior_")
    data, table = model.posterior_.data, model.effects_
    ax = axes(ax)
    names = data.effect_names
    if len(names) == 1:
        _one_effect(model, ax, names[0])
    else:
        i, j = (0, 1) if columns is None else (_column(data, columns[0]), _column(data, columns[1]))
        one, two = table[names[i], "mean"].to_numpy(), table[names[j], "mean"].to_numpy()
        drawn = model._effect_draws
        for k in range(model.n_clusters_):
            members = model.labels_ == k
            ax.scatter(one[members], two[members], s=11, color=colour(k), alpha=0.55, lw=0, label=f"cluster {k}")
            if members.sum() > 2:
                _ellipse(ax, drawn[:, members][:, :, [i, j]], colour(k))
        ax.set_xlabel(names[i])
        ax.set_ylabel(names[j])
        if model.n_clusters_ > 1:
            ax.legend(frameon=False, fontsize=8, labelcolor=INK)
    quiet(ax)
    headline(ax, f"Effects of {count(data.n_subjects, 'subject')}", "posterior means")
    return ax


def density(model: Any, column: str | int | None = None, ax: Axes | None = None) -> Axes:
    """Density of one effect in the population, with the part that each cluster has in it.

    Parameters
    ----------
    model : fitted MixedEffects
    column : str or int, optional
        The effect; default, the first whose column varies.
    ax : Axes, optional
    """
    check_is_fitted(model, "posterior_")
    data = model.posterior_.data
    j = _column(data, column)
    ax = axes(ax)
    means = model.effects_[data.effect_names[j], "mean"].to_numpy()
    room = 0.35 * (np.ptp(means) or 1.0)
    points = np.linspace(means.min() - room, means.max() + room, 300)
    total, parts = model._given.densities(j, points, model.labels_)
    for k in range(model.n_clusters_):
        shade = colour(k)
        ax.fill_between(points, parts[k], color=shade, alpha=0.25, lw=0)
        ax.plot(points, parts[k], color=shade, lw=1.4, label=f"cluster {k}")
    ax.plot(points, total, color=INK, lw=1.6, label="a new subject")
    ax.plot(means, np.full(len(means), -0.015 * total.max()), "|", color=QUIET, markersize=5, alpha=0.5)
    ax.set_xlabel(data.effect_names[j])
    ax.set_ylabel("density")
    ax.legend(frameon=False, fontsize=8, labelcolor=INK)
    quiet(ax)
    headline(ax, "Distribution of one effect", "ticks are posterior means of the subjects")
    return ax


def caterpillar(model: Any, column: str | int = 0, ax: Axes | None = None) -> Axes:
    """Mean and 95% interval of one effect of every subject, in order, coloured by cluster."""
    check_is_fitted(model, "posterior_")
    data = model.posterior_.data
    name = data.effect_names[_column(data, column)]
    table = model.effects_[name]
    order = np.argsort(table["mean"].to_numpy(), kind="stable")
    shown = order[np.unique(np.linspace(0, len(order) - 1, min(MOST_INTERVALS, len(order))).astype(int))]
    ax = axes(ax, (6.4, max(3.0, 1.2 + 0.13 * len(shown))))
    for place, i in enumerate(shown):
        row = table.iloc[i]
        shade = colour(int(model.labels_[i]))
        ax.plot([row["2.5%"], row["97.5%"]], [place, place], color=shade, lw=1.4, alpha=0.8)
        ax.plot([row["mean"]], [place], "o", color=shade, ms=3.5)
    ax.axvline(float(table["mean"].mean()), color=QUIET, lw=0.8, zorder=0)
    ax.set_yticks(range(len(shown)), [str(data.subjects[i]) for i in shown], fontsize=6)
    ax.set_ylim(-1, len(shown))
    ax.set_xlabel(name)
    quiet(ax)
    headline(ax, f"{name} of each subject", "mean and 95% interval", _some(len(shown), data.n_subjects))
    return ax


def _one_effect(model: Any, ax: Axes, name: str) -> None:
    means = model.effects_[name, "mean"].to_numpy()
    edges = np.histogram_bin_edges(means, bins=min(40, max(8, len(means) // 6)))
    parts = [means[model.labels_ == k] for k in range(model.n_clusters_)]
    shades = [colour(k) for k in range(model.n_clusters_)]
    labels = [f"cluster {k}" for k in range(model.n_clusters_)]
    ax.hist(parts, bins=edges.tolist(), stacked=True, color=shades, label=labels, edgecolor="white", lw=0.5)
    ax.set_xlabel(name)
    ax.set_ylabel("subjects")
    if model.n_clusters_ > 1:
        ax.legend(frameon=False, fontsize=8, labelcolor=INK)


def _ellipse(ax: Axes, drawn: Any, shade: str) -> None:
    centre = drawn.reshape(-1, 2).mean(axis=0)
    covariance = np.mean([np.cov(one.T) for one in drawn[:: max(1, len(drawn) // 50)]], axis=0)
    values, vectors = np.linalg.eigh(covariance)
    turn = np.linspace(0.0, 2.0 * np.pi, 120)
    circle = np.sqrt(2.0 * np.log(2.0)) * np.column_stack([np.cos(turn), np.sin(turn)])
    points = centre + (circle * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    ax.plot(points[:, 0], points[:, 1], color=shade, lw=1.6)


def _column(data: Any, column: str | int | None) -> int:
    names = list(data.effect_names)
    if column is None:
        varying = np.flatnonzero(np.ptp(data.X, axis=0) > 0.0)
        return int(varying[0]) if len(varying) else 0
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"column: {column!r} is no effect of this model; it has {', '.join(map(repr, names))}")
        return names.index(column)
    if not 0 <= int(column) < len(names):
        raise ValueError(f"column: there are {len(names)} effects, got number {column}")
    return int(column)


def _some(shown: int, n: int) -> str:
    return "" if shown == n else f"{shown:,} of {n:,} subjects are shown"
