"""Hyperparameters drawn along with the clusters, by slice sampling given the partition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....chains.moves import register
from ....partitions.hyperparameters import climb_offsets, draw_offsets, n_numbers
from ....priors.concentration import slice_step
from ....tuning.evidence import LARGEST, SPREAD, Evidence, finite_spread, learned_names, log_normal_density
from ..state import State


class LearnHyperparameters:
    """Draw some of the hyperparameters that nobody has set, given the partition; nothing where none are learned.

    Parameters
    ----------
    given_parameters : bool
        Whether they are drawn given the parameters of the clusters, for samplers that keep these from sweep to sweep;
        default, given the partition alone.
    """

    name = "learned hyperparameters"

    def __init__(self, given_parameters: bool = False) -> None:
        self._given_parameters = given_parameters

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        problem = state.problem
        if problem.law is None:
            return
        count = n_numbers(state.hyper, state.n_rows)
        clusters, slots = state.clusters.arrays, np.ascontiguousarray(state.seats.in_use)
        given = self._given_parameters
        draw_offsets(rng, state.hyper, problem.base, clusters, slots, problem.law, state.offsets, count, given)
        state.offsets_changed()


def climb_hyperparameters(state: State) -> None:
    """Bring the hyperparameters that are learned to the mode of their density given the partition."""
    problem = state.problem
    if problem.law is not None:
        clusters, slots = state.clusters.arrays, np.ascontiguousarray(state.seats.in_use)
        climb_offsets(state.hyper, problem.base, clusters, slots, problem.law, state.offsets)
        state.offsets_changed()


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
