"""New rows under a partition: the mixture of cluster predictives and the weight of a new cluster.

Raykov et al. 2016, section 3.2: p(x | partition) = sum_k w_k p(x | rows of k) + w_new p(x), with the weights
that the prior gives to row N + 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chains.draws import Draws, flat
from ...families import verbs
from ...families.base import Cluster, refresh_all
from ...families.learnable import Offsets
from ...partitions.parameter_sweep import parameters_of_rows
from ...partitions.scores import SeatsWithout, log_predictives_of, log_predictives_of_others, log_seat_weights
from ...partitions.seats import FloatArray, IntArray
from ...partitions.sums import NO_WEIGHTS, add_by_label
from ...priors.verbs import Prior
from .problem import Problem

# Draws of the missing cells that the statistics of a consensus cluster are averaged over.
AVERAGED = 20
# Rows of the fit that are scored at a time.
BLOCK = 4096


class Predictor:
    """Clusters of a partition of training rows, ready to score new ones.

    Parameters
    ----------
    problem : Problem
        The training rows with their family and prior.
    missing : array (draw, cell), optional
        Missing cells as an engine drew them, in the order of ``problem.missing``, in the user's units.
    """

    def __init__(self, problem: Problem, missing: NDArray[Any] | None = None) -> None:
        self._problem = problem
        self._missing = missing

    @classmethod
    def of(cls, problem: Problem, draws: Draws) -> Predictor:
        """The predictor of draws of a problem."""
        if "missing" not in draws:
            return cls(problem)
        return cls(problem, flat(draws, "missing"))

    def tuned(self, log_factors: Offsets) -> Predictor:
        """The same clusters with hyperparameters moved, see ``Family.with_tuned``."""
        return Predictor(self._problem.tuned(log_factors), self._missing)

    def log_density(self, X_new: FloatArray, draws: Draws, at_most: int) -> FloatArray:
        """Log predictive density of new rows, averaged over at most so many draws."""
        local, volumes = self._local(X_new)
        return self._average(local, draws, at_most) - volumes

    def log_density_of_local(self, rows: FloatArray, draws: Draws, at_most: int) -> FloatArray:
        """The same for rows as kernels take them, in the units of the arithmetic."""
        return self._average(rows, draws, at_most)

    def _average(self, local: FloatArray, draws: Draws, at_most: int) -> FloatArray:
        total, n_draws = np.full(len(local), -np.inf), 0
        for predictor, labels, prior, draw in self._each(draws, at_most):
            scores = predictor._scores(local, labels, prior, draw)
            total = np.logaddexp(total, np.logaddexp.reduce(scores, axis=1))
            n_draws += 1
        return total - np.log(n_draws)

    def _each(self, draws: Draws, at_most: int) -> Iterator[tuple[Predictor, NDArray[Any], Prior, int]]:
        """At most so many draws, evenly spaced: the predictor, the labels and the prior of each, and its number."""
        labels, prior = flat(draws, "labels"), self._problem.prior
        numbers = {name: flat(draws, name) for name in prior.learned_names}
        factors = {name: flat(draws, f"log_factors/{name}") for name in draws.group("log_factors")}
        n_draws = len(labels)
        for draw in np.linspace(0, n_draws - 1, min(n_draws, at_most)).astype(np.int64):
            predictor = self.tuned({name: logs[draw] for name, logs in factors.items()}) if factors else self
            fixed = prior.with_numbers({name: drawn[draw] for name, drawn in numbers.items()})
            yield predictor, labels[draw], fixed, int(draw)

    def each_left_out(self, draws: Draws, at_most: int) -> FloatArray:
        """``left_out`` (draw, row) at the partitions of at most so many draws."""
        return np.array(
            [predictor.left_out(labels, prior, draw) for predictor, labels, prior, draw in self._each(draws, at_most)]
        )

    def _local(self, X_new: FloatArray) -> tuple[FloatArray, FloatArray]:
        """New rows as kernels take them, and what their log densities in the user's units lose."""
        return self._problem.table.units.wide(self._problem.family, X_new)

    def left_out(self, labels: NDArray[Any], prior: Prior, draw: int | None = None) -> FloatArray:
        """Log density of each row given the clusters that the others are in."""
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        problem, seats = self._problem, SeatsWithout.of(prior, labels)
        clusters = self.clusters(labels, draw)
        completed = None if self._missing is None or draw is None else problem.completed(self._missing[draw])
        out = np.empty(len(labels))
        for start in range(0, len(labels), BLOCK):
            part = slice(start, start + BLOCK)
            rows = problem.table.block(part) if completed is None else completed[part]
            scores = np.empty((len(rows), len(clusters.statistics)))
            log_predictives_of(problem.hyper, *clusters, rows, scores)
            mine, place = labels[part], np.arange(len(rows))
            others = np.full(len(rows), -np.inf)
            log_predictives_of_others(problem.hyper, *clusters, rows, mine, others)
            scores[:, :-1] += seats.groups
            scores[:, -1] += seats.new[part]
            scores[place, mine] = others + seats.own[part]
            out[part] = np.logaddexp.reduce(scores, axis=1) - seats.total[part]
        return out - problem.log_volumes

    def clusters(self, labels: NDArray[Any], draw: int | None = None) -> Cluster:
        """The clusters of ``labels`` and, last, an empty one.

        Missing cells that an engine drew are those of the given draw; without one, the statistics are means over
        some of the draws.
        """
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        family, hyper = self._problem.family, self._problem.hyper
        clusters = family.allocate(int(labels.max()) + 2)
        if self._missing is None or self._missing.shape[1] == 0:
            add_by_label(hyper, self._problem.rows, NO_WEIGHTS, labels, clusters.statistics, clusters.work)
            refresh_all(hyper, *clusters)
            return clusters
        last = len(self._missing) - 1
        some = np.unique(np.linspace(0, last, AVERAGED).astype(np.int64)) if draw is None else [draw]
        total = np.zeros_like(clusters.statistics)
        for number in some:
            completed = self._problem.completed(self._missing[number])
            add_by_label(hyper, completed, NO_WEIGHTS, labels, total, clusters.work)
        clusters.statistics[:] = total / len(some)
        refresh_all(hyper, *clusters)
        return clusters

    def draw_missing(self, labels: NDArray[Any], draw: int, rng: np.random.Generator) -> FloatArray:
        """The rows in the user's units with every missing cell drawn, given the clusters of one draw."""
        problem, X = self._problem, self._problem.X
        drawn = self._draw_rows(labels, draw, rng, np.flatnonzero(np.isnan(X).any(axis=1)))
        if self._missing is not None:
            drawn[problem.missing.rows, problem.missing.columns] = problem.table.local_cells(self._missing[draw])
        rows = drawn * problem.scale + problem.shift
        return problem.family.restore(np.where(np.isnan(X), rows, X))

    def replicate(self, labels: NDArray[Any], draw: int, rng: np.random.Generator) -> FloatArray:
        """Rows of the same clusters, drawn anew given the parameters that these may have; missing where rows are."""
        problem = self._problem
        drawn = self._draw_rows(labels, draw, rng, np.arange(problem.n_rows))
        drawn[np.isnan(problem.X)] = np.nan
        return problem.family.restore(drawn * problem.scale + problem.shift)

    def _draw_rows(self, labels: NDArray[Any], draw: int, rng: np.random.Generator, which: IntArray) -> FloatArray:
        """The rows in the units of the arithmetic, some of them drawn from the clusters of one draw."""
        problem = self._problem
        clusters = self.clusters(labels, draw)
        parameters = np.zeros((len(clusters.statistics), problem.layout.parameters))
        drawn = problem.local(problem.X)
        for k in np.unique(labels[which]):
            verbs.draw_parameters(problem.hyper, clusters.statistics, clusters.cache, k, rng, parameters)
            members = which[labels[which] == k]
            drawn[members] = problem.family.draw_rows(parameters[k], len(members), rng)
        return drawn

    def log_weighted(
        self, X_new: FloatArray, labels: NDArray[Any], prior: Prior, draw: int | None = None
    ) -> FloatArray:
        """Log of weight times predictive: one column per cluster of ``labels``, the last one for a new cluster."""
        local, volumes = self._local(X_new)
        return self._scores(local, labels, prior, draw) - volumes[:, None]

    def _scores(self, local: FloatArray, labels: NDArray[Any], prior: Prior, draw: int | None) -> FloatArray:
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        out = np.empty((len(local), int(labels.max()) + 2))
        log_predictives_of(self._problem.hyper, *self.clusters(labels, draw), local, out)
        return out + log_seat_weights(prior, labels)

    def sample_cluster(self, labels: NDArray[Any], k: int, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` rows from cluster ``k``, each with parameters of its own; k = number of clusters is a new one."""
        problem = self._problem
        width = problem.layout.parameters
        drawn = parameters_of_rows(problem.hyper, self.clusters(labels), k, n, width, rng)
        rows = np.array([problem.family.draw_rows(parameters, 1, rng)[0] for parameters in drawn])
        return problem.table.units.restored(problem.family, rows)


@dataclass(frozen=True)
class ByPartition:
    """What draws of the partition of some rows predict for new ones.

    Attributes
    ----------
    problem : Problem
        The rows that were clustered, before any hyperparameter was learned.
    log_factors : dict
        Offsets of the hyperparameters that clusters of ``labels`` are asked with.
    draws : Draws
    labels : array of int
        The clustering that clusters are named by.
    prior : Prior
        With all numbers fixed; used with ``labels``.
    at_most : int
        Draws that a density is averaged over.
    """

    problem: Problem
    log_factors: Offsets
    draws: Draws
    labels: IntArray
    prior: Prior
    at_most: int

    def log_weighted(self, X_new: FloatArray) -> FloatArray:
        """Log of weight times predictive: one column per cluster of ``labels``, the last one for a new cluster."""
        return self._at_labels().log_weighted(X_new, self.labels, self.prior)

    def log_density(self, X_new: FloatArray) -> FloatArray:
        """Log predictive density of each row, averaged over draws."""
        return Predictor.of(self.problem, self.draws).log_density(X_new, self.draws, self.at_most)

    def _at_labels(self) -> Predictor:
        return Predictor.of(self.problem.tuned(self.log_factors), self.draws)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """``n`` rows, sorted by cluster, and their clusters; -1 is a new one."""
        predictor = self._at_labels()
        weights = np.exp(log_seat_weights(self.prior, self.labels))
        chosen = np.sort(rng.choice(len(weights), size=n, p=weights / weights.sum()))
        parts = [
            predictor.sample_cluster(self.labels, int(k), int(count), rng)
            for k, count in zip(*np.unique(chosen, return_counts=True), strict=True)
        ]
        return np.concatenate(parts), np.where(chosen == len(weights) - 1, -1, chosen)
