"""Errors with a meaning of their own.

An error that is about an argument keeps its parts as fields, so that a command line can say the same about its options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ArgumentError(ValueError):
    """A mistake in one argument.

    Attributes
    ----------
    argument : str
        Its name.
    problem : str
        What is wrong with it and what would fit.
    """

    def __init__(self, argument: str, problem: str) -> None:
        self.argument, self.problem = argument, problem
        super().__init__(f"{argument}: {problem}")


class UnknownName(ArgumentError):
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
        self.name, self.choices, self.otherwise = name, list(choices), otherwise
        tail = f", or pass {otherwise}" if otherwise else ""
        listed = ", ".join(map(repr, self.choices))
        given = repr(name) if len(repr(name)) <= 80 else f"{repr(name)[:77]}..."
        super().__init__(argument, f"{given} is not known; choose one of {listed}{tail}")


class ColumnOfText(ArgumentError):
    """A column of text where numbers are needed.

    Attributes
    ----------
    argument : str
    column : str
    """

    def __init__(self, argument: str, column: str) -> None:
        self.column = column
        super().__init__(
            argument,
            f"column {column!r} holds text; choose family='auto', which takes categories, or encode it as numbers, or "
            "drop it",
        )


class MissingCell(ValueError):
    """A missing cell where none can be taken.

    Attributes
    ----------
    argument : str
    row, column : int
        Where the first one is.
    """

    def __init__(self, argument: str, row: int, column: int) -> None:
        self.argument, self.row, self.column = argument, row, column
        super().__init__(
            f"{argument} contains NaN (first in row {row}, column {column}); drop or fill such cells before the fit, "
            "or choose family='auto', which takes missing cells"
        )


class CannotDrawMissing(ArgumentError):
    """An engine that cannot draw missing cells, where there are some that have to be drawn.

    Attributes
    ----------
    engine : str
        Name of its class.
    able : list of str
        Short names of the engines that can.
    """

    def __init__(self, engine: str, able: Sequence[str]) -> None:
        self.engine, self.able = engine, list(able)
        listed = " or ".join(map(repr, self.able))
        super().__init__(
            "X",
            f"cells are missing in correlated Gaussian columns, which {engine} cannot draw; choose inference={listed}, "
            "or the family 'diagonal-gaussian' for these columns",
        )


class CannotWrite(ArgumentError):
    """A folder that cannot be written into.

    Attributes
    ----------
    path : path
    reason : str
    """

    def __init__(self, argument: str, path: Any, error: OSError) -> None:
        self.path, self.reason = path, str(error.strerror or error)
        super().__init__(argument, f"cannot write into {path}: {self.reason}")


class WrongRun(ArgumentError):
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
            "checkpoint", f"{path} holds a run with a different {differs}; choose another folder, or remove this one"
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
