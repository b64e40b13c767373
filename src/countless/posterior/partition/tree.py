r"""Which clusters overlap, and which groups they form: components of a mixture are not always groups that people see.

A long tail or a round edge takes several clusters of a simple shape that lie in one cloud. With the density
:math:`f = \sum_k w_k f_k` of a new row and the probability :math:`t_k(x) = w_k f_k(x) / f(x)` that it is of cluster k,

.. math:: M_{ij} = E_f[t_i(x) t_j(x)], \qquad \text{overlap}_{ij} = \frac{M_{ij}}{\min(w_i, w_j)}

is the chance that a new row of the smaller cluster, when its cluster is drawn by its probabilities, is taken for one of
the other (the misclassification probabilities of Hennig 2010, without hard assignments). M is additive: that of a union
is the sum of its rows and columns. The two clusters that overlap most join first, as in Baudry et al. (2010).

References
----------
Hennig 2010, *Methods for merging Gaussian mixture components*, Advances in Data Analysis and Classification 4, 3-34.
Baudry, Raftery, Celeux, Lo and Gottardo 2010, *Combining mixture components for clustering*, Journal of Computational
and Graphical Statistics 19, 332-353.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...core.validate import by_size, whole_number

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Clusters that overlap by this much are one group by default. The two halves of a flat stretch, between which the
# density has no valley, look like Gaussians whose centres are 12^(1/2) standard deviations apart: they overlap by
# 0.062.
OVERLAP = 0.05
# New rows that overlaps are averaged over, fewer of them where rows are wide; and what they are drawn with, so that a
# fit has one tree.
MOST_ROWS, FEWEST_ROWS, MOST_CELLS = 4000, 500, 400_000
SEED = 20100215


class Mixture(Protocol):
    """A mixture of clusters, and perhaps of something else that comes last."""

    def sample(self, n: int, rng: np.random.Generator, /) -> tuple[FloatArray, IntArray]:
        """Rows and their clusters; -1 is none of them."""

    def log_weighted(self, X: FloatArray, /) -> FloatArray:
        """Log of weight times density of each cluster (columns) for each row."""


@dataclass(frozen=True)
class ClusterTree:
    """Clusters that join two by two, those that overlap most first.

    Attributes
    ----------
    weights : array (K,)
        Share of new rows that each cluster has.
    joins : array of int (K - 1, 2)
        The two that join in each step: clusters are 0 to K - 1, what step s made is K + s.
    overlaps : array (K - 1,)
        How much the two overlap, from 0 (apart) to 1 (one lies within the other).

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> X = np.random.default_rng(0).uniform(size=(300, 2)) + np.repeat([[0.0], [9.0]], 150, axis=0)
    >>> tree = cl.DPMixture(inference="map", random_state=0).fit(X).posterior_.tree()
    >>> tree.n_groups()
    2
    """

    weights: FloatArray
    joins: IntArray
    overlaps: FloatArray

    @classmethod
    def of(cls, shares: FloatArray) -> ClusterTree:
        """The tree from probabilities of the clusters (columns) for rows that were drawn from the mixture.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.tree import ClusterTree
        >>> tree = ClusterTree.of(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
        >>> tree.joins.tolist(), tree.overlaps.tolist()
        ([[0, 1], [2, 3]], [0.5, 0.0])
        """
        together = shares.T @ shares / len(shares)
        n_clusters = len(together)
        weights = together.sum(axis=1)
        nodes = list(range(n_clusters))
        joins, overlaps = np.empty((n_clusters - 1, 2), dtype=np.int64), np.empty(n_clusters - 1)
        for step in range(n_clusters - 1):
            i, j, overlaps[step] = _most_overlapping(together)
            joins[step] = sorted((nodes[i], nodes[j]))
            together[i] += together[j]
            together[:, i] += together[:, j]
            together = np.delete(np.delete(together, j, axis=0), j, axis=1)
            nodes[i] = n_clusters + step
            del nodes[j]
        return cls(weights, joins, overlaps)

    @classmethod
    def of_mixture(cls, mixture: Mixture, n_clusters: int) -> ClusterTree:
        """The tree of the clusters of a mixture, from rows that are drawn from it."""
        rng = np.random.default_rng(SEED)
        width = mixture.sample(1, rng)[0].shape[1]
        rows, labels = mixture.sample(max(FEWEST_ROWS, min(MOST_ROWS, MOST_CELLS // width)), rng)
        scores = mixture.log_weighted(rows[labels >= 0])[:, :n_clusters]
        return cls.of(np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)))

    @property
    def n_clusters(self) -> int:
        """Number of clusters, the leaves of the tree."""
        return len(self.weights)

    @property
    def levels(self) -> FloatArray:
        """Height of each step in a drawing, 1 where the two are apart: no step is lower than those before it."""
        return 1.0 - np.minimum.accumulate(self.overlaps)

    def linkage(self) -> FloatArray:
        """The tree as ``scipy.cluster.hierarchy`` has trees: the two that join, the level, the clusters below.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.tree import ClusterTree
        >>> ClusterTree.of(np.array([[0.5, 0.5], [0.5, 0.5]])).linkage().tolist()
        [[0.0, 1.0, 0.5, 2.0]]
        """
        below = [1] * self.n_clusters
        for i, j in self.joins.tolist():
            below.append(below[i] + below[j])
        return np.column_stack([self.joins, self.levels, below[self.n_clusters :]]).astype(np.float64)

    def n_groups(self, overlap: float = OVERLAP) -> int:
        """Groups that are left when all have joined that overlap at least so much.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.tree import ClusterTree
        >>> ClusterTree.of(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])).n_groups()
        2
        """
        if not 0.0 < overlap <= 1.0:
            raise ValueError(f"overlap must be above 0 and at most 1, got {overlap!r}")
        apart = np.flatnonzero(self.overlaps < overlap)
        return self.n_clusters - (int(apart[0]) if len(apart) else len(self.overlaps))

    def groups(self, n_groups: int | None = None, overlap: float = OVERLAP) -> IntArray:
        """Group of each cluster, numbered by weight, the largest first.

        Parameters
        ----------
        n_groups : int, optional
            How many groups; default, those that overlap by less than ``overlap``.
        overlap : float

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.tree import ClusterTree
        >>> tree = ClusterTree.of(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
        >>> tree.groups().tolist(), tree.groups(1).tolist()
        ([0, 0, 1], [0, 0, 0])
        """
        wanted = self.n_groups(overlap) if n_groups is None else whole_number("n_groups", n_groups, 1)
        if wanted > self.n_clusters:
            raise ValueError(f"n_groups: there are {self.n_clusters} clusters to make groups of, got {wanted}")
        member = np.arange(self.n_clusters)
        for step in range(self.n_clusters - wanted):
            member[np.isin(member, self.joins[step])] = self.n_clusters + step
        return by_size(np.unique(member, return_inverse=True)[1].astype(np.int64), self.weights)


def _most_overlapping(together: FloatArray) -> tuple[int, int, float]:
    """The two clusters that overlap most, and how much."""
    weights = np.maximum(together.sum(axis=1), 1e-300)
    overlap = together / np.minimum(weights[:, None], weights)
    np.fill_diagonal(overlap, -1.0)
    i, j = sorted(divmod(int(overlap.argmax()), len(overlap)))
    return i, j, float(overlap[i, j])
