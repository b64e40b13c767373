"""DirectAssignment: the path and base weights are kept, parameters and transition probabilities integrated out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....chains.engine import register
from ....chains.schedule import Schedule
from ....core.validate import whole_number
from ...learned import LearnHyperparameters
from ..moves.numbers import BaseUpdate
from ..moves.paths import WholePath
from ..moves.split_merge import SplitMerge
from ..moves.sweeps import DirectSweep
from .sampling import SequenceSampler


@register("hmm-gibbs")
@dataclass(frozen=True)
class DirectAssignment(SequenceSampler):
    """Direct-assignment Gibbs sampling of the path of a hidden Markov model, with block moves.

    A sweep visits the steps one by one (Raykov et al. 2016, section 6.1), draws the whole path at once given parameters
    and transition probabilities that are drawn for the occasion, proposes to split and merge states, and draws base
    weights and the numbers of the transition law. Each of these leaves the posterior as it is, without truncation.

    Parameters
    ----------
    chains, draws, warmup, thin
        As for ``CollapsedGibbs``.
    split_merge : int
        Split-merge proposals after each sweep.
    whole_paths : int
        Whole paths drawn after each sweep. Without them, and with much mass on staying, states hardly move.
    start : str or array of labels
        ``"dispersed"`` (each chain elsewhere), ``"one"``, ``"sequential"``, ``"greedy"``, ``"prior"``, or the states of
        the steps.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.
    max_seconds : float, optional
        Chains end after this time and keep what is there.

    Examples
    --------
    >>> import countless as cl
    >>> engine = cl.inference.DirectAssignment(chains=2, draws=50, warmup=50)
    >>> model = cl.InfiniteHMM(inference=engine, random_state=0).fit([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> model.posterior_.labels.shape
    (2, 50, 6)
    """

    chains: int = 4
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 1
    split_merge: int = 3
    whole_paths: int = 1
    start: Any = "dispersed"
    n_threads: int | None = None
    max_seconds: float | None = None

    draws_missing: ClassVar[bool] = True
    title: ClassVar[str] = "direct assignment"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("split_merge", self.split_merge, 0)
        whole_number("whole_paths", self.whole_paths, 0)

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""
        moves: list[Any] = [DirectSweep()]
        moves += [WholePath() for _ in range(self.whole_paths)]
        moves += [SplitMerge(self.split_merge)] if self.split_merge else []
        return Schedule([*moves, BaseUpdate(), LearnHyperparameters()])
