"""Sections that any model can use: paragraphs, facts, tables, bars, lines, images, heat maps.

Each function makes a ``Section`` whose widget has its name.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from ..plots import render
from ..plots.parts.pick import spaced
from .numbers import plain
from .sections import Section

Cell = str | int | float | None

# Steps of a line and chains of a figure: more could not be distinguished.
MOST_STEPS = 400
MOST_CHAINS = 8
STATES = ("plain", "good", "bad", "unknown")


def fact(question: str, value: str, words: str, state: str = "plain") -> dict[str, str]:
    """One card: a question, its answer in a word, and a sentence.

    Parameters
    ----------
    question, value, words : str
    state : {"plain", "good", "bad", "unknown"}
        Colour of the card.

    Examples
    --------
    >>> from countless import report
    >>> report.fact("When?", "1891", "Between 1887 and 1895 with probability 95%.")["state"]
    'plain'
    """
    if state not in STATES:
        raise ValueError(f"state: choose one of {', '.join(map(repr, STATES))}, got {state!r}")
    return {"question": question, "value": value, "words": words, "state": state}


def facts(
    cards: Sequence[Mapping[str, str]],
    notes: Iterable[str | None] = (),
    name: str = "answer",
    remarks: Iterable[str | None] = (),
) -> Section:
    """Cards with the main answers, the first section of a page, notes of caution below them, and other remarks.

    Parameters
    ----------
    cards : list of ``fact``
    notes : list of str
        None is left out.
    name : str
    remarks : list of str
        None is left out.

    Examples
    --------
    >>> from countless import report
    >>> section = report.facts([report.fact("When?", "1891", "Between 1887 and 1895.")])
    >>> section.content["facts"][0]["value"]
    '1891'
    """
    below = {"notes": [note for note in notes if note], "remarks": [remark for remark in remarks if remark]}
    content = {"facts": [dict(card) for card in cards], **below}
    return Section(name, "", "facts", content, link="The answer")


def words(name: str, title: str, paragraphs: Sequence[str], **more: Any) -> Section:
    """Paragraphs of text.

    Parameters
    ----------
    name, title : str
        As in ``Section``.
    paragraphs : list of str
    more
        ``note``, ``remarks`` and ``link`` of ``Section``, here and in the other functions.

    Examples
    --------
    >>> from countless import report
    >>> report.words("data", "The data", ["Disasters in coal mines, 1851-1962."]).content
    ['Disasters in coal mines, 1851-1962.']
    """
    return Section(name, title, "words", list(paragraphs), **more)


def table_content(
    header: Sequence[str], rows: Iterable[Sequence[Cell]], sortable: bool = True, wide: Sequence[int] | None = None
) -> dict[str, Any]:
    """What the widget ``table`` draws; ``wide`` columns wrap their text, by default those with long text."""
    body = [[_cell(cell) for cell in row] for row in rows]
    if any(len(row) != len(header) for row in body):
        raise ValueError(f"rows: each needs {len(header)} cells, as many as the header")
    if wide is None:
        wide = [j for j in range(len(header)) if any(isinstance(row[j], str) and len(str(row[j])) > 30 for row in body)]
    return {"header": list(header), "rows": body, "sortable": sortable, "wide": list(wide)}


def table(name: str, title: str, header: Sequence[str], rows: Iterable[Sequence[Cell]], **more: Any) -> Section:
    """A table that is sorted by a click on a heading.

    Parameters
    ----------
    name, title : str
    header : list of str
    rows : list of lists
        Cells are strings, numbers or None (missing).

    Examples
    --------
    >>> from countless import report
    >>> section = report.table("rates", "Rates", ["period", "a year"], [["before", 3.1], ["after", 0.9]])
    >>> section.content["rows"][0]
    ['before', 3.1]
    """
    return Section(name, title, "table", table_content(header, rows), **more)


def bars(
    name: str, title: str, probabilities: Mapping[Any, float], label: str = "", chosen: Any = None, **more: Any
) -> Section:
    """A discrete distribution.

    Parameters
    ----------
    name, title : str
    probabilities : mapping of int or str to float
        Whole numbers are drawn on an axis with gaps where a number is absent, names in the given order.
    label : str
        What the numbers or names are.
    chosen : int or str, optional
        The one in colour.

    Examples
    --------
    >>> from countless import report
    >>> section = report.bars("when", "When?", {1890: 0.4, 1891: 0.6}, "year", chosen=1891)
    >>> section.content["bars"]
    [[1890, 0.4], [1891, 0.6]]
    """
    whole = all(isinstance(key, (int, np.integer)) for key in probabilities)
    keys = sorted(probabilities) if whole else list(probabilities)
    content = {
        "bars": [[int(key) if whole else str(key), round(float(probabilities[key]), 4)] for key in keys],
        "label": label,
        "chosen": None if chosen is None else int(chosen) if whole else str(chosen),
    }
    return Section(name, title, "bars", content, **more)


def lines(
    name: str,
    title: str,
    series: Mapping[str, ArrayLike],
    unit: str = "draw",
    details: Mapping[str, Any] | None = None,
    **more: Any,
) -> Section:
    """Quantities along chains, one panel for each quantity and one line for each chain.

    Parameters
    ----------
    name, title : str
    series : mapping of str to array (chain, step)
    unit : str
        What a step is.
    details : mapping, optional
        A table that opens on a click: ``header`` and ``rows`` as in ``table``, with ``words`` that explain it.

    Examples
    --------
    >>> from countless import report
    >>> section = report.lines("traces", "Traces", {"year": [[1890, 1891, 1891], [1892, 1890, 1891]]})
    >>> section.content["lines"][0]["at"]
    [1, 2, 3]
    """
    drawn = [_line(words, np.atleast_2d(np.asarray(values)), unit) for words, values in series.items()]
    most = max((line["n_chains"] for line in drawn), default=0)
    remarks = (f"The first {MOST_CHAINS} of {most} chains are drawn.",) if most > MOST_CHAINS else ()
    content: dict[str, Any] = {"lines": drawn, "details": None}
    if details is not None:
        content["details"] = {
            "words": details.get("words", ""),
            **table_content(details["header"], details["rows"], False, (0,)),
        }
    return Section(name, title, "lines", content, **{"remarks": remarks, **more})


def image(name: str, title: str, picture: Figure | bytes | str, alternative: str, **more: Any) -> Section:
    """A picture, such as a matplotlib figure.

    Parameters
    ----------
    name, title : str
    picture : Figure, bytes or str
        A figure, the bytes of a PNG or SVG file, or a data URI of an image.
    alternative : str
        What the picture shows, for readers who do not see it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from countless import report
    >>> figure = Figure(figsize=(2, 1))
    >>> report.image("rate", "Rate", figure, "The rate falls in 1891.").content["source"][:22]
    'data:image/png;base64,'
    """
    if isinstance(picture, Figure):
        picture = render(picture)
    if isinstance(picture, bytes):
        kind = "png" if picture.startswith(b"\x89PNG") else "svg+xml"
        picture = f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
    if not (isinstance(picture, str) and picture.startswith("data:image/")):
        raise ValueError("picture: give a figure, the bytes of a PNG or SVG file, or a data URI of an image")
    return Section(name, title, "image", {"source": picture, "alternative": alternative}, **more)


def heatmap(
    name: str,
    title: str,
    values: ArrayLike,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    label: str = "",
    ends: tuple[float, float] | None = None,
    **more: Any,
) -> Section:
    """A matrix in shades; pointing at a cell shows its number.

    Parameters
    ----------
    name, title : str
    values : array (row, column)
        NaN is left blank.
    rows, columns : list of str, optional
        Names; numbers from 1 by default.
    label : str
        What the numbers are.
    ends : (float, float), optional
        Numbers of the lightest and the darkest shade; by default the smallest and the largest value.

    Examples
    --------
    >>> from countless import report
    >>> section = report.heatmap("moves", "Transitions", [[0.9, 0.1], [0.2, 0.8]], ["a", "b"], ["a", "b"])
    >>> section.content["ends"]
    [0.1, 0.9]
    """
    matrix: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"values: a matrix is needed, got an array of shape {matrix.shape}")
    named = [
        [str(i + 1) for i in range(size)] if names is None else [str(each) for each in names]
        for size, names in zip(matrix.shape, (rows, columns), strict=True)
    ]
    if (len(named[0]), len(named[1])) != matrix.shape:
        raise ValueError(f"rows, columns: {len(named[0])} and {len(named[1])} names for a matrix {matrix.shape}")
    known = matrix[np.isfinite(matrix)]
    low, high = ends if ends is not None else (known.min(), known.max()) if known.size else (0.0, 1.0)
    content = {
        "values": [plain(row) for row in matrix],
        "rows": named[0],
        "columns": named[1],
        "label": label,
        "ends": plain(np.array([low, high])),
    }
    return Section(name, title, "heatmap", content, **more)


def _cell(cell: Any) -> Cell:
    if cell is None or isinstance(cell, (str, bool)):
        return cell
    if isinstance(cell, (int, float, np.integer, np.floating)):
        return plain(np.array([cell]), 6)[0]
    return str(cell)


def _line(words: str, values: NDArray[Any], unit: str) -> dict[str, Any]:
    at = spaced(values.shape[1], MOST_STEPS)
    chains = [plain(chain[at], 6) for chain in values[:MOST_CHAINS]]
    return {"name": words, "unit": unit, "at": (at + 1).tolist(), "chains": chains, "n_chains": len(values)}
