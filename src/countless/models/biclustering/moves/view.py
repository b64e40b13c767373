"""One side of a matrix as kernels see it: its items, their clusters, and the blocks that they make with the other side.

Rows and columns are the same to a move: the columns are the rows of the transposed matrix. Where both sides are one
(``tied``), an item is a row and a column, and the clusters of the other side are the same clusters. An item that is
being placed belongs to no cluster, and its label is -1.

Most blocks that a row of a sparse matrix joins get cells that are all zero, and what that does to their evidence is
the same for every such row. ``Gaps`` keeps these numbers, so that placing an item costs the clusters of its stored
cells and not all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.jit import inner_kernel, kernel
from ....partitions.seats import FloatArray, IntArray
from ..block_models.verbs import Work, log_block, log_side


class Cells(NamedTuple):
    """Stored cells of items: those of item i are ``indptr[i]:indptr[i + 1]``."""

    indptr: IntArray
    indices: IntArray
    values: FloatArray


class Gaps(NamedTuple):
    """What one more item does to a block where its cells are all zero; used where ``on``.

    Attributes
    ----------
    on : bool
        Only where sides are not tied, all weights are one, and few cells are stored.
    evidence : array (slot, other slot)
        Log evidence of each block with one more item.
    total : array (slot)
        By how much the evidence of a cluster would change: the sum over the other side.
    single : array (other slot)
        The same evidence for a cluster that had no items.
    touched, is_touched : arrays (other slot)
        The other clusters in which the item at hand has stored cells; the first ``n_touched[0]`` of them.
    n_touched : array (1)
    """

    on: bool
    evidence: FloatArray
    total: FloatArray
    single: FloatArray
    touched: IntArray
    is_touched: NDArray[np.bool_]
    n_touched: IntArray


class View(NamedTuple):
    """What a move works on.

    Attributes
    ----------
    side : int
        0 where items are rows, 1 where they are columns.
    tied : bool
    cells, crossing : Cells
        Cells of the items; where sides are tied, ``crossing`` has them as columns.
    zero : array (S,)
        Statistics of a cell that holds zero; ``has_zero`` says whether any of them is not zero.
    weights, crossing_weights : arrays (item,)
        Of the items; where sides are tied, of the items as columns too.
    margins : array (2, item)
    labels : array (item,)
        Slot of each item, or -1.
    sizes, mass, totals, sides : arrays (slot), (slot), (2, slot), (slot)
        Of each cluster; ``sides`` is what it adds to the log evidence.
    other, other_mass, others : arrays
        Slots of the items of the other side, masses of its clusters, and the slots in use. Where sides are tied,
        ``other_mass`` are the masses of the clusters as columns.
    blocks : array (slot, other slot, S)
    evidence : array (slot, other slot)
        Log evidence of each block.
    across, down, corner : arrays (other slot, S), (other slot, S), (S,)
        Statistics of the item at hand: its cells by cluster of the other side, as a row and as a column, and its cell
        with itself.
    work : Work
    gaps : Gaps
    """

    side: int
    tied: bool
    cells: Cells
    crossing: Cells
    zero: FloatArray
    has_zero: bool
    weights: FloatArray
    crossing_weights: FloatArray
    margins: FloatArray
    labels: IntArray
    sizes: IntArray
    mass: FloatArray
    totals: FloatArray
    sides: FloatArray
    other: IntArray
    other_mass: FloatArray
    others: IntArray
    blocks: FloatArray
    evidence: FloatArray
    across: FloatArray
    down: FloatArray
    corner: FloatArray
    work: Work
    gaps: Gaps


@inner_kernel
def n_others(view, n_clusters):
    """Number of clusters of the other side."""
    return n_clusters if view.tied else view.others.size


@inner_kernel
def _sum_cells(cells, view, i, out):
    """Add the cells of an item to ``out``, by cluster of the other side; its own cell goes into the corner."""
    width = view.zero.size
    for at in range(cells.indptr[i], cells.indptr[i + 1]):
        j = cells.indices[at]
        k = view.other[j]
        if k >= 0:
            if view.gaps.on and not view.gaps.is_touched[k]:
                view.gaps.is_touched[k] = True
                view.gaps.touched[view.gaps.n_touched[0]] = k
                view.gaps.n_touched[0] += 1
            for s in range(width):
                out[k, s] += cells.values[at, s]
        elif j == i:
            for s in range(width):
                view.corner[s] = view.zero[s] + cells.values[at, s]


@inner_kernel
def gather(view, i, n_clusters):
    """Sum up the cells of item ``i`` by cluster of the other side; where sides are tied, ``i`` is in no cluster."""
    width = view.zero.size
    for p in range(view.gaps.n_touched[0]):
        view.gaps.is_touched[view.gaps.touched[p]] = False
    view.gaps.n_touched[0] = 0
    for p in range(n_others(view, n_clusters)):
        k = view.others[p]
        for s in range(width):
            view.across[k, s] = view.other_mass[k] * view.zero[s] if view.has_zero else 0.0
            if view.tied:
                view.down[k, s] = view.mass[k] * view.zero[s] if view.has_zero else 0.0
    if view.tied:
        for s in range(width):
            view.corner[s] = view.zero[s]
    _sum_cells(view.cells, view, i, view.across)
    if view.tied:
        _sum_cells(view.crossing, view, i, view.down)


@inner_kernel
def _log_of_block(model, view, k, other, sign, mass, other_mass):
    """Log evidence of block (k, other) with the item at hand added to it (``sign`` 1) or as it is (0)."""
    statistics = view.work.statistics
    for s in range(view.zero.size):
        statistics[0, s] = view.blocks[k, other, s] + sign * view.across[other, s]
    return log_block(model, view.side, view.work, mass, other_mass)


@inner_kernel
def _log_of_crossing(model, view, other, k, sign, mass, other_mass):
    """The same for block (other, k) of tied sides."""
    statistics = view.work.statistics
    for s in range(view.zero.size):
        statistics[0, s] = view.blocks[other, k, s] + sign * view.down[other, s]
    return log_block(model, view.side, view.work, mass, other_mass)


@inner_kernel
def log_sides(model, view, total, crossing_total, size):
    """What a cluster adds by itself."""
    value = log_side(model, view.side, total, size)
    if view.tied:
        value += log_side(model, 1, crossing_total, size)
    return value


@inner_kernel
def log_joined(model, view, i, k, n_clusters):
    """By how much the log evidence changes when item ``i``, which ``gather`` has summed up, joins cluster ``k``."""
    mass = view.mass[k] + view.weights[i]
    size = view.sizes[k] + 1.0
    value = log_sides(model, view, view.totals[0, k] + view.margins[0, i], view.totals[1, k] + view.margins[1, i], size)
    value -= view.sides[k]
    if view.gaps.on:
        value += view.gaps.total[k]
        for p in range(view.gaps.n_touched[0]):
            other = view.gaps.touched[p]
            joined = _log_of_block(model, view, k, other, 1.0, mass, view.other_mass[other])
            value += joined - view.gaps.evidence[k, other]
        return value
    if not view.tied:
        for p in range(view.others.size):
            other = view.others[p]
            value += _log_of_block(model, view, k, other, 1.0, mass, view.other_mass[other]) - view.evidence[k, other]
        return value
    crossing_mass = view.other_mass[k] + view.crossing_weights[i]
    for p in range(n_clusters):
        other = view.others[p]
        if other != k:
            value += _log_of_block(model, view, k, other, 1.0, mass, view.other_mass[other]) - view.evidence[k, other]
            joined = _log_of_crossing(model, view, other, k, 1.0, view.mass[other], crossing_mass)
            value += joined - view.evidence[other, k]
    statistics = view.work.statistics
    filled = view.sizes[k] > 0
    for s in range(view.zero.size):
        statistics[0, s] = view.blocks[k, k, s] + view.corner[s]
        if filled:
            statistics[0, s] += view.across[k, s] + view.down[k, s]
    return value + log_block(model, view.side, view.work, mass, crossing_mass) - view.evidence[k, k]


@inner_kernel
def renew(model, view, k, n_clusters):
    """Compute the evidences of cluster ``k`` again; it has members."""
    view.sides[k] = log_sides(model, view, view.totals[0, k], view.totals[1, k], view.sizes[k] * 1.0)
    for p in range(n_others(view, n_clusters)):
        other = view.others[p]
        view.evidence[k, other] = _log_of_block(model, view, k, other, 0.0, view.mass[k], view.other_mass[other])
        if view.tied and other != k:
            mass, other_mass = view.mass[other], view.other_mass[k]
            view.evidence[other, k] = _log_of_crossing(model, view, other, k, 0.0, mass, other_mass)
    if view.gaps.on:
        _renew_gaps(model, view, k)


@inner_kernel
def _log_with_zeros(model, view, k, other):
    """Log evidence of block (k, other) with one more item whose cells are all zero."""
    statistics, other_mass = view.work.statistics, view.other_mass[other]
    for s in range(view.zero.size):
        statistics[0, s] = view.blocks[k, other, s] + (other_mass * view.zero[s] if view.has_zero else 0.0)
    return log_block(model, view.side, view.work, view.mass[k] + 1.0, other_mass)


@inner_kernel
def _renew_gaps(model, view, k):
    """The same for one more item of zeros."""
    total = 0.0
    for p in range(view.others.size):
        other = view.others[p]
        value = _log_with_zeros(model, view, k, other)
        view.gaps.evidence[k, other] = value
        total += value - view.evidence[k, other]
    view.gaps.total[k] = total


@inner_kernel
def _empty_gaps(view, k):
    total = 0.0
    for p in range(view.others.size):
        other = view.others[p]
        view.gaps.evidence[k, other] = view.gaps.single[other]
        total += view.gaps.single[other]
    view.gaps.total[k] = total


@inner_kernel
def empty(view, k):
    """Make slot ``k`` free of anything; which items were in it is for others to say."""
    view.sizes[k] = 0
    view.mass[k] = 0.0
    if view.tied:
        view.other_mass[k] = 0.0
    view.totals[0, k] = 0.0
    view.totals[1, k] = 0.0
    view.sides[k] = 0.0
    if view.gaps.on:
        _empty_gaps(view, k)
    for other in range(view.blocks.shape[1]):
        view.evidence[k, other] = 0.0
        for s in range(view.zero.size):
            view.blocks[k, other, s] = 0.0
        if view.tied:
            view.evidence[other, k] = 0.0
            for s in range(view.zero.size):
                view.blocks[other, k, s] = 0.0


@inner_kernel
def _shift(view, i, k, sign, n_clusters):
    """Add the item at hand to the blocks of cluster ``k``, or take it out."""
    view.mass[k] += sign * view.weights[i]
    if view.tied:
        view.other_mass[k] += sign * view.crossing_weights[i]
    view.totals[0, k] += sign * view.margins[0, i]
    view.totals[1, k] += sign * view.margins[1, i]
    for p in range(n_others(view, n_clusters)):
        other = view.others[p]
        for s in range(view.zero.size):
            view.blocks[k, other, s] += sign * view.across[other, s]
            if view.tied:
                view.blocks[other, k, s] += sign * view.down[other, s]
    if view.tied:
        for s in range(view.zero.size):
            view.blocks[k, k, s] += sign * view.corner[s]


@inner_kernel
def put(model, view, i, k, n_clusters):
    """Put the item at hand into cluster ``k``, which is among the first ``n_clusters`` slots in use."""
    if view.tied and view.sizes[k] == 0:
        # It was no cluster when the item was summed up.
        for s in range(view.zero.size):
            view.across[k, s] = 0.0
            view.down[k, s] = 0.0
    _shift(view, i, k, 1.0, n_clusters)
    view.sizes[k] += 1
    view.labels[i] = k
    renew(model, view, k, n_clusters)


@inner_kernel
def take(model, view, i, n_clusters):
    """Take item ``i`` out of its cluster and sum it up; returns whether that is left without members."""
    k = view.labels[i]
    view.labels[i] = -1
    view.sizes[k] -= 1
    if view.sizes[k] == 0:
        empty(view, k)
        # Where sides are tied the cluster is still listed: its sums are those of nothing.
        gather(view, i, n_clusters)
        return True
    if view.tied:
        view.mass[k] -= view.weights[i]
        view.other_mass[k] -= view.crossing_weights[i]
        gather(view, i, n_clusters)
        view.mass[k] += view.weights[i]
        view.other_mass[k] += view.crossing_weights[i]
    else:
        gather(view, i, n_clusters)
    _shift(view, i, k, -1.0, n_clusters)
    renew(model, view, k, n_clusters)
    return False


@inner_kernel
def log_evidence(view, active, n_clusters):
    """Sum of what blocks and clusters add."""
    value = 0.0
    for p in range(n_clusters):
        k = active[p]
        value += view.sides[k]
        for q in range(n_others(view, n_clusters)):
            value += view.evidence[k, view.others[q]]
    return value


@inner_kernel
def log_of_two(view, active, n_clusters, a, b):
    """What two clusters add, one of which may be empty; where sides are tied, everything that changes with them."""
    if view.tied:
        return log_evidence(view, active, n_clusters)
    value = view.sides[a] + view.sides[b]
    for p in range(view.others.size):
        value += view.evidence[a, view.others[p]] + view.evidence[b, view.others[p]]
    return value


@kernel
def renew_all(model, view, active, n_clusters):
    """Compute all evidences, those of one more item too; returns the sum of what there is."""
    for p in range(n_clusters):
        k = active[p]
        view.sides[k] = log_sides(model, view, view.totals[0, k], view.totals[1, k], view.sizes[k] * 1.0)
        for q in range(n_others(view, n_clusters)):
            other = view.others[q]
            view.evidence[k, other] = _log_of_block(model, view, k, other, 0.0, view.mass[k], view.other_mass[other])
    if view.gaps.on:
        _renew_all_gaps(model, view, active, n_clusters)
    return log_evidence(view, active, n_clusters)


@inner_kernel
def _renew_all_gaps(model, view, active, n_clusters):
    for p in range(n_clusters):
        _renew_gaps(model, view, active[p])
    if n_clusters < active.size:
        free = active[n_clusters]  # a slot of nothing
        for q in range(view.others.size):
            other = view.others[q]
            view.gaps.single[other] = _log_with_zeros(model, view, free, other)
        for p in range(n_clusters, active.size):
            _empty_gaps(view, active[p])


@kernel
def fill_blocks(cells, zero, has_zero, labels, other, mass, other_mass, blocks):
    """Statistics of all blocks from the cells."""
    width = zero.size
    blocks[:] = 0.0
    for i in range(labels.size):
        k = labels[i]
        for at in range(cells.indptr[i], cells.indptr[i + 1]):
            other_slot = other[cells.indices[at]]
            for s in range(width):
                blocks[k, other_slot, s] += cells.values[at, s]
    if has_zero:
        for k in range(blocks.shape[0]):
            for other_slot in range(blocks.shape[1]):
                for s in range(width):
                    blocks[k, other_slot, s] += mass[k] * other_mass[other_slot] * zero[s]


@kernel
def sum_sides(model, side, totals, sizes):
    """What the clusters of one side add by themselves."""
    value = 0.0
    for k in range(sizes.size):
        value += log_side(model, side, totals[k], sizes[k])
    return value


def gaps_room(on: bool, capacity: int, n_others: int) -> Gaps:
    """Room for so many slots of both sides, or for none where it is not used."""
    own, other = (capacity, n_others) if on else (0, 0)
    return Gaps(
        on,
        np.zeros((own, other)),
        np.zeros(own),
        np.zeros(other),
        np.zeros(other, dtype=np.int64),
        np.zeros(other, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
    )
