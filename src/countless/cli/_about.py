"""``about.json``: what a run does not hold itself, kept beside it from its beginning.

A run that was stopped can then be compared and shown like any other. Where the file is missing or unreadable, only
this is lost.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..models.command import About

NAME = "about.json"


def about_table(file: Path, command: str, label: Any = None) -> About:
    """Of a fit that is about to begin; ``label`` is the column of known classes."""
    if label is None:
        return About(file.name, command)
    known = label.notna()
    classes = [str(value) if there else None for value, there in zip(label, known, strict=True)]
    return About(file.name, command, str(label.name), classes)


def about_run(run: Path) -> About:
    """Of a run that is there."""
    try:
        about = About(**json.loads((run / NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return About()
    texts = (about.file, about.command, about.label)
    fine = all(value is None or isinstance(value, str) for value in texts)
    classes = [] if about.classes is None else about.classes
    fine = fine and isinstance(classes, list) and all(each is None or isinstance(each, str) for each in classes)
    return about if fine else About()


def text_of(about: About) -> str:
    """As it is written."""
    return json.dumps(asdict(about)) + "\n"


@contextlib.contextmanager
def beside(run: Path, about: About) -> Iterator[None]:
    """Written before a run begins, and removed again where the run did not begin."""
    from ..io import write_together

    began = (run / "run.json").exists()
    made = [place for place in (run, *run.parents) if not place.exists()]
    if not began:
        write_together(run, {NAME: text_of(about)}, "--out")
    try:
        yield
    finally:
        if not (run / "run.json").exists():
            (run / NAME).unlink(missing_ok=True)
            for place in made:
                # A folder that is not empty stays: it holds something else.
                with contextlib.suppress(OSError):
                    place.rmdir()
