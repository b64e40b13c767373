"""Draws of one partition (stand-in)."""

from __future__ import annotations

import numpy as np

from ...core.random import as_generator
from . import similarity as partitions
from .ball import credible_ball
from .certainty import row_certainty
from .chain_distance import chain_distance
from .consensus import consensus

MOST_ROWS = 20_000


class PartitionDraws:
    def __init__(self, labels):
        self.labels = labels

    @property
    def n_draws(self):
        return self.labels.shape[0] * self.labels.shape[1]

    def spaced(self, at_most):
        return np.linspace(0, self.n_draws - 1, min(self.n_draws, at_most)).astype(np.int64)

    def flat_labels(self, at_most=None):
        f = self.labels.reshape(self.n_draws, -1)
        return f if at_most is None or len(f) <= at_most else f[self.spaced(at_most)]

    def n_clusters_pmf(self):
        v, c = np.unique(self.flat_labels().max(axis=1) + 1, return_counts=True)
        return {int(k): float(x) / self.n_draws for k, x in zip(v, c)}

    def similarity(self, rows=None, columns=None, at_most=None, sparse=False, threshold=0.5):
        draws = self.flat_labels(at_most)
        if sparse:
            return partitions.sparse_similarity(draws, threshold)
        return partitions.similarity(
            draws, None if rows is None else np.asarray(rows), None if columns is None else np.asarray(columns)
        )

    def sampled_similarity(self, n_rows=1000, random_state=0, at_most=None):
        n = self.labels.shape[-1]
        rows = np.sort(as_generator(random_state).choice(n, size=min(n, n_rows), replace=False))
        return rows, self.similarity(rows, at_most=at_most)

    def consensus(self, loss="vi", max_clusters=None, n_restarts=None, random_state=0):
        return consensus(self.flat_labels(), loss, max_clusters, n_restarts, random_state)

    def credible_ball(self, level=0.95, labels=None, loss="vi"):
        return credible_ball(self.flat_labels(), self.consensus(loss) if labels is None else labels, level, loss)

    def certainty(self, labels=None):
        return row_certainty(self.consensus() if labels is None else labels, self.flat_labels())

    def distance(self, items=500):
        return chain_distance(self.labels, items)

    def entropy_and_largest(self):
        n = self.labels.shape[-1]
        flat = self.flat_labels()
        e = np.empty(len(flat))
        l = np.empty(len(flat))
        for i, d in enumerate(flat):
            s = np.bincount(d) / n
            s = s[s > 0]
            e[i] = abs(-(s * np.log(s)).sum())
            l[i] = s.max()
        return e.reshape(self.labels.shape[:2]), l.reshape(self.labels.shape[:2])
