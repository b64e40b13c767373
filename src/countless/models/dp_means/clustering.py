"""A hard clustering on its way to the least J: labels, the sums of each cluster, and J as it falls.

``settle.py`` moves it by passes over the rows, ``descent.py`` by single rows, joins and halves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...partitions.seeding import Seeds, scatter_seeds
from .divergences import FloatArray, IntArray, Price, count_term
from .moves import SeedRows
from .rows import Pass, WeightedRows

# A change of J below this share of it is rounding error, or not worth a pass.
MARGIN = 1e-9


@dataclass(frozen=True)
class Objective:
    """What J is made of; ``n_clusters`` fixes the number of clusters, and the penalty then only shifts J.

    With ``splits`` clusters may be halved; otherwise they open at single rows only.
    """

    penalty: float = 0.0
    count_weight: float = 0.0
    n_clusters: int | None = None
    splits: bool = True

    @property
    def fixed(self) -> bool:
        """Whether the number of clusters is given."""
        return self.n_clusters is not None

    def price(self, total: float) -> Price:
        """The same for kernels, with the weight of all rows."""
        return Price(float(self.penalty), float(self.count_weight), total, self.fixed)


@dataclass
class HardClustering:
    """Rows divided into clusters, which moves change in place.

    Attributes
    ----------
    data : WeightedRows
    objective : Objective
    labels : array of int
        Cluster of each row; -1 as long as rows wait for their first pass.
    sums : array (cluster, width)
        Sums of each cluster, see ``Divergence``.
    within : float
        Total weighted divergence of the rows from the means of their clusters.
    trace : list of float
        J after each step.
    n_iter : int
        Passes over the rows so far.
    """

    data: WeightedRows
    objective: Objective
    labels: IntArray
    sums: FloatArray
    within: float = np.inf
    trace: list[float] = field(default_factory=list)
    n_iter: int = 0

    @classmethod
    def of_seeds(
        cls, data: WeightedRows, objective: Objective, n_seeds: int, rng: np.random.Generator
    ) -> HardClustering:
        """Scattered rows as centres; no row has a cluster yet."""
        seeds = Seeds.allocate(n_seeds, len(data))
        found = scatter_seeds(SeedRows(data.measure.divergence, data.rows), rng, data.weights, 1, 0.0, seeds)
        return cls.of_sums(data, objective, np.stack([data.single(i) for i in seeds.rows[:found]]))

    @classmethod
    def of_sums(cls, data: WeightedRows, objective: Objective, sums: FloatArray) -> HardClustering:
        """Clusters that have centres but no rows yet."""
        return cls(data, objective, np.full(len(data), -1, dtype=np.int64), sums)

    @classmethod
    def of_labels(cls, data: WeightedRows, objective: Objective, labels: IntArray) -> HardClustering:
        """Clusters with these rows."""
        clustering = cls(data, objective, labels, np.zeros((int(labels.max()) + 1, data.measure.width)))
        clustering.recount()
        clustering.note()
        return clustering

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.sums)

    def means(self) -> FloatArray:
        """Sums divided by weights; the centres are their first columns."""
        return self.sums / self.sums[:, :1]

    def value(self) -> float:
        """J."""
        return self.within + self.objective.penalty * self.n_clusters + self.count_cost(self.sums[:, 0])

    def count_cost(self, weights: FloatArray) -> float:
        """The term of J with the counts, for clusters of these weights."""
        if self.objective.count_weight == 0.0:
            return 0.0
        price = self.objective.price(self.data.total)
        return float(sum(count_term(price, n) for n in weights))

    def note(self) -> None:
        """Append J to its trace."""
        self.trace.append(self.value())

    def recount(self) -> None:
        """Compute sums and divergence from the rows, free of the rounding errors of updates."""
        self.sums = self.data.sums(self.labels, self.n_clusters)
        self.within = self.own_pass().cost

    def own_pass(self) -> Pass:
        """Divergences of rows from the means of their clusters: their total, and the largest in each cluster."""
        return self.data.cost_of(self.means(), self.labels)

    def close(self, kept: NDArray[np.bool_]) -> None:
        """Drop the clusters that are not ``kept``; they have no rows."""
        number = np.cumsum(kept) - 1
        self.labels[:] = number[self.labels]
        self.sums = np.ascontiguousarray(self.sums[kept])

    def saving(self, k: int, pair: FloatArray) -> float:
        """By how much J falls, without the penalty, when cluster k becomes two clusters with the sums ``pair``."""
        counts = self.count_cost(self.sums[k : k + 1, 0]) - self.count_cost(pair[:, 0])
        return self.data.measure.union_cost(pair) + counts

    def divide(self, k: int, pair: FloatArray, second: IntArray, worth: float) -> bool:
        """Make the rows ``second`` of cluster k a cluster of their own if that saves more than ``worth``."""
        if not self.saving(k, pair) > worth * (1 + MARGIN):
            return False
        self.within -= self.data.measure.union_cost(pair)
        self.sums[k] = pair[0]
        self.labels[second] = self.n_clusters
        self.sums = np.concatenate([self.sums, pair[1:]])
        return True

    def without(self, k: int, i: int) -> FloatArray:
        """The sums of cluster k without row i, and of row i alone."""
        single = self.data.single(i)
        return np.stack([self.sums[k] - single, single])
