"""What a report is made of: a page with a title, a headline and a list of sections.

A model class gives its own list. A section has a *widget*, the name of a function of the page's script that draws its
content; the functions of ``countless.report`` make sections of the widgets that serve any model (``facts``, ``words``,
``table``, ``bars``, ``lines``, ``image``, ``heatmap``), so that a model needs no JavaScript of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Section:
    """One section of a page.

    Parameters
    ----------
    name : str
        Its address in the page: lower-case letters, digits and hyphens.
    title : str
        Heading; empty for a section without one, which is not in the navigation either.
    widget : str
        Function of the page's script that draws it.
    content : JSON-able
        What it draws: dictionaries, lists, strings, finite numbers, None.
    note : str
        Paragraph under the heading.
    remarks : tuple of str
        Smaller paragraphs below, such as how many of the rows are shown.
    link : str
        Short title for the navigation; by default the title.

    Examples
    --------
    >>> from countless.report import Section
    >>> Section("data", "The data", "words", ["112 years of coal mines."]).widget
    'words'
    """

    name: str
    title: str
    widget: str
    content: Any
    note: str = ""
    remarks: tuple[str, ...] = ()
    link: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.name):
            raise ValueError(f"name: a section needs lower-case letters, digits and hyphens, got {self.name!r}")


@dataclass(frozen=True)
class Page:
    """What a model reports: the return value of its ``report_page``.

    Parameters
    ----------
    title : str
        What the report is about, such as the name of a file.
    headline : str
        The answer in a few words.
    sections : iterable of Section or None
        From top to bottom; None is left out.
    shared : mapping of str to JSON-able
        Content that several sections use; a widget finds it under the name that its content gives.

    Examples
    --------
    >>> from countless.report import Page, words
    >>> page = Page("Coal mines", "A change in 1891", [words("why", "Why?", ["A new law."]), None])
    >>> [section.name for section in page.sections]
    ['why']
    """

    title: str
    headline: str
    sections: Iterable[Section | None]
    shared: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sections = tuple(section for section in self.sections if section is not None)
        object.__setattr__(self, "sections", sections)
        names = [section.name for section in sections]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"sections: two of them are called {twice!r}")
