"""What all figures share: colours that colour-blind readers can tell apart, quiet axes, rows thinned."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

# Okabe and Ito 2008, https://jfly.uni-koeln.de/color/; their yellow is too pale for points on white and their
# black is kept for curves. Beyond seven clusters the marker changes too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK = "#222222"
QUIET = "#8A8A8A"
PALE = "#D9D9D9"

# More points than this hide each other; a random subset tells the same.
MOST_POINTS = 20_000


class Picture(Figure):
    """A figure outside pyplot (nothing to close, no window) that notebooks show by themselves."""

    def _repr_png_(self) -> bytes:
        import io

        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=100)
        return buffer.getvalue()


def layout(compress: bool = False) -> ConstrainedLayoutEngine:
    """Room for all labels, with a margin; ``compress`` for axes of a fixed shape, such as an image."""
    return ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, compress=compress)


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.4), compress: bool = False) -> Axes:
    """The axes to draw in: those given, or new ones; in pyplot if the user works with it."""
    if ax is not None:
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


def colour(k: int) -> str:
    """Colour of cluster ``k``."""
    return COLOURS[k % len(COLOURS)]


def marker(k: int) -> str:
    """Marker of cluster ``k``: another one each time the colours are used up."""
    return MARKERS[(k // len(COLOURS)) % len(MARKERS)]


def thinned(n: int, at_most: int = MOST_POINTS) -> NDArray[np.int64]:
    """Numbers of at most so many rows, at random but always the same, in order."""
    if n <= at_most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, size=at_most, replace=False))


def column_names(X: Any, n_columns: int) -> list[str]:
    """Names of the columns of a data frame; numbers for an array."""
    names = getattr(X, "columns", None)
    return [str(name) for name in names] if names is not None else [f"column {j}" for j in range(n_columns)]


def count(n: int, noun: str) -> str:
    """A number with its noun: ``1 row``, ``1,000 rows``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


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
