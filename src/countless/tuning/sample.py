"""Hyperparameters drawn with the clusters, as one more move of a sampler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..chains.draws import Draws
from ..chains.engine import Inference
from ..chains.watch import Watch
from .base import Tunable, Tuning, register
from .evidence import SPREAD, finite_spread, learned_names


@register("sample")
@dataclass(frozen=True)
class Sample(Tuning):
    """Draw hyperparameters in each sweep of a sampler; predictions then average over them.

    Each hyperparameter is multiplied by a factor whose logarithm has a normal prior around zero, and is drawn
    given the partition by slice sampling (Neal 2003).

    Parameters
    ----------
    names : tuple of str, optional
        Hyperparameters to learn; default, all that the family offers in ``tunable()``.
    spread : float
        Standard deviation of a log factor in the prior. Default log(10): two times in three the hyperparameter
        is within a factor of ten of its default.

    Examples
    --------
    >>> import countless as cl
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.3]]
    >>> model = cl.DPMixture(tune=cl.tuning.Sample(names=("scale",)), random_state=0).fit(X)
    >>> model.posterior_.hyperparameters["scale"].shape
    (4, 250)
    """

    names: tuple[str, ...] | None = None
    spread: float = SPREAD

    def __post_init__(self) -> None:
        finite_spread(self.spread)

    def run(self, problem: Tunable, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        """One run of the engine with the further move."""
        move = problem.hyperparameter_move(learned_names(problem.untuned, self.names), self.spread)
        return engine.with_moves(move).run(problem, rng, watch)
