"""Collapsed Gibbs sampling of both partitions, with split-merge on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....chains.engine import register
from ....chains.sampler import Sampler
from ....chains.schedule import Schedule
from ....core.validate import whole_number
from ..moves.hyperparameters import LearnHyperparameters
from ..moves.items import Concentrations, ForgetConcentrations, SplitMerge, Sweeps
from ..state import State
from .search import search, usual_rounds


class Settle:
    """Move a chain to the best that a search finds from where it begins; before the warm-up only."""

    name = "settle"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        found = search(rng, state, usual_rounds(state.problem))
        state.seats, state.blocks = found.seats, found.blocks
        state.set_offsets(found.offsets)


@register("bicluster-gibbs")
@dataclass(frozen=True)
class BiclusterGibbs(Sampler):
    """Collapsed Gibbs sampling of rows and columns with split-merge moves on both sides.

    Parameters
    ----------
    chains : int
        Independent chains.
    draws : int or "auto"
        Draws kept in each chain; ``"auto"``, as many as it takes (see ``CollapsedGibbs``).
    warmup : int or "auto"
        Sweeps before the first kept draw.
    thin : int
        Sweeps per kept draw.
    split_merge : bool or int
        Whether to make split-merge proposals after each sweep, or how many on each side.
    settle : bool
        Whether chains begin at what a greedy search finds from their start. From one cluster on both sides no single
        row or column has anywhere better to go, so that chains could stand still for very long.
    start : str or pair of arrays of labels
        Where chains begin: ``"dispersed"`` (each chain elsewhere), ``"one"``, ``"singletons"``, ``"prior"``,
        ``"spectral"``, or labels of rows and of columns.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.
    max_seconds : float, optional
        Chains end after this time and keep what is there.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> engine = cl.inference.BiclusterGibbs(chains=2, draws=50, warmup=20)
    >>> X = np.kron(np.eye(2), np.ones((10, 8)))
    >>> model = cl.InfiniteBiclustering(inference=engine, random_state=0).fit(X)
    >>> model.posterior_.row_labels.shape
    (2, 50, 20)
    """

    chains: int = 4
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 1
    split_merge: bool | int = True
    settle: bool = True
    start: Any = "dispersed"
    n_threads: int | None = None
    max_seconds: float | None = None

    serves: ClassVar[str] = "biclustering"
    title: ClassVar[str] = "biclustering"
    usual_warmup: ClassVar[int] = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.split_merge, bool):
            whole_number("split_merge", self.split_merge, 0)

    def sweep_cost(self, problem: Any) -> float:
        """Numbers that one sweep over all items touches."""
        cost: float = problem.sweep_cost()
        return cost

    def settling(self) -> tuple[Schedule, int]:
        """One search."""
        return (Schedule([Settle()]), 1) if self.settle else (Schedule([]), 0)

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""
        proposals: list[Any] = []
        if self.split_merge is True:
            proposals = [SplitMerge()]
        elif self.split_merge:
            proposals = [SplitMerge(self.split_merge)]
        items = [ForgetConcentrations(), Sweeps(), *proposals]
        return Schedule([*items, Concentrations(), LearnHyperparameters()])
