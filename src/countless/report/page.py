"""The page: its parts are put together here, and nothing that comes from the data can become markup or script.

Data travel as JSON inside an element that browsers do not execute, words of the head are escaped, and a
content-security policy names the hashes of the only script and the only style sheet that may act: even a page
that was tampered with on its way cannot fetch anything.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..io import write_whole
from .content import content
from .findings import Findings

# The page opens at once and passes through any mail server below this many bytes.
MOST_BYTES = 9_500_000
MOST_ROWS = 20_000
FEWEST_ROWS = 500
SCRIPTS = ("core", "charts", "scatter", "heatmap", "profiles", "table", "settings", "main")


def render(model: Any, *, title: str | None = None, command: str | None = None) -> str:
    """The report of a fitted model as the text of an HTML page.

    The page holds everything it needs: it opens offline, asks nothing of any server, and stays below 10 MB by showing
    some of the rows where there are many, and says so. The answer comes first: how many clusters, how sure, and
    whether the chains agree. Then the rows in the plane, which rows belong together, what distinguishes each cluster,
    the posterior of the number of clusters, traces, a table of rows with their probabilities, and the settings.

    Parameters
    ----------
    model : fitted DPMixture
        Fitted just now or loaded from a saved run.
    title : str, optional
        What the report is about, such as the name of the file. Default: a count of rows and columns.
    command : str, optional
        Command line that reproduces the fit, to be shown with the settings. Default: one is put together from the
        settings of the model where they can be said on a command line.

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
    check_is_fitted(model, "posterior_")
    return page_of(Findings(model), title, command)


def write(model: Any, path: str | os.PathLike[str], *, title: str | None = None, command: str | None = None) -> Path:
    """Write the report of a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : fitted DPMixture
    path : path
        Name of the HTML file; folders on the way are made.
    title, command : str, optional
        As in ``render``.

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
    return write_whole(path, render(model, title=title, command=command))


def page_of(found: Findings, title: str | None = None, command: str | None = None) -> str:
    """The page of what was found, with fewer rows where it would be too large."""
    most_rows = MOST_ROWS
    page = _assemble(content(found, most_rows, title, command))
    while len(page) > MOST_BYTES and most_rows > FEWEST_ROWS:
        most_rows //= 2
        page = _assemble(content(found, most_rows, title, command))
    return page


def _assemble(page: dict[str, Any]) -> str:
    style = _part("page.css")
    script = "(() => {\n'use strict';\n" + "\n".join(_part(f"{name}.js") for name in SCRIPTS) + "})();\n"
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return Template(_part("page.html")).substitute(
        policy=policy,
        title=html.escape(page["title"]),
        headline=html.escape(page["answer"]["headline"]),
        style=style,
        script=script,
        data=as_script_text(page),
    )


def as_script_text(value: Any) -> str:
    """JSON that is safe inside a script element: no character that could end it or begin markup.

    Everything beyond ASCII is escaped, which covers U+2028, U+2029 and lone surrogates as well.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """How a policy names an inline script or style sheet: by its hash."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
