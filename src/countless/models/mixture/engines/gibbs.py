"""Gibbs: parameters of the clusters are kept and drawn, in turn with the labels.

Pletscher 2007, alg. 3.2; Faul's 'Dirichlet process method', with the integrated predictive for a new cluster; Neal
2000, algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....chains.engine import register
from ....chains.schedule import Schedule
from ....partitions.moves.concentration import ConcentrationUpdate
from ....partitions.moves.split_merge import split_merge_moves
from ....partitions.moves.sweeps import ParameterSweep
from ..moves.hyperparameters import LearnHyperparameters
from .sampling import MixtureSampler


@register("uncollapsed")
@dataclass(frozen=True)
class Gibbs(MixtureSampler):
    """Gibbs sampling of labels and cluster parameters, with split-merge moves.

    The draws of labels have the same law as those of ``CollapsedGibbs``. Given its parameters a row no longer feels
    the other rows of its cluster, so that a sweep costs less and clusters move more slowly; what it offers besides
    are draws of the parameters, jointly with the labels.

    Parameters
    ----------
    chains, draws, warmup, thin
        As for ``CollapsedGibbs``.
    split_merge : bool or int
        Split-merge proposals, as for ``CollapsedGibbs``. They look at the partition alone; the parameters are drawn
        again, given the labels, after them.
    start : str or array of labels
        As for ``CollapsedGibbs``.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.
    max_seconds : float, optional
        As for ``CollapsedGibbs``.
    keep_parameters : bool
        Whether ``posterior_.parameters`` holds the parameters of every kept draw.

    Examples
    --------
    >>> import countless as cl
    >>> engine = cl.inference.Gibbs(chains=1, draws=20, warmup=20)
    >>> model = cl.DPMixture("poisson", inference=engine, random_state=0).fit([[1], [2], [80], [90]])
    >>> drawn = model.posterior_.parameters_of(chain=0, draw=19)
    >>> drawn["rate"].shape == (model.posterior_.n_clusters[0, 19], 1)
    True
    """

    chains: int = 4
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 1
    split_merge: bool | int = True
    start: Any = "dispersed"
    n_threads: int | None = None
    max_seconds: float | None = None
    keep_parameters: bool = True

    title: ClassVar[str] = "Gibbs"

    def __post_init__(self) -> None:
        super().__post_init__()
        split_merge_moves(self.split_merge)

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own.

        The sweep comes last: it begins with parameters given labels, which is right after any move of the partition
        alone, and ends with labels and parameters that belong together.
        """
        moves: list[Any] = [*split_merge_moves(self.split_merge), ConcentrationUpdate(), LearnHyperparameters()]
        return Schedule([*moves, ParameterSweep()])

    def leave_out(self) -> tuple[str, ...]:
        """Parameters, unless they are kept."""
        return () if self.keep_parameters else ("parameters",)
