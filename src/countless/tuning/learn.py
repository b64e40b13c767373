"""Hyperparameters that nobody has set, learned by the engine itself as part of the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..chains.draws import Draws
from ..chains.engine import Inference
from ..chains.watch import Watch
from .base import Tunable, Tuning, register


@register("learn")
@dataclass(frozen=True)
class Learn(Tuning):
    """Learn every hyperparameter of the family that is left open, each number of it by itself.

    They start from the data and have weak hyperpriors (``Family.spreads``): samplers draw them along with the clusters,
    MAP and variational bring them to their mode. Hyperparameters that are given stay as they are.

    Examples
    --------
    >>> import countless as cl
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.3]]
    >>> model = cl.DPMixture(cl.families.Gaussian(dof=4.0), random_state=0).fit(X)
    >>> sorted(model.posterior_.log_factors)
    ['mean', 'mean_strength', 'scale']
    """

    def run(self, problem: Tunable, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        """Let the engine do its work on the problem with everything that is left open."""
        return engine.run(problem.learning(), rng, watch)
