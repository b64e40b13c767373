"""Divergences of rows from centres, and what clusters and joins of them cost.

As the spread of an exponential family goes to zero, a Dirichlet process mixture becomes DP-means (Kulis and Jordan
2012, Jiang et al. 2012, Raykov et al. 2016, section 4): rows are divided so as to minimise

    J = sum_i w_i D(x_i, m_z(i)) + penalty K - count_weight sum_k N_k log(N_k / N)

where D is a Bregman divergence, m_k the mean of cluster k and N_k its weight. The last term is there where counts are
kept (eq. 4.7). The rows of a cluster satisfy (Banerjee et al. 2005, eq. 12)

    sum_i w_i D(x_i, c) = sum_i w_i D(x_i, m_k) + N_k D(m_k, c),

so that the cost of a union follows from means and weights alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.jit import inner_kernel, kernel
from ...families import Family, verbs
from ...families.verbs import implements
from ...partitions.sums import add_row

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


class Divergence(NamedTuple):
    """A divergence as kernels take it: hyperparameters of a family, and its number of statistics.

    Each cluster has one line of *sums*: the statistics (the first is the weight), the weighted sum of its rows, and
    the number of its rows. Sums divided by the weight are *means*; they begin with the centre.
    """

    hyper: Any
    n_statistics: int


class Price(NamedTuple):
    """What clusters cost, as kernels take it: the terms of J, the weight of all rows, and whether K is fixed."""

    penalty: float
    count_weight: float
    total: float
    fixed: bool


class Measure(NamedTuple):
    """A divergence with the units in which kernels see rows; ``family`` is None for squared distance."""

    divergence: Divergence
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
            return cls(Divergence(SquaredDistance(d), 1 + d), d, zero, one, None)
        local, units = family.in_local_units(rows)
        return cls(Divergence(local.prepare(), local.layout().statistics), d, *units, family)

    @property
    def width(self) -> int:
        """Length of the sums of a cluster."""
        return self.divergence.n_statistics + self.n_columns + 1

    def local(self, rows: FloatArray) -> FloatArray:
        """Rows in the units that suit the arithmetic, with columns in the order of the kernels."""
        arranged = rows if self.family is None else self.family.arrange(rows)
        if self.shift.any() or (self.scale != 1.0).any():
            return np.ascontiguousarray((arranged - self.shift) / self.scale)
        return arranged

    def restored(self, rows: FloatArray) -> FloatArray:
        """Rows in the user's units and order."""
        moved = rows * self.scale + self.shift
        return np.ascontiguousarray(moved if self.family is None else self.family.restore(moved))

    def centres(self, sums: FloatArray) -> FloatArray:
        """Mean of the rows of each cluster, in the user's units."""
        return self.restored(sums[:, self.divergence.n_statistics : -1] / sums[:, :1])

    def drifts(self, means: FloatArray, former: FloatArray) -> FloatArray:
        """Divergence of the mean of each cluster from its former centre."""
        out = np.zeros(len(means))
        mean_divergences(self.divergence, means, former, out)
        return out

    def union_cost(self, pair: FloatArray) -> float:
        """Rise of the total divergence when the two clusters with these sums become one."""
        scratch = np.zeros((3, self.width - 1))
        return float(join_cost(self.divergence, np.ascontiguousarray(pair), 0, 1, scratch))


@inner_kernel
def count_term(price, n):
    """-count_weight N log(N / total): the cost of the labels of a cluster of weight N."""
    return -price.count_weight * n * math.log(n / price.total) if price.count_weight > 0.0 and n > 0.0 else 0.0


@inner_kernel
def from_centre(divergence, row, mean):
    """Divergence of a row from the centre that a line of means begins with."""
    return verbs.divergence(divergence.hyper, row, mean[: divergence.n_statistics])


@inner_kernel
def _mean_divergence(divergence, mean, centre):
    n_statistics = divergence.n_statistics
    return verbs.mean_divergence(
        divergence.hyper, mean[n_statistics : mean.size], mean[:n_statistics], centre[:n_statistics]
    )


@kernel
def join_cost(divergence, sums, a, b, scratch):
    """Rise of the total divergence when clusters a and b become one; ``scratch`` is (3, width - 1)."""
    columns = sums.shape[1] - 1
    n, m = sums[a, 0], sums[b, 0]
    for s in range(columns):
        scratch[0, s] = sums[a, s] / n
        scratch[1, s] = sums[b, s] / m
        scratch[2, s] = (sums[a, s] + sums[b, s]) / (n + m)
    return n * _mean_divergence(divergence, scratch[0], scratch[2]) + m * _mean_divergence(
        divergence, scratch[1], scratch[2]
    )


@inner_kernel
def single_sums(divergence, row, weight, out):
    """Sums of a cluster that holds one row."""
    n_statistics = divergence.n_statistics
    verbs.row_statistics(divergence.hyper, row, out)
    for s in range(n_statistics):
        out[s] *= weight
    for j in range(row.size):
        out[n_statistics + j] = weight * row[j]
    out[n_statistics + row.size] = 1.0


@kernel
def add_rows(divergence, rows, weights, labels, sums):
    """Add each row to the sums of its cluster."""
    work = np.zeros(sums.shape[1])
    for i in range(rows.shape[0]):
        single_sums(divergence, rows[i], weights[i], work)
        add_row(work, 1.0, sums, labels[i])


@kernel
def mean_divergences(divergence, means, centres, out):
    """Divergence of the mean of each cluster from another centre."""
    columns = means.shape[1] - 1
    for k in range(means.shape[0]):
        out[k] = _mean_divergence(divergence, means[k, :columns], centres[k])


@kernel
def divergences(divergence, rows, means, out):
    """Divergence of each row from each centre."""
    for i in range(rows.shape[0]):
        for k in range(means.shape[0]):
            out[i, k] = from_centre(divergence, rows[i], means[k])
