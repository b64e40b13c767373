"""The state of a mixture, everything that a chain draws: labels, concentration, hyperparameters, missing cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...chains.contract import Frozen
from ...families.learnable import Offsets
from ...partitions.clusters import Clusters, own_hyper
from ...partitions.hyperparameters import install
from ...partitions.partition import Partition, log_prior_predictives, thawed_parts
from ...partitions.seats import FloatArray, IntArray, Seats
from ...priors.verbs import Prior
from ..learned import LearnedState
from .problem import Problem


class State(Partition, LearnedState):
    """One partition of the rows of a problem, with everything else that is drawn.

    Attributes
    ----------
    problem : Problem
    rows : array
        Rows as kernels take them: those of the problem, or a copy of its own where missing cells are drawn.
    log_factors : dict
        Offsets of the hyperparameters that the clusters have now.
    log_hyperprior : float
        Their log density.
    offsets : array
        All offsets in the order of the problem's law, where it has one.
    weights : array or None
        Weights of the components in the slots 0, 1, 2, ..., where a move keeps them.
    """

    def __init__(self, problem: Problem, labels: IntArray, at: float | Prior) -> None:
        rows = problem.rows.copy() if problem.draws_missing else problem.rows
        # Statistics of learned hyperparameters are in the basis of the family before any were learned.
        family = problem.family if problem.law is None else problem.untuned
        super().__init__(rows, family, problem.prior, labels, at, problem.log_new)
        self.problem = problem
        self.log_factors: dict[str, Any] = dict(problem.log_factors)
        self.log_hyperprior = problem.log_hyperprior
        self.offsets = problem.offsets.copy()
        if problem.law is not None:
            self.clusters.set_hyper(own_hyper(problem.base))
            self.set_offsets(self.offsets)
        self.weights: FloatArray | None = None

    def set_hyperparameters(self, log_factors: Offsets, log_hyperprior: float) -> None:
        """Use hyperparameters with these offsets from now on."""
        self.log_factors, self.log_hyperprior = dict(log_factors), log_hyperprior
        self.set_family(self.problem.untuned.with_tuned(log_factors))

    def missing_values(self) -> FloatArray:
        """What the missing cells hold now, in the user's units, in the order of ``problem.missing``."""
        return self.problem.drawn_cells(self.rows)

    # --- the contract of a state -------------------------------------------------------------------------------------

    def log_joint(self) -> float:
        """Log density of the rows and of everything that is drawn, in the user's units.

        p(rows | partition, hyperparameters) p(partition | concentration), with the density of a learned log
        concentration and of learned log factors. Missing cells that are drawn count as cells of the rows; missing cells
        that are integrated out do not.
        """
        return self.log_density() + self.log_hyperprior + self.problem.log_jacobian_of(self.rows)

    def draw(self) -> dict[str, Any]:
        """Labels and whatever else this chain draws, complete and in the user's units."""
        problem = self.problem
        draw: dict[str, Any] = {
            "labels": self.partition(),
            "n_clusters": np.int64(self.n_clusters),
            "log_joint": np.float64(self.log_joint()),
            "concentration": np.float64(self.concentration),
        }
        for name, value in self.seats.numbers.items():
            draw[name] = np.int64(value) if problem.prior.law_of(name).is_count else np.float64(value)
        for name, value in self.log_factors.items():
            draw[f"log_factors/{name}"] = np.array(value, dtype=np.float64)
        if problem.draws_missing:
            draw["missing"] = self.missing_values().astype(np.float32)
        if self.weights is not None:
            draw |= {"n_sticks": np.int64(len(self.weights)), "weights": self.weights[self.slots()]}
        if self.clusters.have_parameters(self.seats.in_use):
            parameters = self.clusters.arrays.parameters[self.slots()]
            described = self.clusters.family.describe(parameters, problem.shift, problem.scale)
            draw |= {f"parameters/{name}": values for name, values in described.items()}
        return draw

    def status(self) -> str:
        """The number of clusters."""
        return f"{self.n_clusters} clusters"

    def freeze(self) -> Frozen:
        """Everything that the rest of a chain depends on, copied."""
        numbers, arrays = self.seats.freeze()
        factors = {} if self.problem.law is not None else self.log_factors
        numbers |= {
            "log_factors": {name: float(value) for name, value in factors.items()},
            "log_hyperprior": float(self.log_hyperprior),
        }
        arrays |= self.clusters.freeze()
        if self.problem.law is not None:
            arrays["offsets"] = self.offsets.copy()
        if self.weights is not None:
            arrays["weights"] = self.weights.copy()
        if self.problem.draws_missing:
            rows, _, places = self.problem.missing
            arrays["missing"] = self.rows[rows, places]
        return Frozen(numbers, arrays)

    @classmethod
    def thawed(cls, problem: Problem, frozen: Frozen) -> State:
        """The state that ``freeze`` gave; ValueError where it is none of this problem."""
        numbers, arrays = frozen
        state = cls.__new__(cls)
        state.problem = problem
        state.log_factors, state.log_hyperprior = dict(numbers["log_factors"]), numbers["log_hyperprior"]
        family, log_new = problem.family if problem.law is None else problem.untuned, problem.log_new
        state.offsets = np.empty(0)
        if problem.law is not None:
            state._thaw_offsets(problem, arrays["offsets"])
        elif state.log_factors != dict(problem.log_factors):
            family = problem.untuned.with_tuned(state.log_factors)
            log_new = log_prior_predictives(family, family.prepare(), problem.rows)
        rows = problem.rows
        if problem.draws_missing:
            rows = problem.with_missing(arrays["missing"])
        seats = Seats.thaw(problem.prior, problem.n_rows, numbers, arrays)
        clusters = Clusters.thaw(family, seats.capacity, arrays)
        if problem.law is not None:
            clusters.set_hyper(own_hyper(problem.base))
            install(clusters.hyper, problem.base, problem.law, state.offsets)
            log_new = log_prior_predictives(family, clusters.hyper, rows)
        thawed_parts(state, rows, log_new, seats, clusters)
        state.weights = None
        weights = arrays.get("weights")
        if weights is not None:
            if weights.ndim != 1 or weights.dtype != np.float64 or not 1 <= len(weights) <= seats.capacity:
                raise ValueError("the state of a chain holds weights of the wrong shape or type")
            state.weights = weights.copy()
        return state

    def copy(self) -> State:
        """An independent copy."""
        twin = State.__new__(State)
        twin.problem, twin.log_factors, twin.log_hyperprior = self.problem, dict(self.log_factors), self.log_hyperprior
        twin.offsets = self.offsets.copy()
        rows = self.rows.copy() if self.problem.draws_missing else self.rows
        thawed_parts(twin, rows, self.log_new, self.seats.copy(), self.clusters.copy())
        twin.weights = None if self.weights is None else self.weights.copy()
        return twin
