"""One pass over a block of rows with the centres kept fixed, as kernels: each row goes to its best centre.

There are two such kernels with the same arguments: one for any divergence, and one for squared distance that compares
only where it has to.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...core.jit import inner_kernel, kernel
from ...partitions.sums import add_row
from .divergences import FloatArray, IntArray, from_centre, single_sums


class Block(NamedTuple):
    """Rows that a kernel goes over.

    Attributes
    ----------
    rows : array (row, column)
    weights : array (row,)
    labels : array of int (row,)
        Changed in place; -1 where a row has no cluster yet.
    lower : array (row,)
        For squared distance: no other centre was nearer than this. Changed in place.
    """

    rows: FloatArray
    weights: FloatArray
    labels: IntArray
    lower: FloatArray


class Centres(NamedTuple):
    """Centres that a pass compares rows with.

    Attributes
    ----------
    means : array (cluster, width)
    offsets : array (cluster,)
        What a row pays in each cluster beside its divergence.
    slack : array (cluster,)
        How much nearer another centre may have come to the rows of each cluster since the last pass.
    n_new : int
        The last centres, so many, did not exist in the last pass.
    """

    means: FloatArray
    offsets: FloatArray
    slack: FloatArray
    n_new: int


class Tally(NamedTuple):
    """What a pass counts: change of the sums, and the largest weighted divergence in each cluster with its row."""

    change: FloatArray
    far: FloatArray
    far_row: IntArray

    @classmethod
    def allocate(cls, n_clusters: int, width: int) -> Tally:
        """An empty tally."""
        return cls(
            np.zeros((n_clusters, width)),
            np.full(n_clusters, -1.0),
            np.zeros(n_clusters, dtype=np.int64),
        )


@inner_kernel
def _relabel(divergence, block, i, new, change, work):
    """Move row ``i`` to cluster ``new``."""
    old = block.labels[i]
    single_sums(divergence, block.rows[i], block.weights[i], work)
    add_row(work, 1.0, change, new)
    if old >= 0:
        add_row(work, -1.0, change, old)
    block.labels[i] = new


@inner_kernel
def _note_cost(tally, k, cost, i):
    if cost > tally.far[k]:
        tally.far[k], tally.far_row[k] = cost, i


@kernel
def assign(divergence, block, centres, tally):
    """Give each row to the centre of least divergence plus offset; a tie changes nothing.

    Returns the total weighted divergence, and how many rows moved.
    """
    means, offsets = centres.means, centres.offsets
    work = np.zeros(tally.change.shape[1])
    total, moved = 0.0, 0
    for i in range(block.rows.shape[0]):
        row, old = block.rows[i], block.labels[i]
        best, least = old, math.inf
        if old >= 0:
            least = from_centre(divergence, row, means[old]) + offsets[old]
        for k in range(means.shape[0]):
            if k != old:
                value = from_centre(divergence, row, means[k]) + offsets[k]
                if value < least:
                    best, least = k, value
        if best != old:
            moved += 1
            _relabel(divergence, block, i, best, tally.change, work)
        cost = block.weights[i] * (least - offsets[best])
        total += cost
        _note_cost(tally, best, cost, i)
    return total, moved


@kernel
def assign_squared(divergence, block, centres, tally):
    """The same for squared distance.

    A row is compared with all centres only where ``lower`` does not rule the others out. That bound falls by the slack
    of the row's cluster when centres move (Hamerly 2010); it does not cover new centres, nor offsets that differ.
    """
    rows, labels, lower = block.rows, block.labels, block.lower
    means, offsets = centres.means, centres.offsets
    n_clusters = means.shape[0]
    flat, by_column, start_at = _by_column(means, offsets, rows.shape[1])
    square = np.empty(start_at.size)
    work = np.zeros(tally.change.shape[1])
    total, moved = 0.0, 0
    for i in range(rows.shape[0]):
        old = labels[i]
        best, nearest, bound = old, math.inf, 0.0
        if old >= 0:
            nearest = _square(rows, i, means, old)
            bound = lower[i] - centres.slack[old]
            if bound > 0.0:
                for k in range(n_clusters - centres.n_new, n_clusters):
                    gap = _square(rows, i, means, k)
                    if k != old and gap < bound * bound:
                        bound = math.sqrt(gap)
            lower[i] = bound
        if not (flat and bound > 0.0 and nearest < bound * bound):
            own, other, least, second = _two_nearest(rows[i], by_column, start_at, square, old, n_clusters)
            if least < own:
                best, nearest = other, least - offsets[other]
                lower[i] = math.sqrt(min(own, second)) if flat else 0.0
                moved += 1
                _relabel(divergence, block, i, best, tally.change, work)
            else:
                lower[i] = math.sqrt(least) if flat else 0.0
        cost = block.weights[i] * nearest
        total += cost
        _note_cost(tally, best, cost, i)
    return total, moved


@inner_kernel
def _square(rows, i, means, k):
    total = 0.0
    for j in range(rows.shape[1]):
        total += (rows[i, j] - means[k, 1 + j]) ** 2
    return total


@inner_kernel
def _by_column(means, offsets, d):
    """Whether all offsets are equal, and centres (column, cluster) and offsets padded to full strides."""
    n_clusters = means.shape[0]
    padded = (n_clusters + 3) // 4 * 4
    by_column = np.zeros((d, padded))
    start_at = np.full(padded, math.inf)
    flat = True
    for k in range(n_clusters):
        start_at[k] = offsets[k]
        flat = flat and offsets[k] == offsets[0]
        for j in range(d):
            by_column[j, k] = means[k, 1 + j]
    return flat, by_column, start_at


@inner_kernel
def _two_nearest(row, by_column, start_at, square, own_cluster, n_clusters):
    """Squared distance from the row's own centre, then the nearest other centre, its distance, and the next one's."""
    padded = square.size
    for k in range(padded):
        square[k] = start_at[k]
    for j in range(row.size):
        x = row[j]
        for k in range(padded):
            square[k] += (x - by_column[j, k]) ** 2
    own = math.inf
    if own_cluster >= 0:
        own = square[own_cluster]
        square[own_cluster] = math.inf
    other, least, second = 0, square[0], math.inf
    for k in range(1, n_clusters):
        if square[k] < least:
            second = least
            other, least = k, square[k]
        elif square[k] < second:
            second = square[k]
    return own, other, least, second


@kernel
def cost_of_labels(divergence, block, means, tally):
    """Total weighted divergence of rows from the centres of their own clusters; no row moves."""
    total = 0.0
    for i in range(block.rows.shape[0]):
        k = block.labels[i]
        cost = block.weights[i] * from_centre(divergence, block.rows[i], means[k])
        total += cost
        _note_cost(tally, k, cost, i)
    return total
