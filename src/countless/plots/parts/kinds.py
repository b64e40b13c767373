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


# Kinds that have a single partition: no pairs of rows to ask for probabilities.
SINGLE = ("optimum", "estimate")

WORDS = {
    "sampled": Words(fit="a sampled posterior", found="the consensus of the draws"),
    "optimum": Words(
        fit="a MAP fit",
        found="the most probable partition found",
        objective="log joint",
        no_chains="a MAP fit has a single optimum",
        similarity="a single partition, no posterior",
        rows="probabilities given the clusters found",
        caution="These probabilities take the clusters as given; other partitions are not considered.",
        unknown="This fit searched for the single most probable partition (MAP). The probability of this number of "
        "clusters is unknown, and other partitions may fit nearly as well. Fit with "
        'inference="gibbs" to find out.',
    ),
    "estimate": Words(
        fit="an EM fit",
        found="the mixture of largest likelihood found",
        objective="log likelihood",
        no_chains="an EM fit has estimated parameters, no draws",
        similarity="a single partition, no posterior",
        rows="probabilities given the components found",
        caution="These probabilities take the components as given.",
        unknown="This fit estimated the parameters of a given number of components (EM). That the number is right, and "
        "how uncertain the components are, it cannot say. Fit DPMixture to find out.",
    ),
    "approximation": Words(
        fit="a variational fit",
        found="the best variational mixture found",
        objective="lower bound on the log evidence",
        no_chains="a variational fit has independent draws",
        similarity="draws of the variational approximation",
        rows="probabilities given the clusters found",
        caution="These are probabilities of the approximation, which tend to be too high.",
        unknown="This fit approximates the posterior by one mixture (variational inference, meant for many rows). The "
        "probability of this number of clusters is unknown, and the probabilities of the rows tend to be too high. Fit "
        'with inference="gibbs" to find out.',
    ),
}


def kind_of(posterior: Any) -> str:
    """``"sampled"``, ``"optimum"`` (a single partition), ``"estimate"`` (of components) or ``"approximation"`` (one
    mixture); decided here only."""
    single = posterior.kind.has_probabilities and not posterior.is_sampled
    return "optimum" if single else str(posterior.kind.name)
