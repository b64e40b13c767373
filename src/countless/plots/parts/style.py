"""What all figures share: colours that colour-blind readers can tell apart, axes without clutter, names that fit."""

from __future__ import annotations

import io
import math
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from ...families.columns import FARTHEST_DAY, day_in_words

# Okabe and Ito 2008, https://jfly.uni-koeln.de/color/; their yellow is too pale for points on white and their
# black is kept for curves. Beyond seven clusters the marker changes too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":", "-.")
INK = "#222222"
QUIET = "#8A8A8A"
PALE = "#D9D9D9"
# Of notes: readable, but second to what they are notes of.
GREY = "#5F5F5F"

# A name that is longer is cut in the middle, where it says least.
LONGEST_NAME = 26
# Points that the name of a cluster takes, and where it goes when its own place is taken, the nearest first.
NAME_SIZE = 15.0
SHIFTS = [(0.0, 0.0)] + [
    (radius * math.sin(turn * math.pi / 4.0), radius * math.cos(turn * math.pi / 4.0))
    for radius in (15.0, 22.0, 30.0, 38.0)
    for turn in range(8)
]


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
    """Remove the frame lines that carry no information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(QUIET)
    ax.tick_params(colors=INK, labelsize=9)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)


def headline(ax: Axes, text: str, *notes: str) -> None:
    """Title of a panel: a question and its answer; notes below it in smaller type, wrapped to its width."""
    width = room(ax)[0] * 1.12
    title = "\n".join(textwrap.wrap(text, max(24, int(width / 5.3))))
    small = "\n".join(textwrap.wrap("; ".join(note for note in notes if note), max(30, int(width / 4.1))))
    lines = small.count("\n") + 1 if small else 0
    ax.set_title(title, fontsize=10, loc="left", color=INK, pad=6.0 + 11.0 * lines)
    if small:
        ax.annotate(
            small,
            (0.0, 1.0),
            xytext=(0.0, 5.0),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8,
            color=GREY,
            ha="left",
            va="bottom",
            annotation_clip=False,
            gid="note",
        )


def plain_numbers(axis: Any, low: float, high: float) -> None:
    """Tick labels in full, without a common power of ten at the end of the axis."""
    if abs(high - low) > 1e-4 * max(abs(low), abs(high)):
        axis.set_major_formatter(lambda value, _: _written(value))


def plain_dates(axis: Any) -> None:
    """Tick labels of days since 1970 as dates."""
    axis.set_major_locator(MaxNLocator(5))
    axis.set_major_formatter(lambda value, _: day_in_words(value) if abs(value) < FARTHEST_DAY else "")


def _written(value: float) -> str:
    short = f"{value:,.6g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    return short.replace("-", "\N{MINUS SIGN}")


def legend_beside(ax: Axes, **options: Any) -> Any:
    """A legend to the right of the axes, where it hides nothing."""
    return ax.legend(
        frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.3, **options
    )


def colour(k: int) -> str:
    """Colour of cluster ``k``."""
    return COLOURS[k % len(COLOURS)]


def marker(k: int) -> str:
    """Marker of cluster ``k``: it changes each time the colours repeat."""
    return MARKERS[(k // len(COLOURS)) % len(MARKERS)]


def line(k: int) -> Any:
    """Line style of chain ``k``, like ``marker``."""
    return LINES[(k // len(COLOURS)) % len(LINES)]


def name_clusters(ax: Axes, places: Sequence[tuple[int, float, float]], above: float = 0.0) -> None:
    """Write names of clusters at places (cluster, x, y), moved up by ``above`` points and apart where they would touch.

    The limits of the axes must be final.
    """
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    width, height = room(ax)
    taken: list[tuple[float, float]] = []
    for k, x, y in places:
        at = (x - left) / (right - left) * width, (y - bottom) / (top - bottom) * height + above
        shift = next((shift for shift in SHIFTS if _is_free(at, shift, taken)), (0.0, 0.0))
        taken.append((at[0] + shift[0], at[1] + shift[1]))
        ax.annotate(
            str(k),
            (x, y),
            xytext=(shift[0], shift[1] + above),
            textcoords="offset points",
            color=INK,
            fontsize=8,
            fontweight="bold",
            ha="center",
            va="center",
            zorder=6,
            bbox={"boxstyle": "circle,pad=0.22", "fc": "white", "ec": colour(k), "lw": 1.4, "alpha": 0.9},
            arrowprops={"arrowstyle": "-", "color": colour(k), "lw": 0.9} if any(shift) else None,
        )


def _is_free(at: tuple[float, float], shift: tuple[float, float], taken: Sequence[tuple[float, float]]) -> bool:
    return all(math.hypot(at[0] + shift[0] - x, at[1] + shift[1] - y) >= NAME_SIZE for x, y in taken)


def shown_name(name: str, longest: int = LONGEST_NAME) -> str:
    """A user's name for a figure: on one line, cut in the middle, with dollars escaped from mathtext."""
    return _cut(name, longest, longest // 3).replace("$", r"\$")


def shown_names(names: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    """The same for names that must stay distinct: cut where they are alike, numbered if nothing else helps."""
    distinct = len(set(names))
    for length in (longest, longest + 12):
        for tail in (length // 3, 0, 2 * length // 3, length - 4):
            cut = [_cut(name, length, tail) for name in names]
            if len(set(cut)) == distinct:
                return [name.replace("$", r"\$") for name in cut]
    return [f"{j}: {shown_name(name, longest)}" for j, name in enumerate(names)]


def _cut(name: str, longest: int, tail: int) -> str:
    """A name on one line; of a long name, its first and its last ``tail`` letters."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    return f"{text[: longest - tail - 1].rstrip()}…{text[len(text) - tail :].lstrip()}"


def room(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes in points, about (a layout may still change them)."""
    box, points = ax.get_window_extent(), 72.0 / ax.figure.dpi
    return float(box.width * points), float(box.height * points)
