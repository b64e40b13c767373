"""Registers: short names for families, priors, engines, tunings and estimators.

A class puts itself into a register with a decorator. Packages of others announce theirs by entry points: a package with

    [project.entry-points."countless.families"]
    rayleigh = "their_package.rayleigh"

is imported the first time that a name is asked for which nobody here has registered.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from typing import Any, Generic, TypeVar

from .validate import choose

Kind = TypeVar("Kind", bound=type)


class Register(Mapping[str, Any], Generic[Kind]):
    """Classes by short name.

    Parameters
    ----------
    kind : str
        What it holds, in a word: ``"family"``.
    group : str
        Group of entry points under which other packages announce theirs.

    Examples
    --------
    >>> from countless.core.register import Register
    >>> ANIMALS = Register("animal", "zoo.animals")
    >>> @ANIMALS.add("cat")
    ... class Cat: ...
    >>> ANIMALS.name_of(Cat), list(ANIMALS)
    ('cat', ['cat'])
    """

    def __init__(self, kind: str, group: str) -> None:
        self.kind = kind
        self.group = group
        self._classes: dict[str, Kind] = {}
        self._looked = False

    def add(self, name: str) -> Callable[[Kind], Kind]:
        """Class decorator: make a class known under a short name."""

        def decorate(cls: Kind) -> Kind:
            self._classes[name] = cls
            return cls

        return decorate

    def remove(self, name: str) -> None:
        """Forget a name; one that is not there is no error."""
        self._classes.pop(name, None)

    def name_of(self, cls: type) -> str:
        """The short name of a class; ValueError where it has none."""
        for name, known in self._classes.items():
            if known is cls:
                return name
        raise ValueError(
            f"{cls.__name__} has no short name; put @register('name') of countless on the class, above @dataclass"
        )

    def resolve(self, argument: str, name: Any, otherwise: str = "") -> Kind:
        """The class of a short name, or one sentence that lists the names there are."""
        found: Kind = choose(argument, name, self, otherwise)
        return found

    def everything(self) -> dict[str, Kind]:
        """All classes by name, with those that other packages announce."""
        self._look_elsewhere()
        return dict(self._classes)

    def __contains__(self, name: object) -> bool:
        if name not in self._classes:
            self._look_elsewhere()
        return name in self._classes

    def __getitem__(self, name: str) -> Kind:
        if name not in self:
            raise KeyError(name)
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def _look_elsewhere(self) -> None:
        """Import what other packages announce, once."""
        if self._looked:
            return
        self._looked = True
        for point in metadata.entry_points(group=self.group):
            try:
                importlib.import_module(point.module)
            except Exception as error:
                # A package that is broken must not take the names of all others with it.
                warnings.warn(
                    f"the {self.kind} {point.name!r} of an installed package is left out: {point.module} cannot be "
                    f"imported ({type(error).__name__}: {error})",
                    stacklevel=3,
                )


def import_folder(package: str, path: Iterable[str], only: str = "") -> None:
    """Import modules of a package and of the packages in it, all or those of one name: what they register is known."""
    for found in pkgutil.walk_packages(path, f"{package}."):
        if not only or found.name.endswith(f".{only}"):
            importlib.import_module(found.name)
