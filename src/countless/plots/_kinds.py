"""Kinds of fit: whether draws are from the posterior, and what can be said in words where they are not."""

from __future__ import annotations

from typing import Any, NamedTuple


class Words(NamedTuple):
    """How texts speak of one kind of fit.

    Attributes
    ----------
    fit : str
        A fit of this kind.
    found : str
        What such a fit finds.
    objective : str
        What its optimiser raises; empty for samplers.
    no_chains : str
        Why no quantity can be traced along chains.
    similarity : str
        Where the probabilities of sharing a cluster come from.
    rows : str
        What the probabilities of the rows take as given.
    caution : str
        The same as a sentence.
    unknown : str
        What such a fit cannot say.
    """

    fit: str
    found: str
    objective: str = ""
    no_chains: str = ""
    similarity: str = ""
    rows: str = ""
    caution: str = ""
    unknown: str = ""


WORDS = {
    "sampled": Words("a sampled posterior", "the consensus of the draws"),
    "optimum": Words(
        "a MAP fit",
        "the most probable partition found",
        "log joint",
        "a MAP fit has a single optimum",
        "a single partition, no posterior",
        "probabilities given the clusters found",
        "These probabilities take the clusters as given; other partitions are not considered.",
        "This fit searched for the single most probable partition (MAP). The probability of this number of clusters is "
        "unknown, and other partitions may fit nearly as well. Fit with "
        'inference="gibbs" to find out.',
    ),
    "approximation": Words(
        "a variational fit",
        "the best variational mixture found",
        "lower bound on the log evidence",
        "a variational fit has independent draws",
        "draws of the variational approximation",
        "probabilities given the clusters found",
        "These are probabilities of the approximation, which tend to be too high.",
        "This fit approximates the posterior by one mixture (variational inference, meant for many rows). The "
        "probability of this number of clusters is unknown, and the probabilities of the rows tend to be too high. Fit "
        'with inference="gibbs" to find out.',
    ),
}


def kind_of(posterior: Any) -> str:
    """``"sampled"``, ``"optimum"`` (a single partition) or ``"approximation"`` (one mixture); decided here only."""
    declared = getattr(posterior, "kind", None)
    if declared is not None:
        return str(declared)
    if posterior.components is not None:
        return "approximation"
    return "sampled" if posterior.is_sampled else "optimum"
