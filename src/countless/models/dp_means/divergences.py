"""Small-variance clustering: divergences of rows from centres, and what moving, joining or halving clusters costs.

As the spread of an exponential family goes to zero a Dirichlet process mixture becomes DP-means (Kulis and Jordan 2012,
Jiang et al. 2012, Raykov et al. 2016, section 4): rows are divided so as to minimise

    J = sum_i w_i D(x_i, m_z(i)) + penalty K - count_weight sum_k N_k log(N_k / N)

with D a Bregman divergence, m_k the mean of cluster k and N_k its weight. The last term is there where counts are kept
(eq. 4.7). For a Bregman divergence (Banerjee et al. 2005, eq. 12) the rows of a cluster satisfy

    sum_i w_i D(x_i, c) = sum_i w_i D(x_i, m_k) + N_k D(m_k, c),

so that what a union costs follows from means and weights alone. ``small_variance_moves.py`` has the
moves beyond a pass over the rows, ``dp_means.py`` and ``dp_means_search.py`` the search that uses them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.jit import kernel
from ...families import Family, verbs
from ...families.verbs import implements

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@verbs.linear_in_row
class SquaredDistance(NamedTuple):
    """Squared Euclidean distance, in the place of the hyperparameters of a family."""

    n_columns: int


@implements(verbs.row_statistics, SquaredDistance)
def _row_statistics(family, row, out):
    out[0] = 1.0
    for j in range(row.size):
        out[1 + j] = row[j]


@implements(verbs.divergence, SquaredDistance)
def _divergence(family, row, centre):
    total = 0.0
    for j in range(row.size):
        total += (row[j] - centre[1 + j]) ** 2
    return total


class Measure(NamedTuple):
    """How far a row is from a centre: what kernels need, and the units in which they see rows.

    A cluster is one line of *sums*: ``n_statistics`` statistics (the first is the weight), the sum of its rows, and
    the number of its rows.
    """

    hyper: Any
    n_statistics: int
    n_columns: int
    shift: FloatArray
    scale: FloatArray
    family: Family | None

    @classmethod
    def of(cls, family: Family | None, rows: FloatArray) -> Measure:
        """The divergence of a resolved family; None stands for squared distance in the units of the rows."""
        d = rows.shape[1]
        zero, one = np.zeros(d), np.ones(d)
        if family is None:
            return cls(SquaredDistance(d), 1 + d, d, zero, one, None)
        shift, scale = family.units(rows) or (zero, one)
        local = family.in_units(shift, scale)
        return cls(local.prepare(), local.layout().statistics, d, shift, scale, family)

    @property
    def width(self) -> int:
        return self.n_statistics + self.n_columns + 1

    def local(self, rows: FloatArray) -> FloatArray:
        """Rows in the units that suit the arithmetic, their columns in the order of the kernels."""
        if self.shift.any() or (self.scale != 1.0).any():
            rows = np.ascontiguousarray((rows - self.shift) / self.scale)
        return rows if self.family is None else self.family.arrange(rows)

    def restored(self, rows: FloatArray) -> FloatArray:
        """Rows in the user's units and order."""
        ordered = rows if self.family is None else self.family.restore(rows)
        return np.ascontiguousarray(ordered * self.scale + self.shift)

    def centres(self, sums: FloatArray) -> FloatArray:
        """Mean of the rows of each cluster, in the user's units."""
        return self.restored(sums[:, self.n_statistics : -1] / sums[:, :1])


@kernel
def count_term(count_weight, total, n):
    """-count_weight N log(N / total), the cost of a cluster's label in nats times the weight of the counts."""
    return -count_weight * n * math.log(n / total) if count_weight > 0.0 and n > 0.0 else 0.0


@kernel
def join_cost(hyper, sums, a, b, n_statistics, scratch):
    """Rise of the total divergence when clusters a and b become one."""
    columns = sums.shape[1] - 1
    n, m = sums[a, 0], sums[b, 0]
    for s in range(columns):
        scratch[0, s] = sums[a, s] / n
        scratch[1, s] = sums[b, s] / m
        scratch[2, s] = (sums[a, s] + sums[b, s]) / (n + m)
    middle = scratch[2, :n_statistics]
    return n * verbs.mean_divergence(
        hyper, scratch[0, n_statistics:columns], scratch[0, :n_statistics], middle
    ) + m * verbs.mean_divergence(hyper, scratch[1, n_statistics:columns], scratch[1, :n_statistics], middle)


@kernel
def describe(hyper, row, weight, n_statistics, out):
    """The sums of a cluster that holds one row."""
    verbs.row_statistics(hyper, row, out)
    for s in range(n_statistics):
        out[s] *= weight
    for j in range(row.size):
        out[n_statistics + j] = weight * row[j]
    out[n_statistics + row.size] = 1.0


@kernel
def collect(hyper, rows, weights, labels, n_statistics, start, stop, sums):
    """Add the sums of rows start ... stop - 1 to those of their clusters."""
    work = np.zeros(sums.shape[1])
    for i in range(start, stop):
        describe(hyper, rows[i], weights[i], n_statistics, work)
        for s in range(sums.shape[1]):
            sums[labels[i], s] += work[s]


@kernel
def mean_drifts(hyper, means, centres, n_statistics, out):
    """Divergence of each cluster's mean from its former centre."""
    columns = means.shape[1] - 1
    for k in range(means.shape[0]):
        out[k] = verbs.mean_divergence(
            hyper, means[k, n_statistics:columns], means[k, :n_statistics], centres[k, :n_statistics]
        )


@kernel
def divergences(hyper, rows, means, n_statistics, out):
    """Divergence of each row from each centre."""
    for i in range(rows.shape[0]):
        for k in range(means.shape[0]):
            out[i, k] = verbs.divergence(hyper, rows[i], means[k, :n_statistics])


@kernel
def _relabel(hyper, row, weight, n_statistics, old, new, delta, work):
    describe(hyper, row, weight, n_statistics, work)
    for s in range(delta.shape[1]):
        delta[new, s] += work[s]
        if old >= 0:
            delta[old, s] -= work[s]


@kernel
def family_pass(
    hyper,
    rows,
    weights,
    means,
    offsets,
    labels,
    lower,
    slack,
    n_new,
    frozen,
    start,
    stop,
    n_statistics,
    delta,
    far,
    far_row,
):
    """Give rows start ... stop - 1 to the centre of least divergence plus offset; a tie stays where it is.

    ``delta`` collects the change of each cluster's sums, ``far`` the largest weighted divergence in each cluster and
    ``far_row`` whose it is. Returns the total weighted divergence and how many rows moved. ``frozen``: none may.
    """
    total, moved = 0.0, 0
    work = np.zeros(delta.shape[1])
    for i in range(start, stop):
        best, old = labels[i], labels[i]
        nearest = math.inf
        if old >= 0:
            nearest = verbs.divergence(hyper, rows[i], means[old, :n_statistics]) + offsets[old]
        if not frozen:
            for k in range(means.shape[0]):
                if k != old:
                    value = verbs.divergence(hyper, rows[i], means[k, :n_statistics]) + offsets[k]
                    if value < nearest:
                        best, nearest = k, value
        if best != old:
            moved += 1
            _relabel(hyper, rows[i], weights[i], n_statistics, old, best, delta, work)
            labels[i] = best
        cost = weights[i] * (nearest - offsets[best])
        total += cost
        if cost > far[best]:
            far[best], far_row[best] = cost, i
    return total, moved


@kernel
def _two_nearest(row, table, start_at, square, own_cluster, n_clusters):
    """Squared distance from the row's own centre, then the nearest other centre, its distance, and the next one's.

    ``table`` has the centres by columns, padded so that all of them are compared in full strides.
    """
    padded = square.size
    for k in range(padded):
        square[k] = start_at[k]
    for j in range(row.size):
        x = row[j]
        for k in range(padded):
            square[k] += (x - table[j, k]) ** 2
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
def squared_pass(
    hyper,
    rows,
    weights,
    means,
    offsets,
    labels,
    lower,
    slack,
    n_new,
    frozen,
    start,
    stop,
    n_statistics,
    delta,
    far,
    far_row,
):
    """The same for squared distance.

    All centres are compared at once, and only where they have to be: ``lower`` bounds the distance of a row from every
    other centre, and falls by ``slack`` of its cluster when centres move (Hamerly 2010). The last ``n_new`` centres are
    not in it yet.
    """
    d = rows.shape[1]
    n_clusters = means.shape[0]
    padded = (n_clusters + 3) // 4 * 4
    table = np.empty((d, padded))
    square = np.empty(padded)
    start_at = np.full(padded, math.inf)
    work = np.zeros(delta.shape[1])
    flat = True
    for k in range(n_clusters):
        start_at[k] = offsets[k]
        flat = flat and offsets[k] == offsets[0]
    for j in range(d):
        for k in range(padded):
            table[j, k] = means[k, 1 + j] if k < n_clusters else 0.0
    total, moved = 0.0, 0
    for i in range(start, stop):
        old = labels[i]
        best, nearest = old, math.inf
        if old >= 0:
            nearest = 0.0
            for j in range(d):
                nearest += (rows[i, j] - means[old, 1 + j]) ** 2
            bound = lower[i] - slack[old]
            if bound > 0.0 and not frozen:
                for k in range(n_clusters - n_new, n_clusters):
                    gap = 0.0
                    for j in range(d):
                        gap += (rows[i, j] - means[k, 1 + j]) ** 2
                    if k != old and gap < bound * bound:
                        bound = math.sqrt(gap)
            lower[i] = bound
        if not (frozen or (flat and old >= 0 and bound > 0.0 and nearest < bound * bound)):
            own, other, least, second = _two_nearest(rows[i], table, start_at, square, old, n_clusters)
            if least < own:
                best, nearest = other, least - offsets[other]
                lower[i] = math.sqrt(min(own, second)) if flat else 0.0
                moved += 1
                _relabel(hyper, rows[i], weights[i], n_statistics, old, best, delta, work)
                labels[i] = best
            else:
                lower[i] = math.sqrt(least) if flat else 0.0
        cost = weights[i] * nearest
        total += cost
        if cost > far[best]:
            far[best], far_row[best] = cost, i
    return total, moved


@kernel
def number_by_appearance(labels, order):
    """Renumber labels in place by first appearance; ``order`` gets the former numbers. Returns how many there are."""
    rank = np.full(order.size, -1)
    found = 0
    for i in range(labels.size):
        k = labels[i]
        if rank[k] < 0:
            rank[k] = found
            order[found] = k
            found += 1
        labels[i] = rank[k]
    return found
