"""The register of priors by short name: it fills itself as the files of this folder are imported.

A file that defines a prior puts ``@register("name")`` on it, and every estimator knows the name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from countless.priors.verbs import Prior

__all__ = ["register", "resolve_prior"]

_REGISTRY: dict[str, type[Prior]] = {}
PriorType = TypeVar("PriorType", bound=type[Prior])


def register(name: str) -> Callable[[PriorType], PriorType]:
    """Class decorator that makes a prior known by a short name, e.g. ``@register("crp")``."""

    def add(cls: PriorType) -> PriorType:
        _REGISTRY[name] = cls
        return cls

    return add


def resolve_prior(prior: str | Prior) -> Prior:
    """Turn a name or a prior object into a prior object.

    Examples
    --------
    >>> from countless.priors import resolve_prior
    >>> resolve_prior("pitman-yor")
    PitmanYor(concentration=None, discount=0.25)
    """
    if isinstance(prior, Prior):
        return prior
    if isinstance(prior, str) and prior in _REGISTRY:
        return _REGISTRY[prior]()
    known = ", ".join(repr(name) for name in sorted(_REGISTRY))
    if isinstance(prior, type):
        raise TypeError(
            f"prior: got the class {prior.__name__}; pass an instance, {prior.__name__}(), or one of {known}"
        )
    problem = f"unknown name {prior!r}" if isinstance(prior, str) else f"got {prior!r}"
    raise ValueError(f"prior: {problem}; choose one of {known}, or pass a countless.priors object")
