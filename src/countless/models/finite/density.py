"""Densities of new rows under a mixture with a given number of components: at given parameters, or averaged over draws.

Both classes have the same methods, so that an estimator need not know how its mixture was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...families import Family
from ...families.base import Units
from ...partitions.scores import naturals_of
from ...partitions.seats import FloatArray, IntArray
from ...partitions.sums import row_statistics_of
from ..mixture.problem import Problem

# Rows that are scored at once.
BLOCK = 4096


@dataclass(frozen=True)
class MixtureDensity:
    """A mixture at given parameters, in local units.

    Attributes
    ----------
    family : Family
        The family of rows in these units.
    units : Units
    log_weights : array (K,)
    parameters : array (K, P)
        Rows of the family's layout.
    """

    family: Family
    units: Units
    log_weights: FloatArray
    parameters: FloatArray

    @classmethod
    def of(cls, problem: Problem, log_weights: FloatArray, parameters: FloatArray) -> MixtureDensity:
        """The mixture in the units of a problem."""
        return cls(problem.family, problem.table.units, log_weights, parameters)

    def reordered(self, order: IntArray) -> MixtureDensity:
        """The same mixture with its components in another order."""
        return MixtureDensity(self.family, self.units, self.log_weights[order], self.parameters[order])

    def describe(self) -> dict[str, FloatArray]:
        """Parameters of the components by name, in the user's units."""
        return self.family.describe(self.parameters, *self.units)

    def n_parameters(self) -> int:
        """Number of free parameters: those of the components, and their weights."""
        n_components = len(self.log_weights)
        return n_components * self.family.n_parameters() + n_components - 1

    def log_weighted(self, X: FloatArray) -> FloatArray:
        """Log of weight times density of each component (columns) for each row."""
        return np.concatenate(list(self._scores(X)))

    def best(self, X: FloatArray) -> IntArray:
        """The component that each row most probably comes from."""
        return np.concatenate([np.argmax(scores, axis=1) for scores in self._scores(X)])

    def log_density(self, X: FloatArray) -> FloatArray:
        """Log density of each row."""
        return np.concatenate([np.logaddexp.reduce(scores, axis=1) for scores in self._scores(X)])

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """``n`` rows, sorted by component, and their components."""
        weights = np.exp(self.log_weights)
        labels = np.sort(rng.choice(len(weights), size=n, p=weights / weights.sum()))
        parts = [
            self.family.draw_rows(self.parameters[k], int(count), rng)
            for k, count in zip(*np.unique(labels, return_counts=True), strict=True)
        ]
        return self.units.restored(self.family, np.concatenate(parts)), labels

    def _scores(self, X: FloatArray) -> Iterator[FloatArray]:
        hyper = self.family.prepare()
        natural = np.zeros((len(self.log_weights), self.family.layout().statistics))
        naturals_of(hyper, self.parameters, natural)
        natural[:, 0] += self.log_weights
        for start in range(0, len(X), BLOCK):
            local, volumes = self.units.wide(self.family, X[start : start + BLOCK])
            statistics = np.empty((len(local), natural.shape[1]))
            row_statistics_of(hyper, local, statistics)
            yield statistics @ natural.T - volumes[:, None]


@dataclass(frozen=True)
class SampledDensity:
    """A mixture averaged over draws of the partition of the rows into at most ``n_components`` clusters.

    Attributes
    ----------
    n_components, n_used : int
        Number of components, and of those that have rows.
    probabilities : callable
        Probabilities of the clusters that have rows and, in the last column, of all other components together.
    averaged : callable
        Log density of each row, averaged over the draws.
    draw : callable
        ``n`` rows and their clusters, -1 for a component without rows.
    """

    n_components: int
    n_used: int
    probabilities: Callable[[FloatArray], FloatArray]
    averaged: Callable[[FloatArray], FloatArray]
    draw: Callable[[int, np.random.Generator], tuple[FloatArray, IntArray]]

    def log_weighted(self, X: FloatArray) -> FloatArray:
        """Log of the probability of each component times the density of the row.

        Components without rows are alike and share the rest of the probability.
        """
        n_empty = self.n_components - self.n_used
        given = self.probabilities(X)
        shared = np.repeat(given[:, -1:] / max(n_empty, 1), n_empty, axis=1)
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([given[:, :-1], shared], axis=1))
        return logs + self.averaged(X)[:, None]

    def best(self, X: FloatArray) -> IntArray:
        """The component that each row most probably comes from."""
        return np.argmax(self.probabilities(X)[:, : self.n_used], axis=1)

    def log_density(self, X: FloatArray) -> FloatArray:
        """Log density of each row, averaged over the draws."""
        return self.averaged(X)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """``n`` rows and their components."""
        rows, labels = self.draw(n, rng)
        other = labels < 0
        if other.any():
            labels = np.where(other, rng.integers(self.n_used, self.n_components, n), labels)
        return rows, labels
