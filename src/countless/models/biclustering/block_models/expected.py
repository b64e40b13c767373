r"""What mean field asks of a block model: a lower bound on the expected log evidence, and its slopes.

Shares say with which probability each item is in each cluster, rows and columns independently. Where the evidence of a
block is the normaliser of an exponential family, log of the integral of p(theta) exp <s, eta(theta)>, it is convex in
the statistics s, so that it is at least its value at the expected statistics (Jensen), and the slope there is the
expected natural parameter: one more item adds the inner product of its own statistics with it.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....core.jit import kernel
from ....partitions.seats import FloatArray

# Shares below this, or as near to one, are certain; so are counts of such a probability impossible.
CERTAIN, IMPOSSIBLE = 1e-16, 1e-22


class SoftSide:
    """Shares of the items of one side in its clusters.

    Parameters
    ----------
    shares : array (item, cluster)
        Each row adds up to one.
    weights : array (item,)
    """

    def __init__(self, shares: FloatArray, weights: FloatArray) -> None:
        self.shares = shares
        self.weights = weights

    @cached_property
    def sizes(self) -> FloatArray:
        """Expected number of items of each cluster."""
        return np.asarray(self.shares.sum(axis=0))

    @cached_property
    def mass(self) -> FloatArray:
        """Expected mass of each cluster."""
        return np.asarray(self.weights @ self.shares)

    @cached_property
    def entropy(self) -> float:
        """Of the labels of all items."""
        logs = np.log(np.where(self.shares > 0.0, self.shares, 1.0))
        return -float(np.sum(self.shares * logs))

    @cached_property
    def _log_absent(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log1p(-np.minimum(self.shares, 1.0)))

    @cached_property
    def chance(self) -> FloatArray:
        """Probability that a cluster has any items."""
        return np.asarray(-np.expm1(self._log_absent.sum(axis=0)))

    def chance_of_no_other(self) -> FloatArray:
        """Probability, for each item, that a cluster has no other items."""
        certain = np.isneginf(self._log_absent)
        finite = np.where(certain, 0.0, self._log_absent)
        others_certain = certain.sum(axis=0) - certain
        return np.where(others_certain > 0, 0.0, np.exp(finite.sum(axis=0) - finite))

    @cached_property
    def size_law(self) -> FloatArray:
        """Probability of each size, 0, 1, 2, ..., of each cluster: (cluster, size)."""
        out = np.zeros((self.shares.shape[1], len(self.shares) + 1))
        _size_laws(np.ascontiguousarray(self.shares.T), out)
        return out


class SoftBlocks(NamedTuple):
    """Expected statistics of all blocks (row cluster, column cluster, S), and both sides."""

    blocks: FloatArray
    sides: tuple[SoftSide, SoftSide]


class Slopes(NamedTuple):
    """A lower bound on the expected sum over blocks and clusters, and how it changes with the shares.

    Attributes
    ----------
    value : float
    blocks : array (row cluster, column cluster, S)
        By the statistics of blocks.
    masses : tuple of two arrays (cluster,)
        By the masses of clusters, where statistics stay.
    items : tuple of two arrays (item, cluster), or None
        By shares themselves, where statistics and masses stay. Where there is none, the bound is linear in the shares
        of one side given the slopes, so that all of them may be set at once.
    """

    value: float
    blocks: FloatArray
    masses: tuple[FloatArray, FloatArray]
    items: tuple[FloatArray, FloatArray] | None = None


@kernel
def _size_laws(shares, out):
    """Counts of independent events (Poisson-binomial laws), one event after the other."""
    n_clusters, n = shares.shape
    for k in range(n_clusters):
        certain, most = 0, 0
        law = out[k]
        law[0] = 1.0
        for i in range(n):
            p = shares[k, i]
            if p > 1.0 - CERTAIN:
                certain += 1
            elif p > CERTAIN:
                most += 1
                for a in range(most, 0, -1):
                    law[a] = law[a] * (1.0 - p) + law[a - 1] * p
                law[0] *= 1.0 - p
                while most > 0 and law[most] < IMPOSSIBLE:
                    law[most] = 0.0
                    most -= 1
        for a in range(most, -1, -1):
            value = law[a]
            law[a] = 0.0
            law[a + certain] = value
