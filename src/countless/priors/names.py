"""The register of priors by short name: it fills itself as the files of this folder are imported.

A file that defines a prior puts ``@register("name")`` on it, and every estimator knows the name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..core.register import Register
from .verbs import Prior

Class = TypeVar("Class", bound=type[Any])

PRIORS: Register[type[Prior]] = Register("prior", "countless.priors")


def register(name: str) -> Callable[[Class], Class]:
    """Class decorator: make a prior known under a short name. It goes above ``@dataclass(frozen=True)``."""

    def decorate(cls: Class) -> Class:
        wrong = _incomplete(cls)
        if wrong:
            raise TypeError(f"register({name!r}): {wrong}")
        PRIORS.add(name)(cls)
        return cls

    return decorate


def _incomplete(cls: Any) -> str:
    """What a class lacks to be a prior; empty if nothing."""
    if not (isinstance(cls, type) and issubclass(cls, Prior)):
        return f"expected a subclass of countless.priors.Prior, got {cls!r}"
    parameters = vars(cls).get("__dataclass_params__")
    if parameters is None or not parameters.frozen:
        return f"{cls.__name__} must be a frozen dataclass; put @dataclass(frozen=True) below @register"
    if inspect.isabstract(cls):
        return f"{cls.__name__} does not define {', '.join(sorted(cls.__abstractmethods__))}"
    for name in cls._fields():
        if name not in cls.__dataclass_fields__:  # type: ignore[attr-defined]
            return f"{cls.__name__} has no field {name!r} to learn; add it, or set `learned` to the name of a field"
    return ""


def resolve_prior(prior: str | Prior) -> Prior:
    """Turn a name or a prior object into a prior object.

    Examples
    --------
    >>> from countless.priors import resolve_prior
    >>> resolve_prior("pitman-yor")
    PitmanYor(concentration=None, discount=None)
    """
    if isinstance(prior, Prior):
        return prior
    otherwise = "a countless.priors object"
    nameless = sorted({each.__name__ for each in _nameless()}) if isinstance(prior, str) and prior not in PRIORS else []
    if nameless:
        otherwise += f" (without a name: {', '.join(nameless)}; put @register('name') above @dataclass)"
    return PRIORS.resolve("prior", prior, otherwise)()


def _nameless(cls: type[Prior] = Prior) -> Iterator[type[Prior]]:
    """Complete priors that nobody registered."""
    for sub in cls.__subclasses__():
        if not inspect.isabstract(sub) and sub not in PRIORS.values():
            yield sub
        yield from _nameless(sub)
