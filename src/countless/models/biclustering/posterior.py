"""The posterior of a biclustering: draws of the partitions of rows and of columns, and of hyperparameters."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...posterior.posterior import FloatArray, IntArray, Posterior
from .data import BiclusteringData
from .problem import Problem


class BiclusteringPosterior(Posterior):
    """Draws of both partitions, one row of arrays per chain; ``partition("row")`` and ``partition("column")`` ask them.

    Attributes
    ----------
    row_labels : array (chain, draw, row)
        Cluster of each row in each draw, numbered by first appearance.
    column_labels : array (chain, draw, column)
        The same for columns; those of the rows, where both are the same items.
    n_row_clusters, n_column_clusters : arrays (chain, draw)
    log_joint : array (chain, draw)
        Log of p(matrix, partitions), with the density of everything that is learned.
    hyperparameters : dict of arrays (chain, draw)
        Those of the block model that were learned.
    data : BiclusteringData
        The matrix, its model and priors.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> model = cl.InfiniteBiclustering(random_state=0).fit(np.kron(np.eye(2), np.ones((10, 8))))
    >>> model.posterior_.partition("column").consensus().tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    data: BiclusteringData

    @property
    def row_labels(self) -> NDArray[Any]:
        """Cluster of each row in each draw."""
        return self["row_labels"]

    @property
    def column_labels(self) -> NDArray[Any]:
        """Cluster of each column in each draw."""
        return self["row_labels" if self.data.tied else "column_labels"]

    @property
    def n_row_clusters(self) -> IntArray:
        """Number of row clusters of each draw."""
        return self["n_row_clusters"]

    @property
    def n_column_clusters(self) -> IntArray:
        """Number of column clusters of each draw."""
        return self["n_row_clusters" if self.data.tied else "n_column_clusters"]

    @cached_property
    def _problem(self) -> Problem:
        return self.data.problem()

    @cached_property
    def hyperparameters(self) -> dict[str, FloatArray]:
        """Learned hyperparameters of the block model in each draw, those that are numbers."""
        offsets = self.get("offsets")
        if offsets is None:
            return {}
        problem, found = self._problem, {}
        flat = offsets.reshape(-1, offsets.shape[-1])
        described = [problem.model.at(problem.law, each).describe() for each in flat]
        for name in self.data.model.left_open():
            if all(isinstance(each.get(name), float) for each in described):
                found[name] = np.array([each[name] for each in described]).reshape(self.shape)
        return found

    def quantities(self) -> dict[str, FloatArray]:
        """Numbers of each draw that no renumbering of clusters can change."""
        return {**super().quantities(), **self.hyperparameters}

    def typical_offsets(self) -> FloatArray:
        """Posterior mean of the offsets of learned hyperparameters."""
        offsets = self.get("offsets")
        return np.zeros(0) if offsets is None else np.asarray(offsets.mean(axis=(0, 1)))
