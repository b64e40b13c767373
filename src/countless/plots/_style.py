"""What all figures share: colours that colour-blind readers can tell apart, quiet axes, names that fit, rows thinned."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

# Okabe and Ito 2008, https://jfly.uni-koeln.de/color/; their yellow is too pale for points on white and their
# black is kept for curves. Beyond seven clusters the marker changes too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":", "-.")
INK = "#222222"
QUIET = "#8A8A8A"
PALE = "#D9D9D9"

# More points than this hide each other.
MOST_POINTS = 20_000
# A name that is longer is cut in the middle, where it says least.
LONGEST_NAME = 26


class Picture(Figure):
    """A figure outside pyplot (nothing to close, no window) that notebooks show by themselves."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=100)
        return buffer.getvalue()


def layout(compress: bool = False) -> ConstrainedLayoutEngine:
    """Room for all labels, with a margin; ``compress`` for axes of a fixed shape, such as an image."""
    return ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, compress=compress)


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.4), compress: bool = False) -> Axes:
    """The axes to draw in: those given, or new ones; in pyplot if the user works with it."""
    if ax is not None:
        if not isinstance(ax, Axes):
            raise ValueError(f"ax must be matplotlib Axes or None, got {type(ax).__name__}")
        return ax
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        return pyplot.figure(figsize=size, layout=layout(compress)).add_subplot()
    return Picture(figsize=size, layout=layout(compress)).add_subplot()


def quiet(ax: Axes) -> None:
    """Take away the frame lines that carry no information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(QUIET)
    ax.tick_params(colors=INK, labelsize=9)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)


def headline(ax: Axes, text: str, *notes: str) -> None:
    """The question that a panel answers, with its answer; notes in a second line, smaller."""
    notes = tuple(note for note in notes if note)
    ax.set_title(text, fontsize=10, loc="left", color=INK, pad=18.0 if notes else 6.0)
    if notes:
        ax.annotate(
            "; ".join(notes),
            (0.0, 1.0),
            xytext=(0.0, 5.0),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8,
            color="#5F5F5F",
            ha="left",
            va="bottom",
            annotation_clip=False,
            gid="note",
        )


def legend_beside(ax: Axes, **options: Any) -> Any:
    """A legend to the right of the axes, where it hides nothing."""
    return ax.legend(
        frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.3, **options
    )


def colour(k: int) -> str:
    """Colour of cluster ``k``."""
    return COLOURS[k % len(COLOURS)]


def marker(k: int) -> str:
    """Marker of cluster ``k``: another one each time the colours are used up."""
    return MARKERS[(k // len(COLOURS)) % len(MARKERS)]


def line(k: int) -> Any:
    """Line style of chain ``k``, like ``marker``."""
    return LINES[(k // len(COLOURS)) % len(LINES)]


def outlined() -> list[Any]:
    """A white rim that keeps text readable on whatever it stands on."""
    return [patheffects.withStroke(linewidth=3.0, foreground="white")]


def name_cluster(ax: Axes, x: float, y: float, k: int, above: float = 0.0) -> None:
    """Name of a cluster at a place, or so many points above it."""
    ax.annotate(
        str(k),
        (x, y),
        xytext=(0.0, above),
        textcoords="offset points",
        color=colour(k),
        fontsize=11,
        fontweight="bold",
        ha="center",
        va="center",
        zorder=6,
        path_effects=outlined(),
    )


def thinned(n: int, at_most: int = MOST_POINTS) -> NDArray[np.int64]:
    """Numbers of at most so many rows, at random but always the same, in order."""
    if n <= at_most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, size=at_most, replace=False))


def spaced(n: int, at_most: int) -> NDArray[np.int64]:
    """Numbers of at most so many of ``n`` things in order, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).round().astype(np.int64))


def shown_name(name: str, longest: int = LONGEST_NAME) -> str:
    """A name of the user's as it stands in a figure: in one line, cut in the middle, dollars not taken for formulas."""
    text = " ".join(str(name).split())
    if len(text) > longest:
        tail = longest // 3
        text = f"{text[: longest - tail - 1].rstrip()}…{text[-tail:].lstrip()}"
    return text.replace("$", r"\$")


def listed(names: Sequence[str], at_most: int = 12) -> str:
    """Names for a sentence; of many, the first ones and how many more there are."""
    rest = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + rest


def count(n: int, noun: str) -> str:
    """A number with its noun: ``1 row``, ``1,000 rows``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def room(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes in points, about (a layout may still change them)."""
    figure = ax.figure.figure if isinstance(ax.figure, SubFigure) else ax.figure
    box = ax.get_position()
    width, height = figure.get_size_inches()  # type: ignore[union-attr]
    return 72.0 * width * box.width, 72.0 * height * box.height


def percent(share: float) -> str:
    """A probability for people; never 0% or 100% of what is not certain.

    Examples
    --------
    >>> from countless.plots import percent
    >>> percent(0.971), percent(0.0004), percent(0.9996)
    ('97%', '<1%', '>99%')
    """
    if 0.0 < share < 0.01:
        return "<1%"
    if 0.99 < share < 1.0:
        return ">99%"
    return f"{100.0 * share:.0f}%"
