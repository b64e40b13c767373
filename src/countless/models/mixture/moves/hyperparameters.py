"""Hyperparameters drawn along with the clusters, by slice sampling given the partition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....chains.moves import register
from ....priors.concentration import slice_step
from ....tuning.evidence import LARGEST, SPREAD, Evidence, finite_spread, learned_names, log_normal_density
from ...learned import LearnHyperparameters as LearnHyperparameters
from ...learned import climb_hyperparameters as climb_hyperparameters
from ..state import State


@register("hyperparameters")
@dataclass(frozen=True)
class HyperparameterUpdate:
    """Draw the log factors of hyperparameters given the partition, one after the other, by slice sampling.

    Parameters
    ----------
    names : sequence of str, optional
        Hyperparameters to learn; default, all that the family offers.
    spread : float
        Standard deviation of the normal prior of a log factor.

    References
    ----------
    Neal 2003, *Slice sampling*.
    """

    name: ClassVar[str] = "hyperparameters"

    names: tuple[str, ...] | None = None
    spread: float = SPREAD

    def __post_init__(self) -> None:
        finite_spread(self.spread)

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        problem = state.problem
        names = self.names or learned_names(problem.untuned, None)
        evidence = Evidence(problem.untuned, [(state.rows, state.partition()[None])], problem.weights)
        factors = {name: state.log_factors.get(name, 0.0) for name in names}
        for name in names:

            def log_target(value: float, name: str = name) -> float:
                if abs(value) > LARGEST:
                    return -math.inf
                trial = {**factors, name: value}
                return evidence(trial) + log_normal_density(trial, self.spread)

            factors[name] = slice_step(log_target, factors[name], rng)
        state.set_hyperparameters(factors, log_normal_density(factors, self.spread))
