"""Beam: whole paths under slices of the transitions (Van Gael, Saatci, Teh and Ghahramani 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....chains.engine import register
from ....chains.schedule import Schedule
from ....core.validate import whole_number
from ...learned import LearnHyperparameters
from ..moves.numbers import BaseUpdate
from ..moves.paths import BeamPath
from ..moves.split_merge import SplitMerge
from .sampling import SequenceSampler


@register("hmm-beam")
@dataclass(frozen=True)
class Beam(SequenceSampler):
    """Beam sampling of the path of a hidden Markov model.

    In turn: parameters of the states and transition probabilities given the path, a slice under each transition, and a
    path among the transitions above their slices, of which there are finitely many. Its draws have the same law as
    those of ``DirectAssignment``.

    Parameters
    ----------
    chains, draws, warmup, thin
        As for ``CollapsedGibbs``.
    split_merge : int
        Split-merge proposals after each sweep.
    start, n_threads, max_seconds
        As for ``DirectAssignment``.

    Examples
    --------
    >>> import countless as cl
    >>> engine = cl.inference.Beam(chains=1, draws=20, warmup=20)
    >>> model = cl.InfiniteHMM(inference=engine, random_state=0).fit([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> model.posterior_.labels.shape
    (1, 20, 6)
    """

    chains: int = 4
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 1
    split_merge: int = 3
    start: Any = "dispersed"
    n_threads: int | None = None
    max_seconds: float | None = None

    title: ClassVar[str] = "beam"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("split_merge", self.split_merge, 0)

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""
        moves: list[Any] = [BeamPath()]
        moves += [SplitMerge(self.split_merge)] if self.split_merge else []
        return Schedule([*moves, BaseUpdate(), LearnHyperparameters()])
