"""New rows under a mixture in closed form: Student-t, beta-binomial and the like, weighted; or under groups of these.

What a variational posterior predicts is exact: the expected weight of each component times the predictive of its
statistics, and for all components not seen yet, the prior predictive (Blei & Jordan 2006, section 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...families import Family
from ...families.base import Cluster, Units, refresh_all
from ...partitions.parameter_sweep import parameters_of_rows
from ...partitions.scores import log_predictives_of
from ...partitions.seats import FloatArray, IntArray
from .problem import Problem
from .records import Components

# Rows that are scored at a time.
BLOCK = 4096


@dataclass(frozen=True)
class ClosedForm:
    """A mixture of predictives; it needs no rows.

    Attributes
    ----------
    family : Family
        For rows in these units.
    hyper : NamedTuple
        Its hyperparameters, in the basis of the statistics of the components.
    units : Units
    components : Components
    n_clusters : int
        Components that some row was given to; they come first.
    """

    family: Family
    hyper: Any
    units: Units
    components: Components
    n_clusters: int

    @classmethod
    def of(cls, problem: Problem, components: Components, n_clusters: int) -> ClosedForm:
        """The mixture in the units of a problem."""
        return cls(problem.family, problem.hyper, problem.table.units, components, n_clusters)

    def log_weighted(self, X_new: FloatArray) -> FloatArray:
        """Log of weight times predictive: one column per cluster, the last one for anything else."""
        out = np.empty((len(X_new), self.n_clusters + 1))
        for start in range(0, len(X_new), BLOCK):
            scores = self._scores(X_new[start : start + BLOCK])
            out[start : start + BLOCK, :-1] = scores[:, : self.n_clusters]
            out[start : start + BLOCK, -1] = np.logaddexp.reduce(scores[:, self.n_clusters :], axis=1)
        return out

    def log_density(self, X_new: FloatArray) -> FloatArray:
        """Log predictive density of each row."""
        parts = [
            np.logaddexp.reduce(self._scores(X_new[start : start + BLOCK]), axis=1)
            for start in range(0, len(X_new), BLOCK)
        ]
        return np.concatenate(parts)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """``n`` rows, sorted by cluster, each with parameters of its own; label -1: none of the clusters."""
        hyper, clusters = self._clusters()
        weights = np.exp(self.components.log_weights)
        chosen = np.sort(rng.choice(len(weights), size=n, p=weights / weights.sum()))
        width = self.family.layout().parameters
        rows = [
            self.family.draw_rows(parameters, 1, rng)[0]
            for k, count in zip(*np.unique(chosen, return_counts=True), strict=True)
            for parameters in parameters_of_rows(hyper, clusters, int(k), int(count), width, rng)
        ]
        return self.units.restored(self.family, np.array(rows)), np.where(chosen < self.n_clusters, chosen, -1)

    def _clusters(self) -> tuple[Any, Cluster]:
        clusters = self.family.allocate(len(self.components.statistics) + 1, self.hyper)
        clusters.statistics[:-1] = self.components.statistics
        refresh_all(self.hyper, *clusters)
        return self.hyper, clusters

    def _scores(self, X_new: FloatArray) -> FloatArray:
        local, volumes = self.units.wide(self.family, X_new)
        hyper, clusters = self._clusters()
        out = np.empty((len(local), len(clusters.statistics)))
        log_predictives_of(hyper, *clusters, local, out)
        return out + self.components.log_weights - volumes[:, None]


@dataclass(frozen=True)
class Grouped:
    """A mixture some of whose clusters are one: a group of clusters is still their mixture.

    Attributes
    ----------
    mixture : Predictive
        Of single clusters.
    groups : array of int (cluster,)
        Group of each of its clusters.
    """

    mixture: Any
    groups: IntArray

    def log_weighted(self, X_new: FloatArray) -> FloatArray:
        """Log of weight times predictive: one column per group, the last one for anything else."""
        scores = self.mixture.log_weighted(X_new)
        columns = [
            np.logaddexp.reduce(scores[:, :-1][:, self.groups == g], axis=1) for g in range(self.groups.max() + 1)
        ]
        return np.column_stack([*columns, scores[:, -1]])

    def log_density(self, X_new: FloatArray) -> FloatArray:
        """Log predictive density of each row."""
        density: FloatArray = self.mixture.log_density(X_new)
        return density

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """``n`` rows, sorted by group, and their groups; -1 is a new one."""
        rows, labels = self.mixture.sample(n, rng)
        groups = np.where(labels < 0, -1, self.groups[labels])
        order = np.argsort(np.where(groups < 0, len(self.groups), groups), kind="stable")
        return rows[order], groups[order]
