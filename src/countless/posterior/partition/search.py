"""Kernels of the search for a consensus: they move rows between clusters with one table look-up per draw.

A cell is one cluster of one draw. ``counts[cell, k]`` is the number of its rows in cluster k of the candidate, and
``gains[cell, k]`` what one more row would add to the overlap. So the gain of a row in every cluster is the sum of one
contiguous line per draw. A row that has not been placed counts as a cluster of its own; an empty slot is a new cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.jit import inner_kernel, kernel
from .draws import FloatArray, IntArray
from .similarity import Condensed, Loss, adjusted_rand

# Slots are scanned in groups of this size, which fits into vector registers.
LANES = 8
# Cost of moving a row, per draw, and of a division, in additions.
SHIFT = 24
DIVISION = 3


class Target(NamedTuple):
    """The draws and the loss in the form that the kernels read; it does not change during a search.

    ``cells`` (row, draw) is the cell of each row in each draw, numbered through all draws; ``values`` tabulates f of
    the loss and ``joining`` is what it makes joining cost, 2 minus its weight. ``pairs`` counts the pairs of rows that
    are together in each draw, for the adjusted Rand index.
    """

    cells: NDArray[np.int32]
    row_weights: IntArray
    draw_weights: FloatArray
    values: FloatArray
    pairs: FloatArray
    joining: float
    adjusted: bool
    most: int
    n_cells: int


class Candidate(NamedTuple):
    """The partition that a search changes: labels (-1: not placed), sizes, counts and gains.

    ``both`` counts the pairs that are together in it and in each draw. ``sums`` holds the objective (an increasing
    function of the expected loss), the number of pairs that are together, the number of clusters, one more than the
    last slot in use, and the additions done so far. ``margins`` is how much each row prefers its cluster to the next
    best; ``costs`` is scratch space.
    """

    labels: IntArray
    sizes: IntArray
    counts: NDArray[np.int32]
    gains: NDArray[np.float32]
    both: FloatArray
    sums: FloatArray
    margins: FloatArray
    costs: FloatArray


def target_of(data: Condensed, loss: Loss, most: int) -> Target:
    """Target of condensed draws, for partitions of at most ``most`` clusters."""
    widths = data.draws.max(axis=1).astype(np.int64) + 1
    offsets = np.concatenate([[0], np.cumsum(widths)])
    cells = np.empty(data.draws.shape[::-1], dtype=np.int32)
    pairs = np.zeros(len(widths))
    for m, draw in enumerate(data.draws):
        cells[:, m] = draw.astype(np.int64) + offsets[m]
        if loss.adjusted:
            sizes = np.bincount(draw, weights=data.row_weights)
            pairs[m] = (0.5 * sizes * (sizes - 1.0)).sum()
    values = loss.values(int(data.row_weights.sum()))
    joining = 2.0 - loss.weight
    return Target(
        cells, data.row_weights, data.draw_weights, values, pairs, joining, loss.adjusted, most, int(offsets[-1])
    )


def candidate(t: Target, labels: NDArray[Any], room: int) -> Candidate:
    """A candidate that starts from labels (-1 for rows to be placed), with ``room`` slots for clusters."""
    n_rows, n_draws = t.cells.shape
    c = Candidate(
        np.full(n_rows, -1, dtype=np.int64),
        np.zeros(room, dtype=np.int64),
        np.zeros((t.n_cells, room), dtype=np.int32),
        np.zeros((t.n_cells, room), dtype=np.float32),
        np.zeros(n_draws),
        np.zeros(5),
        np.zeros(n_rows),
        np.zeros(room),
    )
    load(t, c, np.ascontiguousarray(labels, dtype=np.int64))
    return c


@kernel
def load(t, c, labels):
    """Set the gains of empty slots, f(1) - f(0), then add the rows."""
    if not t.adjusted and t.values[1] != t.values[0]:
        for i in range(t.cells.shape[0]):
            for m in range(t.cells.shape[1]):
                c.gains[t.cells[i, m], :] = t.draw_weights[m] * (t.values[1] - t.values[0])
    for i in range(len(labels)):
        if labels[i] >= 0:
            shift(t, c, i, labels[i], t.row_weights[i])
            c.labels[i] = labels[i]


@kernel
def shift(t, c, i, k, weight):
    """Add row ``i`` to cluster ``k``, or remove it for a negative weight, and update all sums."""
    values, total = t.values, 0.0
    c.sums[4] += SHIFT * t.cells.shape[1]
    size = c.sizes[k]
    c.sizes[k] = size + weight
    if size == 0:
        c.sums[2] += 1
        c.sums[3] = max(c.sums[3], k + 1)
    elif c.sizes[k] == 0:
        c.sums[2] -= 1
        while c.sums[3] > 0 and c.sizes[int(c.sums[3]) - 1] == 0:
            c.sums[3] -= 1
    if t.adjusted:
        c.sums[1] += values[size + weight] - values[size]
        for m in range(t.cells.shape[1]):
            cell = t.cells[i, m]
            before = c.counts[cell, k]
            after = before + weight
            c.counts[cell, k] = after
            c.gains[cell, k] = after
            c.both[m] += values[after] - values[before]
            total -= t.draw_weights[m] * adjusted_rand(c.both[m], c.sums[1], t.pairs[m], values[-2])
        c.sums[0] = total
    else:
        n_draws = 0.0
        for m in range(t.cells.shape[1]):
            cell = t.cells[i, m]
            before = c.counts[cell, k]
            after = before + weight
            c.counts[cell, k] = after
            share = t.draw_weights[m]
            c.gains[cell, k] = share * (values[after + 1] - values[after])
            total -= 2.0 * share * (values[after] - values[before])
            n_draws += share
        c.sums[0] += total + t.joining * n_draws * (values[size + weight] - values[size])


@inner_kernel
def _additive_costs(t, c, i, own, width):
    """What row ``i``, taken out, would add to the objective in each slot: variation of information and Binder."""
    values, costs, weight = t.values, c.costs, t.row_weights[i]
    # In its own slot the row would count twice; that cost is replaced below. The index is capped, because it may exceed
    # the number of rows.
    last = len(values) - 1
    n_draws = t.cells.shape[1]
    costs[:width] = 0.0
    at_home, total = 0.0, 0.0
    if weight == 1:
        # Four lines at a time, so that the sums go through memory once for all four.
        for m in range(0, n_draws - 3, 4):
            first, second = c.gains[t.cells[i, m]], c.gains[t.cells[i, m + 1]]
            third, fourth = c.gains[t.cells[i, m + 2]], c.gains[t.cells[i, m + 3]]
            for k in range(width):
                costs[k] += (first[k] + second[k]) + (third[k] + fourth[k])
        for m in range(n_draws - n_draws % 4, n_draws):
            line = c.gains[t.cells[i, m]]
            for k in range(width):
                costs[k] += line[k]
    else:
        for m in range(n_draws):
            line = c.counts[t.cells[i, m]]
            share = t.draw_weights[m]
            for k in range(width):
                costs[k] += share * (values[min(line[k] + weight, last)] - values[line[k]])
    for m in range(n_draws):
        total += t.draw_weights[m]
        if own >= 0:
            count = c.counts[t.cells[i, m], own]
            at_home += t.draw_weights[m] * (values[count] - values[count - weight])
    total *= t.joining
    for k in range(width):
        costs[k] = total * (values[min(c.sizes[k] + weight, last)] - values[c.sizes[k]]) - 2.0 * costs[k]
    if own >= 0:
        costs[own] = total * (values[c.sizes[own]] - values[c.sizes[own] - weight]) - 2.0 * at_home


@inner_kernel
def _adjusted_costs(t, c, i, own, width, together):
    """Minus the sum of adjusted Rand indices with row ``i`` in each slot; ``together`` is scratch."""
    values, costs, weight = t.values, c.costs, t.row_weights[i]
    of_all = max(values[-2], 1.0)
    inside = 0.5 * weight * (weight - 1.0)
    base = c.sums[1]
    if own >= 0:
        base -= weight * (c.sizes[own] - weight) + inside
    for k in range(width):
        costs[k] = 0.0
        together[k] = base + weight * c.sizes[k] + inside
    if own >= 0:
        together[own] = c.sums[1]
    for m in range(t.cells.shape[1]):
        line = c.gains[t.cells[i, m]]
        share, of_draw = t.draw_weights[m], t.pairs[m]
        both = c.both[m] + inside
        if own >= 0:
            both -= weight * (line[own] - weight) + inside
        chance = of_draw / of_all
        for k in range(width):
            spread = 0.5 * (of_draw + together[k]) - chance * together[k]
            index = (both + weight * line[k] - chance * together[k]) / spread
            costs[k] -= share * (index if spread > 1e-12 * of_all else 1.0)
        if own >= 0:
            # The line includes the row itself.
            spread = 0.5 * (of_draw + together[own]) - chance * together[own]
            if spread > 1e-12 * of_all:
                costs[own] += share * weight * weight / spread


@kernel
def sweep(t, c, rows, tolerance):
    """Move each of ``rows`` to the slot of least objective; return how many moved."""
    moved = 0
    room = len(c.sizes)
    together = np.empty(room)
    for i in rows:
        own, weight = c.labels[i], t.row_weights[i]
        width = min(room, (int(c.sums[3]) // LANES + 1) * LANES)
        if t.adjusted:
            _adjusted_costs(t, c, i, own, width, together)
            c.sums[4] += DIVISION * width * t.cells.shape[1]
        else:
            _additive_costs(t, c, i, own, width)
            c.sums[4] += width * t.cells.shape[1]
        alone = own >= 0 and c.sizes[own] == weight
        full = c.sums[2] >= t.most
        chosen, best, second = own, np.inf, np.inf
        if own >= 0:
            best = c.costs[own] - tolerance
        for k in range(width):
            # A row that is alone would gain nothing from another empty slot.
            if k != own and not (c.sizes[k] == 0 and (alone or full)):
                if c.costs[k] < best:
                    second = best
                    chosen, best = k, c.costs[k]
                elif c.costs[k] < second:
                    second = c.costs[k]
        c.margins[i] = second - best
        if chosen != own:
            if own >= 0:
                shift(t, c, i, own, -weight)
            shift(t, c, i, chosen, weight)
            c.labels[i] = chosen
            moved += 1
    return moved


@kernel
def reallocate(t, c, rows, tolerance):
    """Take ``rows`` out and place them again one after the other; undo it unless the objective falls."""
    before, n_sweeps = c.sums[0], 4
    kept = c.labels[rows]
    for i in rows:
        shift(t, c, i, c.labels[i], -t.row_weights[i])
        c.labels[i] = -1
    for _ in range(n_sweeps):
        if sweep(t, c, rows, tolerance) == 0:
            break
    if c.sums[0] < before - tolerance:
        return True
    for j in range(len(rows)):
        i = rows[j]
        if c.labels[i] != kept[j]:
            shift(t, c, i, c.labels[i], -t.row_weights[i])
    for j in range(len(rows)):
        i = rows[j]
        if c.labels[i] != kept[j]:
            shift(t, c, i, kept[j], t.row_weights[i])
            c.labels[i] = kept[j]
    c.sums[0] = before
    return False
