"""The answer in words: how many clusters, how sure, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..plots._style import count, percent
from .findings import SURE, Findings

NOT_KNOWN = {
    "map": (
        "This fit looked for the single most probable partition (MAP). It says nothing about how probable this "
        "number of clusters is, nor about other partitions that fit nearly as well; fit with "
        'inference="gibbs" to know.'
    ),
    "variational": (
        "This fit approximates the posterior by one mixture (variational inference, meant for many rows). It gives no "
        "probability of the number of clusters, and its probabilities of rows tend to be too confident; fit with "
        'inference="gibbs" to know.'
    ),
}


def answer(found: Findings) -> dict[str, Any]:
    """Headline, the facts below it, and what this kind of fit cannot say."""
    return {
        "headline": f"{count(found.model.n_clusters_, 'cluster')} in {count(len(found.labels), 'row')}",
        "facts": [_how_many(found), _how_sure(found), _agreement(found), _read(found)],
        "notes": [note for note in (NOT_KNOWN.get(found.kind), _unfinished(found)) if note],
    }


def _unfinished(found: Findings) -> str | None:
    """That a run was stopped, where it was."""
    if not found.posterior.interrupted:
        return None
    chains, draws = found.posterior.n_clusters.shape
    return (
        f"This run was stopped before its end: {count(draws, 'draw')} of each of {count(chains, 'chain')} "
        "are what this page is made from. Going on with it (countless resume) may change what it shows."
    )


def _fact(question: str, value: str, words: str, state: str = "plain") -> dict[str, str]:
    return {"question": question, "value": value, "words": words, "state": state}


def _how_many(findings: Findings) -> dict[str, str]:
    question, found = "How many clusters?", int(findings.model.n_clusters_)
    if findings.kind != "sampled":
        return _fact(question, str(found), "Found by optimisation; how probable this number is, is not known.")
    pmf = findings.posterior.n_clusters_pmf()
    low, high = likely(pmf)
    own = pmf.get(found, 0.0)
    words = "in every draw." if own == 1.0 else f"with a probability of {percent(own)}"
    if own < 1.0:
        spread = (
            "." if low == high == found else f"; {low} with 95%." if low == high else f"; {low} to {high} with 95%."
        )
        words += spread
    mode = max(pmf, key=lambda k: pmf[k])
    if mode != found:
        words += f" The most frequent number is {mode} ({percent(pmf[mode])}): draws differ in small clusters."
    return _fact(question, str(found), words)


def likely(pmf: Mapping[int, float], level: float = 0.95) -> tuple[int, int]:
    """The shortest range of numbers that holds a share of the draws; of equally short ones, the most probable."""
    numbers = sorted(pmf)
    ranges = []
    for i, low in enumerate(numbers):
        held = 0.0
        for high in numbers[i:]:
            held += pmf[high]
            if held >= level - 1e-12:
                ranges.append((high - low, -held, low, high))
                break
    return min(ranges)[2:]


def _how_sure(found: Findings) -> dict[str, str]:
    probability = np.asarray(found.certainty.probability)
    sure = float(np.mean(probability >= SURE))
    wavering = int(np.sum(probability < SURE))
    limit = f"{SURE:.0%}"
    words = f"of the rows belong to their cluster with a probability of {limit} or more"
    words += f"; {count(wavering, 'row')} {'wavers' if wavering == 1 else 'waver'}." if wavering else "; none wavers."
    if found.kind == "map":
        words += " Given the clusters as they are: other partitions are not counted."
    if found.kind == "variational":
        words += " By the approximation, which tends to be too confident."
    return _fact("How sure are the rows?", percent(sure), words)


def _agreement(found: Findings) -> dict[str, str]:
    verdict = found.diagnostics
    state = {True: "good", False: "bad", None: "unknown"}[verdict.converged]
    value = {True: "Yes", False: "No", None: "Not known"}[verdict.converged]
    return _fact("Has the fit settled?", value, verdict.verdict, state)


def _read(found: Findings) -> dict[str, str]:
    data = found.data
    categories = sum(column.is_categorical for column in data.columns)
    numbers = len(data.columns) - categories
    parts = [count(n, noun) for n, noun in ((numbers, "numeric column"), (categories, "column of categories")) if n]
    parts = [part.replace("column of categoriess", "columns of categories") for part in parts]
    holes = int(np.isnan(data.rows).sum())
    share = holes / max(data.rows.size, 1)
    missing = (
        f"{count(holes, 'cell')} ({percent(share)}) {'is' if holes == 1 else 'are'} missing"
        if holes
        else "no cell is missing"
    )
    return _fact("What was read?", count(len(data.rows), "row"), f"{' and '.join(parts)}; {missing}.")
