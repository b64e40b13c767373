"""Errors with a meaning of their own.

An error that is about an argument keeps its parts as fields, so that a command line can say the same about its options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class UnknownName(ValueError):
    """A short name that stands for nothing.

    Attributes
    ----------
    argument : str
        The argument it was given for.
    name : object
        What was given.
    choices : list of str
        The names there are.
    otherwise : str
        What may be given instead of a name.
    """

    def __init__(self, argument: str, name: Any, choices: Sequence[str], otherwise: str = "") -> None:
        self.argument, self.name, self.choices, self.otherwise = argument, name, list(choices), otherwise
        tail = f", or pass {otherwise}" if otherwise else ""
        listed = ", ".join(map(repr, self.choices))
        super().__init__(f"{argument}: {name!r} is not known; choose one of {listed}{tail}")


class ColumnOfText(ValueError):
    """A column of text where numbers are needed.

    Attributes
    ----------
    argument : str
    column : str
    """

    def __init__(self, argument: str, column: str) -> None:
        self.argument, self.column = argument, column
        super().__init__(
            f"{argument}: column {column!r} holds text; choose family='auto', which takes categories, or encode it as "
            "numbers, or drop it"
        )


class WrongRun(ValueError):
    """A folder that holds a different run from the one that was asked for.

    Attributes
    ----------
    path : path
    differs : str
        What is different, in a word.
    """

    def __init__(self, path: Any, differs: str) -> None:
        self.path, self.differs = path, differs
        super().__init__(
            f"checkpoint: {path} holds a run with a different {differs}; choose another folder, or remove this one"
        )


class NotRegistered(ValueError):
    """A file names a class that nobody has registered in this process.

    Attributes
    ----------
    kind, name : str
        What it is and its short name.
    module : str
        The module that registered it when the file was written.
    """

    def __init__(self, kind: str, name: str, module: str) -> None:
        self.kind, self.name, self.module = kind, name, module
        where = f" of the module {module}" if module else ""
        hint = (
            f"import {module} first (on the command line, --import {module})" if module else "import its module first"
        )
        super().__init__(f"it needs the {kind} {name!r}{where}, which is not known here; {hint}")
