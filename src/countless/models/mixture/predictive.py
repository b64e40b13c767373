"""New rows under a partition: the mixture of cluster predictives and the weight of a new cluster.

Raykov et al. 2016, section 3.2: p(x | partition) = sum_k w_k p(x | rows of k) + w_new p(x), with the weights
that the prior gives to row N + 1.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.jit import kernel
from ...families import Family, localise, verbs
from ...families.arrays import log_volumes, require_squares
from ...families.base import Cluster, refresh_all
from ...posterior.data import Data
from ...priors import Prior
from .state import missing_cells

if TYPE_CHECKING:
    from ...posterior.posterior import Posterior

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


# Draws of the missing cells that the statistics of a consensus cluster are averaged over.
AVERAGED = 20


class Predictor:
    """Clusters of a partition of training rows, ready to score new ones.

    Parameters
    ----------
    X : array
        Training rows, in the user's units.
    family, prior : resolved objects
    fills : array (draw, cell), optional
        Missing cells as an engine drew them, in the order of ``missing_cells``.
    """

    def __init__(self, X: FloatArray, family: Family, prior: Prior, fills: NDArray[Any] | None = None) -> None:
        units = family.units(X)
        self._units = units
        self._X = X
        self._family, self._rows, _ = localise(family, X)
        self._fills: FloatArray | None = None
        if fills is not None:
            self._gaps = missing_cells(family, family.arrange(X))
            shift, scale = units if units is not None else (np.zeros(X.shape[1]), np.ones(X.shape[1]))
            at = self._gaps.columns
            self._fills = (fills - family.arrange(shift[None])[0, at]) / family.arrange(scale[None])[0, at]
        self._prior = prior
        self._hyper = self._family.prepare()

    def tuned(self, log_factors: Mapping[str, float]) -> Predictor:
        """The same clusters with hyperparameters multiplied, see ``Family.with_tuned``."""
        twin = copy.copy(self)
        twin._family = self._family.with_tuned(log_factors)
        twin._hyper = twin._family.prepare()
        return twin

    def log_density(self, X_new: FloatArray, posterior: Posterior, at_most: int) -> FloatArray:
        """Log predictive density of new rows, averaged over at most so many draws of a posterior.

        The predictor's family is the one that log factors of learned hyperparameters are relative to.
        """
        labels = posterior.labels.reshape(posterior.n_draws, -1)
        concentrations = posterior.concentration.reshape(-1)
        factors = posterior.flat_log_factors()
        picked = posterior.spaced(at_most)
        total = np.full(len(X_new), -np.inf)
        for draw in picked:
            predictor = self.tuned({name: float(logs[draw]) for name, logs in factors.items()}) if factors else self
            scores = predictor.log_weighted(X_new, labels[draw], float(concentrations[draw]), int(draw))
            total = np.logaddexp(total, np.logaddexp.reduce(scores, axis=1))
        return total - np.log(len(picked))

    def local(self, X_new: FloatArray) -> FloatArray:
        """New rows in the units of the arithmetic, as kernels take them."""
        if self._units is None:
            return self._family.widen(self._family.arrange(X_new))
        with np.errstate(over="ignore"):  # what overflows is named below
            local = np.ascontiguousarray((X_new - self._units[0]) / self._units[1])
        require_squares(local, X_new)
        return self._family.widen(self._family.arrange(local))

    def clusters(self, labels: NDArray[Any], draw: int | None = None) -> Cluster:
        """The clusters of ``labels`` and, last, an empty one.

        Missing cells that an engine drew are those of the given draw; without one, the statistics are means over
        some of the draws.
        """
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        clusters = self._family.allocate(int(labels.max()) + 2)
        if self._fills is None or self._fills.shape[1] == 0:
            _fill(self._hyper, *clusters, self._rows, labels)
            return clusters
        some = np.unique(np.linspace(0, len(self._fills) - 1, AVERAGED).astype(np.int64)) if draw is None else [draw]
        total = np.zeros_like(clusters.statistics)
        for number in some:
            clusters.statistics[:] = 0.0
            _fill(self._hyper, *clusters, self.completed(int(number)), labels)
            total += clusters.statistics
        clusters.statistics[:] = total / len(some)
        refresh_all(self._hyper, *clusters)
        return clusters

    def completed(self, draw: int) -> FloatArray:
        """The rows as kernels take them, with the missing cells of one draw."""
        if self._fills is None:
            return self._rows
        rows = self._rows.copy()
        rows[self._gaps.rows, self._gaps.places] = self._fills[draw]
        return rows

    def draw_missing(self, labels: NDArray[Any], draw: int, rng: np.random.Generator) -> FloatArray:
        """The rows in the user's units with every missing cell drawn, given the clusters of one draw."""
        clusters = self.clusters(labels, draw)
        parameters = np.zeros((len(clusters.statistics), self._family.layout().parameters))
        drawn = np.array(self._family.arrange(self._X))
        incomplete = np.isnan(drawn).any(axis=1)
        for k in np.unique(np.asarray(labels)[incomplete]):
            verbs.draw_parameters(self._hyper, clusters.statistics, clusters.cache, k, rng, parameters)
            members = np.flatnonzero(incomplete & (labels == k))
            drawn[members] = self._family.draw_rows(parameters[k], len(members), rng)
        if self._fills is not None:
            drawn[self._gaps.rows, self._gaps.columns] = self._fills[draw]
        rows = self._family.restore(drawn)
        if self._units is not None:
            rows = rows * self._units[1] + self._units[0]
        return np.where(np.isnan(self._X), rows, self._X)

    def log_weighted(
        self, X_new: FloatArray, labels: NDArray[Any], concentration: float, draw: int | None = None
    ) -> FloatArray:
        """Log of weight times predictive: one column per cluster of ``labels``, the last one for a new cluster."""
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        n_clusters = int(labels.max()) + 1
        clusters = self.clusters(labels, draw)
        out = np.empty((len(X_new), n_clusters + 1))
        score(self._hyper, *clusters, self.local(X_new), out)
        volumes = 0.0 if self._units is None else log_volumes(X_new, self._units[1])[:, None]
        return out + self.log_weights(labels, concentration) - volumes

    def log_weights(self, labels: IntArray, concentration: float) -> FloatArray:
        """Log probability that row N + 1 joins each cluster, or (last) a new one."""
        n_clusters = int(labels.max()) + 1
        prior = self._prior.with_concentration(concentration) if self._prior.is_learned else self._prior
        table = prior.table(len(labels) + 1, n_clusters + 1)
        sizes = np.bincount(labels, minlength=n_clusters)
        log_weights = np.append(np.log(sizes + table.offset), table.log_v[n_clusters + 1] - table.log_v[n_clusters])
        return log_weights - np.logaddexp.reduce(log_weights)

    def sample_cluster(self, labels: NDArray[Any], k: int, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` rows from cluster ``k``, each with parameters of its own; k = number of clusters is a new one."""
        clusters = self.clusters(labels)
        parameters = np.zeros((len(clusters.statistics), self._family.layout().parameters))
        drawn = []
        for _ in range(n):
            verbs.draw_parameters(self._hyper, clusters.statistics, clusters.cache, k, rng, parameters)
            drawn.append(self._family.draw_rows(parameters[k], 1, rng)[0])
        rows = self._family.restore(np.array(drawn))
        return rows if self._units is None else rows * self._units[1] + self._units[0]


@dataclass(frozen=True)
class ByPartition:
    """What draws of the partition of some rows predict for new ones.

    Attributes
    ----------
    data : Data
        The rows that were clustered, with their model.
    family : Family
        The same after its hyperparameters were learned.
    posterior : Posterior
    labels : array of int
        The clustering that clusters are named by.
    concentration : float
        Used with ``labels``.
    at_most : int
        Draws that a density is averaged over.
    """

    data: Data
    family: Family
    posterior: Posterior
    labels: IntArray
    concentration: float
    at_most: int

    def log_weighted(self, X_new: FloatArray) -> FloatArray:
        """Log of weight times predictive: one column per cluster of ``labels``, the last one for a new cluster."""
        return self._predictor(self.family).log_weighted(X_new, self.labels, self.concentration)

    def log_density(self, X_new: FloatArray) -> FloatArray:
        """Log predictive density of each row, averaged over draws."""
        return self._predictor(self.data.family).log_density(X_new, self.posterior, self.at_most)

    def _predictor(self, family: Family) -> Predictor:
        return Predictor(self.data.rows, family, self.data.prior, self.posterior.flat_fills())

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """``n`` rows, sorted by cluster, and their clusters; -1 is a new one."""
        predictor = self._predictor(self.family)
        weights = np.exp(predictor.log_weights(self.labels, self.concentration))
        chosen = np.sort(rng.choice(len(weights), size=n, p=weights / weights.sum()))
        parts = [
            predictor.sample_cluster(self.labels, int(k), int(count), rng)
            for k, count in zip(*np.unique(chosen, return_counts=True), strict=True)
        ]
        return np.concatenate(parts), np.where(chosen == len(weights) - 1, -1, chosen)


@kernel
def _fill(family, statistics, cache, work, rows, labels):
    for i in range(rows.shape[0]):
        verbs.row_statistics(family, rows[i], work)
        for s in range(statistics.shape[1]):
            statistics[labels[i], s] += work[s]
    for k in range(statistics.shape[0]):
        verbs.refresh(family, statistics, cache, k, work)


@kernel
def score(family, statistics, cache, work, rows, out):
    for i in range(rows.shape[0]):
        for k in range(statistics.shape[0]):
            out[i, k] = verbs.log_predictive(family, statistics, cache, k, rows[i], work)
