"""What every model can show of its chains: whether they agree, traces of its quantities, and an interrupted run."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..core.text import count
from ..plots.parts.kinds import WORDS, kind_of
from ..posterior.diagnostics import ANY_RUN, DISAGREE, SETTLED, SETTLED_RHAT, TOO_FEW, Diagnostics
from .sections import Section
from .widgets import fact, lines

SAMPLED = (
    "Each line is one chain, started independently. Chains that agree overlap and move around the same level; lines on "
    "separate levels show that the chains found different answers."
)
OPTIMISED = "What the optimiser raised, step by step; it stops where the line is flat."
DETAILS = (
    f"R-hat compares the chains: 1 is agreement, {SETTLED_RHAT} or more is not yet. Effective draws are the "
    "number of independent draws that would be as informative as these."
)


def converged(found: Diagnostics) -> dict[str, str]:
    """The fact whether the fit converged: the verdict of its diagnostics.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.report.converged(model.posterior_.diagnostics())["value"]
    'Yes'
    """
    known = {SETTLED: ("good", "Yes"), TOO_FEW: ("unknown", "Not yet"), DISAGREE: ("bad", "No")}
    state, value = known.get(found.state or "", ("unknown", "Unknown"))
    words = found.sentence(command_line=found.folder is not None, run=ANY_RUN)
    return fact("Has the fit converged?", value, words, state)


def unfinished(posterior: Any) -> str | None:
    """A note that the run was interrupted; None where it was not.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> cl.report.unfinished(model.posterior_) is None
    True
    """
    if not getattr(posterior, "interrupted", False):
        return None
    chains, draws = posterior.shape
    how = "stopped by max_seconds" if posterior.draws.spent == "time" else "interrupted"
    return (
        f"This run was {how}. The page shows {count(draws, 'draw')} of each of {count(chains, 'chain')}; "
        "completing the run (countless resume) may change the results."
    )


def chains(posterior: Any, found: Diagnostics | None = None, without: Collection[str] = ()) -> Section | None:
    """Section with the quantities along each chain and a table of R-hat, or with the steps of an optimiser.

    Parameters
    ----------
    posterior : posterior of any model
    found : Diagnostics, optional
        Its diagnostics, where they are known already.
    without : collection of str
        Quantities that are not drawn.

    Returns
    -------
    Section or None
        None where there are no steps to show.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> [line["name"] for line in cl.report.chains(model.posterior_).content["lines"]][:2]
    ['number of clusters', 'log joint']
    """
    kind = kind_of(posterior)
    if kind != "sampled":
        steps = np.asarray(posterior.objective, dtype=np.float64).ravel()
        steps = steps[np.isfinite(steps)]
        if len(steps) < 2:
            return None
        series = {WORDS[kind].objective: steps[None]}
        return lines("chains", "How did the search converge?", series, "step", note=OPTIMISED, link="Search")
    quantities = {name: values for name, values in posterior.quantities().items() if name not in without}
    return lines(
        "chains",
        "Do the chains agree?",
        {posterior.words(name): values for name, values in quantities.items()},
        details=_details(posterior.diagnostics() if found is None else found),
        note=SAMPLED,
        link="Chains",
    )


def _details(found: Diagnostics) -> dict[str, Any] | None:
    """R-hat and effective draws of each quantity; None where there are too few draws to compare chains."""
    if not found.quantities:
        return None
    rows = [
        [
            each.words,
            _written(each.rhat, "{:.3f}"),
            _written(each.ess_bulk, "{:,.0f}"),
            _written(each.ess_tail, "{:,.0f}"),
        ]
        for each in found.quantities
    ]
    return {"words": DETAILS, "header": ["quantity", "R-hat", "effective draws", "in the tails"], "rows": rows}


def _written(value: float, form: str) -> str:
    return form.format(value) if np.isfinite(value) else ""
