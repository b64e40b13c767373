"""What the samplers of a hidden Markov model share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ....chains.draws import Draws
from ....chains.sampler import Sampler
from ....chains.schedule import Schedule
from ....chains.watch import Watch
from ....passes.passes import one_blas_thread
from ...learned import LearnHyperparameters
from ..moves.numbers import BaseUpdate
from ..moves.paths import WholePath
from ..moves.split_merge import SplitMerge

# States that the cost of a sweep is reckoned with.
EXPECTED_STATES = 8.0


class SequenceSampler(Sampler):
    """Base of the samplers of a hidden Markov model."""

    serves: ClassVar[str] = "hmm"

    def sweep_cost(self, problem: Any) -> float:
        """Statistics of some states, and their transitions, for each step."""
        return sweep_cost(problem.n_rows, problem.layout.statistics)

    def settling(self) -> tuple[Schedule, int]:
        """Whole paths with split-merge; none where there is no warm-up."""
        moves: list[Any] = [WholePath(), SplitMerge(5), BaseUpdate(), LearnHyperparameters()]
        return Schedule(moves), self.n_warmup // 2

    def run(self, problem: Any, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Run all chains."""
        with one_blas_thread():
            return super().run(problem, rng, watch)


def sweep_cost(n_steps: int, width: int) -> float:
    """Numbers that one sweep touches, about."""
    return n_steps * EXPECTED_STATES * (width + EXPECTED_STATES)
