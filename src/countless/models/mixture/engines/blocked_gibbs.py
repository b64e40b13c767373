"""BlockedGibbs: weights of truncated sticks, parameters of all components, then all labels at once.

Ishwaran and James 2001, section 5.2; Zhang 2022. Given weights and parameters the rows are independent, so that their
labels are one pass over blocks of rows (two matrix products a block, on all cores).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....chains.draws import Draws
from ....chains.engine import register
from ....chains.schedule import Schedule
from ....chains.watch import Watch
from ....core.validate import whole_number
from ....partitions.moves.split_merge import SplitMerge
from ....partitions.moves.sweeps import GibbsSweep
from ....passes.passes import Passes
from ..moves.blocked import BlockedSweep
from ..moves.hyperparameters import LearnHyperparameters
from .sampling import MixtureSampler


@register("blocked")
@dataclass(frozen=True)
class BlockedGibbs(MixtureSampler):
    """Blocked Gibbs sampling on truncated sticks, for priors with a stick-breaking form.

    In turn: the order of the components, a learned concentration, the weights and the parameters of all components
    given the labels, and the labels of all rows given these, each from its full conditional (the first two with
    the weights integrated out).

    Parameters
    ----------
    chains, draws, warmup, thin
        As for ``CollapsedGibbs``; the usual warm-up is 200 sweeps.
    truncation : int, optional
        Number T of sticks at the start; the last one takes what is left. Default: as many as bring the bound on the
        truncation error (``prior.truncation_bound``) below 0.01, and at most 100.
    max_truncation : int
        Limit of their growth: a draw in which the last stick holds rows is followed by one with half as many
        sticks again.
    start : str or array of labels
        As for ``CollapsedGibbs``. Clusters beyond the limit are dealt out to the others.
    n_threads : int, optional
        Threads for the chains and for the blocks of rows; default, one per core. The draws do not depend on it.
    max_seconds : float, optional
        As for ``CollapsedGibbs``.
    keep_parameters : bool
        Whether ``posterior_.parameters`` holds the parameters of the clusters of every kept draw.

    Notes
    -----
    *What the draws follow.* With ``max_truncation`` equal to ``truncation`` they follow exactly the posterior under the
    truncated prior; for ``FiniteDirichlet(K)`` with at least K sticks that is the prior itself. Where T may grow they
    follow the posterior under the whole prior in the limit of many draws: given T each step leaves the posterior
    under T sticks alone, T never falls after the warm-up, and it rises only when the last stick is used, the chance
    of which goes to zero as T rises, so that the adaptation dies out (Roberts and Rosenthal 2007). What is left
    at a given T is bounded by ``posterior_.truncation.bound``. Weights of Pitman-Yor sticks fall off slowly: with a
    discount of 0.5 no affordable T makes that bound small, and ``CollapsedGibbs`` or ``Gibbs`` serve better.

    *Mixing.* A new cluster must be drawn from the prior before a row can see it, so that with many columns clusters
    come up rarely, and there are no split-merge moves for truncated sticks: from one cluster a chain may find a few
    of ten in hundreds of sweeps. So chains begin with one collapsed sweep with split-merge for every two sweeps of
    warm-up, which brings them near the posterior; chains that agree then say less than they do for ``CollapsedGibbs``.

    Examples
    --------
    >>> import countless as cl
    >>> engine = cl.inference.BlockedGibbs(chains=1, draws=20, warmup=20)
    >>> model = cl.DPMixture("poisson", inference=engine, random_state=0).fit([[1], [2], [80], [90]])
    >>> drawn = model.posterior_.parameters_of(chain=0, draw=19)
    >>> bool(drawn["weights"].sum() <= 1.0)
    True
    >>> bool(model.posterior_.truncation.n_sticks[0, 19] > 4)
    True
    """

    chains: int = 4
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 1
    truncation: int | None = None
    max_truncation: int = 1000
    start: Any = "dispersed"
    n_threads: int | None = None
    max_seconds: float | None = None
    keep_parameters: bool = True

    usual_warmup: ClassVar[int] = 200
    title: ClassVar[str] = "blocked Gibbs"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("max_truncation", self.max_truncation, 1)
        if self.truncation is not None and whole_number("truncation", self.truncation, 1) > self.max_truncation:
            raise ValueError(
                f"truncation must be at most max_truncation = {self.max_truncation}, got {self.truncation}"
            )

    def schedule(self, passes: Passes | None = None) -> Schedule:
        """The moves of one sweep; each chain has its own, and all share the passes over the rows."""
        return Schedule([LearnHyperparameters(), BlockedSweep(self.truncation, self.max_truncation, passes)])

    def settling(self) -> tuple[Schedule, int]:
        """Collapsed sweeps with split-merge; none where there is no warm-up."""
        return Schedule([GibbsSweep(), SplitMerge(), LearnHyperparameters()]), self.n_warmup // 2

    def leave_out(self) -> tuple[str, ...]:
        """Parameters, unless they are kept."""
        return () if self.keep_parameters else ("parameters",)

    def run(self, problem: Any, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Run all chains."""
        problem.prior.initial().stick_shapes(1)  # an error here if the prior has no sticks
        with Passes(problem, self.n_threads) as passes:
            return self._run(problem, rng, watch or Watch(), lambda: self.schedule(passes))
