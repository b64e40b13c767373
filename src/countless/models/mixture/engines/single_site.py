"""SingleSiteGibbs: one parameter per row, drawn row by row. Pletscher 2007, alg. 3.1; Escobar 1994."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....chains.engine import register
from ....chains.schedule import Schedule
from ....partitions.moves.concentration import ConcentrationUpdate
from ....partitions.moves.sweeps import SingleSiteSweep
from ..moves.hyperparameters import LearnHyperparameters
from .sampling import MixtureSampler


@register("single-site")
@dataclass(frozen=True)
class SingleSiteGibbs(MixtureSampler):
    """Gibbs sampling with one parameter per row, the oldest sampler for Dirichlet process mixtures.

    The parameter of row i, given those of all others, either copies one of them or is new, drawn from the posterior
    given this row alone. A value that rows share is never refreshed while any row holds it: a cluster gets a better
    parameter only by way of a new cluster that takes over its rows one by one. It is exact and it mixes slowly, the
    more so the more rows a cluster has and the more columns there are: for a few hundred rows at most, and to see
    what the other samplers are for.

    Parameters
    ----------
    chains, draws, warmup, thin
        As for ``CollapsedGibbs``; the usual warm-up is 500 sweeps.
    start : str or array of labels
        As for ``CollapsedGibbs``.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.
    max_seconds : float, optional
        As for ``CollapsedGibbs``.
    keep_parameters : bool
        Whether ``posterior_.parameters`` holds the parameters of every kept draw, one for each distinct value.

    Examples
    --------
    >>> import countless as cl
    >>> engine = cl.inference.SingleSiteGibbs(chains=1, draws=20, warmup=20)
    >>> model = cl.DPMixture("poisson", inference=engine, random_state=0).fit([[1], [2], [80], [90]])
    >>> model.posterior_.parameters["rate"].shape == (model.posterior_.n_clusters.sum(), 1)
    True
    """

    chains: int = 4
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 4
    start: Any = "dispersed"
    n_threads: int | None = None
    max_seconds: float | None = None
    keep_parameters: bool = True

    usual_warmup: ClassVar[int] = 500
    title: ClassVar[str] = "single-site Gibbs"

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""
        return Schedule([SingleSiteSweep(), ConcentrationUpdate(), LearnHyperparameters(given_parameters=True)])

    def leave_out(self) -> tuple[str, ...]:
        """Parameters, unless they are kept."""
        return () if self.keep_parameters else ("parameters",)
