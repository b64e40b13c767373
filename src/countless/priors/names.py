"""The register of priors by short name: it fills itself as the files of this folder are imported.

A file that defines a prior puts ``@register("name")`` on it, and every estimator knows the name.
"""

from __future__ import annotations

from countless.core.register import Register

from .verbs import Prior

__all__ = ["PRIORS", "register", "resolve_prior"]

PRIORS: Register[type[Prior]] = Register("prior", "countless.priors")
register = PRIORS.add


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
    return PRIORS.resolve("prior", prior, "a countless.priors object")()
