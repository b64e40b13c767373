"""Sequences and their states: the series in coloured bands, how states follow each other, what comes next."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from ..core.text import count, percent
from .parts.style import GREY, INK, PALE, QUIET, axes, colour, headline, plain_numbers, quiet, shown_name

# Steps that a line is drawn through; of longer series some are left out.
MOST_STEPS = 20_000
# Height of the strip that shows how sure each step is, as a share of the axes, and columns of colour in it.
STRIP, MOST_COLUMNS = 0.045, 1500
# States that the matrix writes numbers into.
MOST_WRITTEN = 12


def states(model: Any, column: int | str = 0, sequence: int = 0, ax: Axes | None = None) -> Axes:
    """One column of a sequence over time, with the state of each step as a coloured band.

    The strip at the bottom shows how sure each step is of its state: full colour, certain; pale, not at all.

    Parameters
    ----------
    model : fitted model of sequences
    column : int or str
        Column to draw, by number or name.
    sequence : int
        Number of the sequence.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.InfiniteHMM(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.states(model).get_xlabel()
    'step'
    """
    data = model.posterior_.data
    at = _column(data.names, column)
    ends = np.cumsum(data.lengths)
    if not 0 <= sequence < len(ends):
        raise ValueError(f"sequence must be between 0 and {len(ends) - 1}, got {sequence!r}")
    which = slice(int(ends[sequence] - data.lengths[sequence]), int(ends[sequence]))
    labels, values = model.labels_[which], data.rows[which, at]
    sure = np.asarray(model.certainty_.probability)[which]
    ax = axes(ax, (8.6, 3.4))
    _bands(ax, labels)
    step = max(1, len(values) // MOST_STEPS)
    time = np.arange(len(values))
    marks: dict[str, Any] = {"marker": "o", "markersize": 2.6} if len(values) <= 150 else {}
    ax.plot(time[::step], values[::step], color=INK, linewidth=0.9 if len(values) < 600 else 0.5, **marks)
    ax.set_xlim(-0.5, len(values) - 0.5)
    low, high = np.nanmin(values), np.nanmax(values)
    room = (high - low) or 1.0
    ax.set_ylim(low - (0.06 + 1.6 * STRIP) * room, high + 0.06 * room)
    _strip(ax, labels, sure)
    quiet(ax)
    plain_numbers(ax.yaxis, low, high)
    ax.set_xlabel("step", fontsize=9)
    ax.set_ylabel(shown_name(data.names[at]), fontsize=9)
    _names(ax, labels)
    number = "" if len(ends) == 1 else f"sequence {sequence} of {len(ends)}"
    found = count(len(np.unique(labels)), "state")
    headline(ax, f"Which state when? {found}, {percent(float(sure.mean()))} sure on average", number)
    return ax


def _column(names: Any, column: int | str) -> int:
    listed = [str(name) for name in names]
    if isinstance(column, str):
        if column not in listed:
            raise ValueError(f"column: there is no {column!r}; choose one of {', '.join(map(repr, listed))}")
        return listed.index(column)
    if not 0 <= column < len(listed):
        raise ValueError(f"column must be between 0 and {len(listed) - 1}, got {column!r}")
    return column


def _runs(labels: Any) -> list[tuple[int, int, int]]:
    """First step, step after the last, and state of each run."""
    begins = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    ends = np.append(begins[1:], len(labels))
    return [(int(a), int(b), int(labels[a])) for a, b in zip(begins, ends, strict=True)]


def _bands(ax: Axes, labels: Any) -> None:
    """Bands behind the series; where runs are many, as one image."""
    white = np.ones(3)
    n = min(len(labels), MOST_COLUMNS)
    shown = labels[np.linspace(0, len(labels) - 1, n).astype(int)]
    pale = np.array([white + 0.28 * (np.array(to_rgb(colour(int(k)))) - white) for k in shown])
    ax.imshow(
        pale[None],
        extent=(-0.5, len(labels) - 0.5, 0.0, 1.0),
        transform=ax.get_xaxis_transform(),
        aspect="auto",
        interpolation="nearest",
        zorder=0,
    )


def _strip(ax: Axes, labels: Any, sure: Any) -> None:
    n = min(len(labels), MOST_COLUMNS)
    at = np.linspace(0, len(labels) - 1, n).astype(int)
    white = np.ones(3)
    shades = np.array(
        [white + s * (np.array(to_rgb(colour(int(k)))) - white) for k, s in zip(labels[at], sure[at], strict=True)]
    )
    limits = ax.get_ylim()
    ax.imshow(
        shades[None],
        extent=(-0.5, len(labels) - 0.5, 0.0, STRIP),
        transform=ax.get_xaxis_transform(),
        aspect="auto",
        interpolation="nearest",
        zorder=3,
    )
    ax.set_ylim(limits)
    ax.set_xlim(-0.5, len(labels) - 0.5)


def _names(ax: Axes, labels: Any) -> None:
    """Names of the states, at the top, over runs that have room for them."""
    for begin, end, k in _runs(labels):
        if end - begin >= 0.035 * len(labels):
            ax.text(
                (begin + end - 1) / 2,
                0.985,
                str(k),
                transform=ax.get_xaxis_transform(),
                ha="center",
                va="top",
                fontsize=9,
                fontweight="bold",
                color=colour(k),
            )


def transitions(model: Any, ax: Axes | None = None) -> Axes:
    """Probabilities of the next state (columns) after each state (rows), with the mean duration of each.

    Parameters
    ----------
    model : fitted model of sequences
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.InfiniteHMM(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.transitions(model).get_ylabel()
    'from state'
    """
    matrix = np.asarray(model.transition_matrix_)
    k = len(matrix)
    ax = axes(ax, (1.6 + 0.55 * max(k, 5), 1.5 + 0.45 * max(k, 4)), compress=True)
    # The root, so that what is rare can be seen beside what is not.
    ax.imshow(np.sqrt(matrix), vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto", interpolation="nearest")
    if k <= MOST_WRITTEN:
        for i in range(k):
            for j in range(k + 1):
                ink = "white" if matrix[i, j] > 0.4 else INK
                ax.text(j, i, _share(matrix[i, j]), ha="center", va="center", fontsize=8, color=ink)
    ax.set_xticks(range(k + 1), [*map(str, range(k)), "new"], fontsize=9)
    lasts = [f"{state}  ({_steps(steps)})" for state, steps in enumerate(model.expected_durations_)]
    ax.set_yticks(range(k), lasts, fontsize=9)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("to state", fontsize=9)
    ax.set_ylabel("from state", fontsize=9)
    headline(ax, "What follows what?", "in brackets, steps that a visit lasts on average")
    return ax


def _share(value: float) -> str:
    return f"{value:.2f}".lstrip("0") if 0.005 <= value < 0.995 else "1" if value >= 0.995 else "·"


def _steps(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def forecast(
    model: Any, steps: int = 20, X: Any = None, column: int | str = 0, history: int = 60, ax: Axes | None = None
) -> Axes:
    """The last steps of a sequence and what may come next: the median, and intervals of 50% and 90%.

    Parameters
    ----------
    model : fitted model of sequences
    steps : int
        How many steps to look ahead.
    X : array, optional
        The sequence so far; by default the last one of the fit.
    column : int or str
    history : int
        Steps of the past that are drawn.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.InfiniteHMM(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.forecast(model, steps=3).get_xlabel()
    'steps ahead'
    """
    data = model.posterior_.data
    at = _column(data.names, column)
    past = data.rows[-int(data.lengths[-1]) :] if X is None else np.asarray(X, dtype=np.float64)
    past = past[-history:, at]
    found = model.forecast(X, steps=steps).quantiles([0.05, 0.25, 0.5, 0.75, 0.95])[:, :, at]
    ax = axes(ax, (7.6, 3.4))
    ahead = np.arange(1, steps + 1)
    ax.plot(np.arange(1 - len(past), 1), past, color=INK, linewidth=0.9, marker="o", markersize=2.4)
    ax.fill_between(ahead, found[0], found[4], color=colour(0), alpha=0.18, linewidth=0, label="90% interval")
    ax.fill_between(ahead, found[1], found[3], color=colour(0), alpha=0.35, linewidth=0, label="50% interval")
    ax.plot(ahead, found[2], color=colour(0), linewidth=1.5, label="median")
    ax.axvline(0.5, color=PALE, linewidth=1.0, zorder=0)
    quiet(ax)
    ax.set_xlabel("steps ahead", fontsize=9)
    ax.set_ylabel(shown_name(data.names[at]), fontsize=9)
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 1.0), ncols=3, labelcolor=GREY)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.14 * (high - low))
    ax.spines["left"].set_color(QUIET)
    headline(ax, "What comes next?")
    return ax
