"""WeakLimit: whole paths among a given number of states (Fox, Sudderth, Jordan and Willsky 2011, algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....chains.draws import Draws
from ....chains.engine import register
from ....chains.schedule import Schedule
from ....chains.watch import Watch
from ....core.validate import whole_number
from ...learned import LearnHyperparameters
from ..moves.numbers import BaseUpdate
from ..moves.paths import WholePath
from .sampling import SequenceSampler


@register("hmm-weak-limit")
@dataclass(frozen=True)
class WeakLimit(SequenceSampler):
    """Blocked Gibbs sampling of whole paths among at most so many states.

    The transition law is replaced by its weak limit, ``cl.transitions.WeakLimitHDP``. Where draws use all states the
    bound was too small: ``bound_reached_`` is their share, and a fit with more than a few of them warns.

    Parameters
    ----------
    n_states : int
        Most states that there can be.
    chains, draws, warmup, thin
        As for ``CollapsedGibbs``.
    start, n_threads, max_seconds
        As for ``DirectAssignment``.

    Examples
    --------
    >>> import countless as cl
    >>> engine = cl.inference.WeakLimit(5, chains=1, draws=20, warmup=20)
    >>> model = cl.InfiniteHMM(inference=engine, random_state=0).fit([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> bool(model.posterior_.n_states.max() <= 5)
    True
    """

    n_states: int = 20
    chains: int = 4
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 1
    start: Any = "dispersed"
    n_threads: int | None = None
    max_seconds: float | None = None

    title: ClassVar[str] = "weak limit"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("n_states", self.n_states, 1)

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""
        return Schedule([WholePath(), BaseUpdate(), LearnHyperparameters()])

    def run(self, problem: Any, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Run all chains."""
        return super().run(problem.under(problem.transitions.truncated(self.n_states)), rng, watch)
