"""CollapsedGibbs: sweeps, split-merge and the concentration, in several chains.

Cluster parameters are integrated out, so that the chain moves over partitions alone (Pletscher 2007,
alg. 3.3; Raykov et al. 2016, section 2; Neal 2000, algorithm 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....chains.engine import register
from ....chains.schedule import Schedule
from ....partitions.moves.concentration import ConcentrationUpdate, ForgetConcentration
from ....partitions.moves.split_merge import split_merge_moves
from ....partitions.moves.sweeps import GibbsSweep
from ..moves.hyperparameters import LearnHyperparameters
from .sampling import MixtureSampler


@register("gibbs")
@dataclass(frozen=True)
class CollapsedGibbs(MixtureSampler):
    """Collapsed Gibbs sampling with split-merge moves.

    Parameters
    ----------
    chains : int
        Independent chains.
    draws : int or "auto"
        Draws kept in each chain; ``"auto"``, as many as it takes. Then chains meet after 250, 500, 1000, ... draws, and
        the draws alone decide whether they suffice: R-hat below 1.05 and 125 effective draws of every label-free
        quantity, and of the togetherness of 50 pairs of rows. The same seed gives the same number of draws. At most
        1,000 draws of each chain stay (250 of very long tables): every second, fourth, ... of a longer chain. A budget
        of work, counted from the size of the problem, ends chains that do not get there.
    warmup : int or "auto"
        Sweeps before the first kept draw; ``"auto"``, 100, and with ``draws="auto"`` the first half of all draws where
        the chains had not met by then.
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
    max_seconds : float, optional
        Chains end after this time (each makes at least one draw) and keep what is there. With it the number of draws
        depends on the speed of the machine, as nothing else does; with a checkpoint the run can be continued.
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
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 1
    split_merge: bool | int = True
    start: Any = "dispersed"
    n_threads: int | None = None
    max_seconds: float | None = None
    extra_moves: tuple[Any, ...] = ()

    draws_missing: ClassVar[bool] = True
    title: ClassVar[str] = "collapsed Gibbs"

    def __post_init__(self) -> None:
        super().__post_init__()
        split_merge_moves(self.split_merge)

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""
        rows: list[Any] = [ForgetConcentration(), GibbsSweep(), *split_merge_moves(self.split_merge)]
        return Schedule([*rows, ConcentrationUpdate(), LearnHyperparameters(), *self.extra_moves])
