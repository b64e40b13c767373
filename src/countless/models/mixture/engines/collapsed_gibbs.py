"""CollapsedGibbs: sweeps, split-merge and the concentration, in several chains.

Cluster parameters are integrated out, so that the chain moves over partitions alone (Pletscher 2007,
alg. 3.3; Raykov et al. 2016, section 2; Neal 2000, algorithm 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....chains.engine import register
from ....chains.sampler import Sampler
from ....chains.schedule import Schedule
from ..moves.concentration import ConcentrationUpdate
from ..moves.hyperparameters import LearnHyperparameters
from ..moves.split_merge import split_merge_moves
from ..moves.sweeps import GibbsSweep


@register("gibbs")
@dataclass(frozen=True)
class CollapsedGibbs(Sampler):
    """Collapsed Gibbs sampling with split-merge moves.

    Parameters
    ----------
    chains : int
        Independent chains.
    draws : int
        Draws kept in each chain.
    warmup : int
        Sweeps before the first kept draw.
    thin : int
        Sweeps per kept draw.
    split_merge : bool or int
        Whether to make split-merge proposals after each sweep, or how many. The default adapts their number
        to the number of clusters during the warm-up. Without them a chain that starts from one cluster can
        stand still for thousands of sweeps.
    start : str or array of labels
        Where chains begin: ``"dispersed"`` (each chain elsewhere), ``"one"``, ``"sequential"``,
        ``"greedy"``, ``"prior"``, ``"singletons"``, or the labels of the rows.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.
    extra_moves : tuple of moves
        Done after the others in each sweep. All chains share them, so they must not keep anything.

    Examples
    --------
    >>> import countless as cl
    >>> engine = cl.inference.CollapsedGibbs(chains=2, draws=50, warmup=50)
    >>> model = cl.DPMixture(inference=engine, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.posterior_.labels.shape
    (2, 50, 4)
    """

    chains: int = 4
    draws: int = 250
    warmup: int = 100
    thin: int = 1
    split_merge: bool | int = True
    start: Any = "dispersed"
    n_threads: int | None = None
    extra_moves: tuple[Any, ...] = ()

    draws_missing: ClassVar[bool] = True
    title: ClassVar[str] = "collapsed Gibbs"

    def __post_init__(self) -> None:
        super().__post_init__()
        split_merge_moves(self.split_merge)

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""
        moves: list[Any] = [GibbsSweep(), *split_merge_moves(self.split_merge), ConcentrationUpdate()]
        return Schedule([*moves, LearnHyperparameters(), *self.extra_moves])
