"""The page: one HTML text from a list of sections, in which nothing that comes from data can become markup or script.

Data are JSON inside an element that browsers do not execute, words of the head are escaped, and a content-security
policy names the hashes of the only script and the only style sheet that may run: even a page that was tampered with on
its way cannot fetch anything.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from numpy.typing import ArrayLike

from .. import __version__
from ..core.files import write_whole
from ..plots.parts.style import COLOURS
from .sections import Page

# A page below this size opens at once and passes through any mail server.
MOST_BYTES = 9_500_000
MOST_ROWS = 20_000
FEWEST_ROWS = 500
SCRIPTS = ("core", "words", "charts", "heatmap", "tree", "scatter", "profiles", "rows", "settings", "main")


def render(model: Any, *, title: str | None = None, command: str | None = None) -> str:
    """The report of a fitted model as the text of an HTML page.

    The page holds everything it needs: it opens offline and sends no request to any server. It stays below 10 MB by
    holding a part of the rows where there are many, and says so. The answer comes first; then the sections of the
    model, its chains, and the settings that reproduce it.

    Parameters
    ----------
    model : fitted model
        Fitted just now or loaded from a saved run. Its ``report_page`` gives the page.
    title : str, optional
        What the report is about, such as the name of the file. Default: up to the model.
    command : str, optional
        Command line that reproduces the fit, shown with the settings. Default: one is derived from the settings of the
        model where they can be given on a command line.

    Returns
    -------
    str

    References
    ----------
    W3C (2024), *Content Security Policy Level 3*.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> page = cl.report.render(model)
    >>> page.startswith("<!DOCTYPE html>"), "2 clusters in 6 rows" in page
    (True, True)
    """
    give = getattr(model, "report_page", None)
    if give is None:
        raise ValueError(f"model: {type(model).__name__} has no report; its class needs a method report_page")
    most_rows = MOST_ROWS
    text = assemble(give(title, command, most_rows))
    while len(text) > MOST_BYTES and most_rows > FEWEST_ROWS:
        # At most proportional to the rows: where half of them are still too many by that, so are they in fact.
        size = float(len(text))
        while size > MOST_BYTES and most_rows > FEWEST_ROWS:
            size, most_rows = size / 2.0, most_rows // 2
        text = assemble(give(title, command, most_rows))
    return text


def write(
    model: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    command: str | None = None,
    labels: ArrayLike | None = None,
) -> Path:
    """Write the report of a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : fitted model
    path : path
        Name of the HTML file; missing folders are made.
    title, command : str, optional
        As in ``render``.
    labels : array, optional
        Labels of one's own that the report is to be about, as for ``model.relabel``.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cl.report.write(model, folder + "/report.html").stat().st_size < 10_000_000
    True
    """
    if labels is not None:
        if not hasattr(model, "relabel"):
            raise ValueError(f"labels: {type(model).__name__} cannot be shown under other labels; leave them out")
        model = model.relabel(labels)
    return write_whole(path, render(model, title=title, command=command))


def assemble(page: Page) -> str:
    """The HTML text of a page."""
    style = _part("page.css")
    script = "(() => {\n'use strict';\n" + "\n".join(_part(f"{name}.js") for name in SCRIPTS) + "})();\n"
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return Template(_part("page.html")).substitute(
        policy=policy,
        title=html.escape(page.title),
        headline=html.escape(page.headline),
        style=style,
        script=script,
        data=_data(page),
    )


def _data(page: Page) -> str:
    """Everything that the script draws, as JSON."""
    sections = []
    for section in page.sections:
        if section is None:
            continue
        try:
            sections.append(as_script_text(vars(section)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"section {section.name!r}: its content cannot be written as JSON: {error}") from None
    head = as_script_text({"version": __version__, "colours": COLOURS, "shared": dict(page.shared)})
    return f'{head[:-1]},"sections":[{",".join(sections)}]}}'


def as_script_text(value: Any) -> str:
    """JSON that is safe inside a script element: no character that could end it or begin markup.

    Everything beyond ASCII is escaped, which covers U+2028, U+2029 and lone surrogates as well.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _part(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """How a policy names an inline script or style sheet: by its hash."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
