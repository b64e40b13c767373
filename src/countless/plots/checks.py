"""Does the model fit? The table beside tables drawn from the model, check by check."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..core.text import count
from ..posterior.checks import Check
from .parts.fit import fitted
from .parts.style import GREY, INK, axes, colour, headline, quiet, room, shown_name

# Deviations beyond which a point stands at the edge; checks that can be read.
FARTHEST, MOST_CHECKS = 12.0, 20
# Letters of a name; points of the width for one of them, and of the height for a check.
FEWEST_LETTERS, MOST_LETTERS, WIDE, HIGH = 4, 14, 26.0, 15.0
# Size of the names, and the width of a figure in which they must be smaller.
SIZE, SMALL, NARROW = 9.0, 6.5, 250.0


def checks(model: Any, ax: Axes | None = None, most: int = MOST_CHECKS, random_state: Any = 0) -> Axes:
    """Statistics of the table in standard deviations of those of tables drawn from the model.

    Parameters
    ----------
    model : fitted model of a mixture
    ax : Axes, optional
    most : int
        Checks to show, those that are farthest from the model first.
    random_state : None, int or Generator

    Returns
    -------
    Axes

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.plots.checks(model).get_xlabel()
    'deviations from the model'
    """
    found = fitted(model).posterior.checks(random_state=random_state)
    ax = axes(ax, (6.4, max(2.2, 1.3 + 0.24 * min(most, len(found.checks)))))
    width, height = room(ax)
    shown = found.checks[: min(most, max(1, int(height / HIGH)))][::-1]
    quiet(ax)
    places = np.arange(len(shown))
    ax.axvspan(-2.0, 2.0, color=GREY, alpha=0.25, lw=0.0)
    for place, check in zip(places, shown, strict=True):
        at = float(np.clip(check.deviations, -FARTHEST, FARTHEST))
        ax.plot([0.0, at], [place, place], color=GREY, lw=0.8)
        ax.plot(at, place, "o", ms=6.0, color=colour(1) if check.striking else INK)
    letters = int(np.clip(width / WIDE, FEWEST_LETTERS, MOST_LETTERS))
    ax.set_yticks(places, [_name(check, letters) for check in shown], size=SMALL if width < NARROW else SIZE)
    ax.set_xlim(-FARTHEST - 0.5, FARTHEST + 0.5)
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.set_xlabel("deviations from the model")
    n_striking = len(found.striking)
    what = f"{count(n_striking, 'check')} of {len(found.checks)} not as in the model" if n_striking else "yes"
    headline(ax, f"Does the model fit? {what}", "grey: where most tables drawn from the model are")
    return ax


def _name(check: Check, letters: int) -> str:
    """Two columns are a pair; of one it must be said what is looked at."""
    names = [shown_name(name, letters) for name in check.columns]
    return " and ".join(names) if len(names) > 1 else f"{names[0]}: {check.what}"
