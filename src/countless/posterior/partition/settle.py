"""Wavering rows go home: a clustering for people has no cluster whose rows rarely share it.

Least expected loss may put a row that wavers between clusters into a cluster of its own, and rows that no two draws
group alike into as many clusters as it is allowed. Here a cluster is *settled* if two of its rows, chosen at random,
are together in at least half of the draws; a cluster of one row, if that row is alone in at least half of them. Each
row of an unsettled cluster moves to the cluster that is most probable for it by the measure of ``certainty.py``: that a
companion of the row, chosen at random in a draw chosen at random, belongs to it. It stays where no other cluster is
more probable than its own. This repeats until no row moves.

It ends. With w_ij the mean over draws of 1 / (|D(i)| - 1) where i and j are together, the probability of cluster k for
row i is the sum of w_ij over the rows j of k. So each move raises the sum of w_ij over all pairs that share a cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.jit import kernel
from ...core.validate import by_first_appearance
from .draws import FloatArray, IntArray, thinned

# Share of the draws in which the rows of a cluster must be together.
SETTLED = 0.5
# Draws that are used at least, and labels (row, draw) beyond which no more of them are.
FEWEST = 300
MOST_LOOKED_AT = 4_000_000
# Pairs (cluster of a draw, cluster of the labelling), 4 bytes each.
MOST_CELLS = 25_000_000
# Probabilities that differ by less than this are equal; so every move is a real gain.
ALIKE = 1e-9


class Table(NamedTuple):
    """Overlaps of a clustering with the clusters of all draws ("cells").

    ``cells`` (row, draw) is the cell of each row, ``counts`` (cell, cluster) the number of rows that they share,
    ``companions`` the number of companions of a row in each cell, ``alone`` the share of the draws in which each row
    has none. ``labels``, ``sizes`` and ``counts`` change as rows move.
    """

    cells: NDArray[np.int32]
    labels: IntArray
    sizes: IntArray
    counts: NDArray[np.int32]
    companions: IntArray
    alone: FloatArray

    @classmethod
    def of(cls, labels: IntArray, draws: NDArray[Any]) -> Table:
        n_clusters = int(labels.max()) + 1
        widths = draws.max(axis=1).astype(np.int64) + 1
        offsets = np.concatenate([[0], np.cumsum(widths)])
        cells = np.empty(draws.shape[::-1], dtype=np.int32)
        for m, draw in enumerate(draws):
            cells[:, m] = draw.astype(np.int64) + offsets[m]
        counts = np.zeros((offsets[-1], n_clusters), dtype=np.int32)
        _count(cells, labels, counts)
        companions = counts.sum(axis=1, dtype=np.int64) - 1
        alone = np.empty(len(labels))
        _share_alone(cells, companions, alone)
        return cls(cells, labels.copy(), np.bincount(labels), counts, companions, alone)

    def together(self, k: int) -> float:
        """Share of the draws in which two rows of cluster ``k`` are together, or its only row is alone."""
        size = int(self.sizes[k])
        if size == 1:
            return float(self.alone[np.flatnonzero(self.labels == k)[0]])
        shared = self.counts[:, k].astype(np.int64)
        return float((shared * (shared - 1)).sum()) / (self.cells.shape[1] * size * (size - 1.0))


def settle(labels: NDArray[Any], draws: NDArray[Any]) -> IntArray:
    """The clustering after rows of unsettled clusters have gone to where they are most of the time.

    Parameters
    ----------
    labels : array of int (row,)
    draws : array of int (draw, row)

    Examples
    --------
    The third row is with the first two in five draws and with the last two in four:

    >>> import numpy as np
    >>> from countless.posterior.partition.settle import settle
    >>> draws = np.array([[0, 0, 0, 1, 1]] * 5 + [[0, 0, 1, 1, 1]] * 4)
    >>> settle(np.array([0, 0, 1, 2, 2]), draws).tolist()
    [0, 0, 0, 1, 1]
    """
    own = by_first_appearance(labels)
    table = Table.of(own, _affordable(draws, int(own.max()) + 1))
    moved = True
    while moved:
        moved = False
        # The smallest first: single rows go home before clusters that they may belong to are judged.
        for k in np.argsort(table.sizes, kind="stable"):
            if table.sizes[k] and table.together(k) < SETTLED:
                moved |= _send_home(table, np.flatnonzero(table.labels == k)) > 0
    return by_first_appearance(table.labels)


def _affordable(draws: NDArray[Any], n_clusters: int) -> NDArray[Any]:
    """As many draws, evenly spaced, as there is time and memory for."""
    fits = MOST_CELLS / (n_clusters * (float(draws.max(axis=1).mean()) + 1.0))
    return thinned(draws, int(max(1.0, min(fits, max(FEWEST, MOST_LOOKED_AT // draws.shape[1])))))


@kernel
def _count(cells, labels, counts):
    for i in range(cells.shape[0]):
        for m in range(cells.shape[1]):
            counts[cells[i, m], labels[i]] += 1


@kernel
def _share_alone(cells, companions, alone):
    for i in range(cells.shape[0]):
        count = 0
        for m in range(cells.shape[1]):
            count += companions[cells[i, m]] == 0
        alone[i] = count / cells.shape[1]


@kernel
def _send_home(table, rows):
    """Move each of ``rows``, which are of one cluster, to the most probable one; return how many moved."""
    n_draws, n_clusters = table.cells.shape[1], table.counts.shape[1]
    share = np.empty(n_clusters)
    moved = 0
    for i in rows:
        own = table.labels[i]
        share[:] = 0.0
        for m in range(n_draws):
            cell = table.cells[i, m]
            if table.companions[cell] > 0:
                line, each = table.counts[cell], 1.0 / table.companions[cell]
                for k in range(n_clusters):
                    share[k] += each * line[k]
                share[own] -= each  # the row is no companion of its own
        stay = share[own] / n_draws if table.sizes[own] > 1 else table.alone[i]
        share[own] = -1.0
        home = int(np.argmax(share))
        if share[home] / n_draws > stay + ALIKE:
            for m in range(n_draws):
                table.counts[table.cells[i, m], own] -= 1
                table.counts[table.cells[i, m], home] += 1
            table.sizes[own] -= 1
            table.sizes[home] += 1
            table.labels[i] = home
            moved += 1
    return moved
