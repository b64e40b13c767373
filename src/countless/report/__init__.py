"""Report: one self-contained HTML page that says what was found, how certain it is, and how to reproduce it.

A report is a list of sections that the model gives. A model class has a method

    def report_page(self, title, command, most_rows) -> Page

that ``render`` and ``write`` call: ``title`` and ``command`` are those of the user or None, and ``most_rows`` is the
number of rows that the page may hold (``render`` asks again for fewer where the page is too large). It returns a title,
a headline, and sections, most of them made by the functions of this package:

    Page(
        title or "Coal mines",
        "A change in 1891",
        [
            facts([fact("When?", "1891", "Between 1887 and 1895 with probability 95%."), converged(diagnostics)]),
            bars("when", "When?", probabilities, "year", chosen=1891),
            chains(self.posterior_, diagnostics),
            settings(self, command),
        ],
    )
"""

from __future__ import annotations

from .chains import chains, converged, unfinished
from .page import render, write
from .sections import Page, Section
from .settings import settings
from .widgets import bars, fact, facts, heatmap, image, lines, table, words

__all__ = [
    "Page",
    "Section",
    "bars",
    "chains",
    "converged",
    "fact",
    "facts",
    "heatmap",
    "image",
    "lines",
    "render",
    "settings",
    "table",
    "unfinished",
    "words",
    "write",
]
