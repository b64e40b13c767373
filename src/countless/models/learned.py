"""Hyperparameters of the family that a state draws along with its clusters: where they stand, and the move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..partitions.clusters import Clusters
from ..partitions.hyperparameters import FARTHEST, climb_offsets, draw_offsets, install, n_numbers
from ..partitions.seats import FloatArray, IntArray
from .family_problem import FamilyProblem


class LearnedState:
    """The part of a state that holds offsets of hyperparameters; it has clusters, and a problem with their law.

    Attributes
    ----------
    log_factors : dict
        Offsets of the hyperparameters that the clusters have now.
    log_hyperprior : float
        Their log density.
    offsets : array
        All offsets in the order of the problem's law, where it has one.
    """

    problem: Any
    clusters: Clusters
    log_factors: dict[str, Any]
    log_hyperprior: float
    offsets: FloatArray

    if TYPE_CHECKING:

        @property
        def hyper(self) -> Any: ...

        @property
        def n_rows(self) -> int: ...

        def refresh(self) -> None: ...

    def slots_in_use(self) -> IntArray:
        """Slots of the clusters that hold rows."""
        return np.ascontiguousarray(self.seats.in_use)  # type: ignore[attr-defined]

    def set_offsets(self, offsets: FloatArray) -> None:
        """Use learned hyperparameters at these offsets, in the order of the problem's law, from now on."""
        law = self.problem.law
        if law is not None:
            self.offsets[:] = offsets
            install(self.hyper, self.problem.base, law, self.offsets)
            self.offsets_changed()

    def offsets_changed(self) -> None:
        """Follow a change of ``offsets`` that the hyperparameters of the kernels have gone through already."""
        law = self.problem.law
        if law is not None:
            self.log_factors, self.log_hyperprior = law.by_name(self.offsets), law.log_density(self.offsets)
            self.refresh()

    def _thaw_offsets(self, problem: FamilyProblem, offsets: NDArray[Any]) -> None:
        law = problem.law
        if law is None or offsets.shape != law.spreads.shape or offsets.dtype != np.float64:
            raise ValueError("the state of a chain holds hyperparameters of the wrong shape or type")
        if not np.isfinite(offsets).all() or np.any(np.abs(offsets) > FARTHEST * law.deviations):
            raise ValueError("the state of a chain holds hyperparameters that are not possible")
        self.offsets = offsets.copy()
        self.log_factors, self.log_hyperprior = law.by_name(self.offsets), law.log_density(self.offsets)


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

    def step(self, rng: np.random.Generator, state: LearnedState) -> None:
        """Update ``state`` in place."""
        problem = state.problem
        if problem.law is None:
            return
        count = n_numbers(state.hyper, state.n_rows)
        clusters, slots = state.clusters.arrays, state.slots_in_use()
        given = self._given_parameters
        draw_offsets(rng, state.hyper, problem.base, clusters, slots, problem.law, state.offsets, count, given)
        state.offsets_changed()


def climb_hyperparameters(state: LearnedState) -> None:
    """Bring the hyperparameters that are learned to the mode of their density given the partition."""
    problem = state.problem
    if problem.law is not None:
        clusters, slots = state.clusters.arrays, state.slots_in_use()
        climb_offsets(state.hyper, problem.base, clusters, slots, problem.law, state.offsets)
        state.offsets_changed()
