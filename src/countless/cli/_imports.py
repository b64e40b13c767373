"""``--import MODULE``: families, priors, engines, moves and estimators of one's own, imported before anything else."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Sequence

VARIABLE = "COUNTLESS_IMPORT"
HELP = f"Module of your own parts, imported first (also {VARIABLE})."


def take_imports(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The modules that ``--import`` names, before or after the command, and the other words."""
    named: list[str] = []
    rest: list[str] = []
    left = iter(words)
    for word in left:
        if word == "--":
            rest += [word, *left]
        elif word == "--import":
            named.append(next(left, ""))
        elif word.startswith("--import="):
            named.append(word.partition("=")[2])
        else:
            rest.append(word)
    return named, rest


def import_modules(named: Iterable[str]) -> None:
    """Import modules, those of the environment first; modules in the current folder are found too."""
    asked = [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
    for option, names in ((VARIABLE, asked), ("--import", named)):
        for name in names:
            if not all(part.isidentifier() for part in name.split(".")):
                raise ValueError(f"{option}: {name!r} is not the name of a module; write package.module")
            _import(option, name)


def _import(option: str, name: str) -> None:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    try:
        importlib.import_module(name)
    except Exception as error:
        lost = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        if lost is not None and f"{name}.".startswith(f"{lost}."):
            raise ValueError(f"{option}: there is no module {name!r}; install it, or name one that is here") from None
        raise ValueError(f"{option}: {name!r} cannot be imported ({type(error).__name__}: {error})") from None
