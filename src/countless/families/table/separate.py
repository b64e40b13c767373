"""Independent columns with missing cells: every column is a small cluster of its own, of the rows that observe it.

Where the columns of a family are independent given the cluster, the evidence of a cluster is a product over columns,
and a missing cell integrates to one: its column has one row less. So the statistics of a cluster are its number of
rows, then for each column those of a one-column cluster of the same family. This is exact.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.jit import inner_kernel
from .. import verbs
from ..base import Family, FloatArray, Layout
from ..verbs import implements, never_inlined

IntArray = NDArray[np.int64]


@never_inlined
class Separate(NamedTuple):
    """Hyperparameters of all columns, and where each begins in the statistics, cache and parameters of a cluster.

    One array for all three: every array in here is passed along with every call, and compiled into it. ``n_board`` is
    the width of the cache where predictives are looked up in the board, which then has the caches of all clusters.
    """

    inner: Any
    starts: IntArray
    n_board: int


STATISTICS, CACHE, PARAMETERS = 0, 1, 2


class SeparatePart:
    """A family with independent columns as part of a table.

    Parameters
    ----------
    family : Family
        Resolved.
    n_columns : int
    """

    def __init__(self, family: Family, n_columns: int) -> None:
        self.family = family
        self.columns = [family.one_column(j) for j in range(n_columns)]
        self._layouts = [column.layout() for column in self.columns]

    def layout(self) -> Layout:
        """Widths of all columns together; one count of rows comes first."""
        widths = self._layouts
        work = max((max(2 * width.statistics, width.work) for width in widths), default=0)
        statistics = 1 + sum(width.statistics for width in widths)
        cache = sum(width.cache for width in widths)
        board = cache if self.family.looks_up else 0
        return Layout(statistics, cache, sum(width.parameters for width in widths), work, board)

    def prepare(self) -> Separate:
        """Hyperparameters as kernels receive them."""
        widths = np.array([[1, 0, 0], *(width[:3] for width in self._layouts)], dtype=np.int64)
        starts = np.ascontiguousarray(np.cumsum(widths, axis=0).T)
        return Separate(self.family.prepare(), starts, self.layout().board)

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` rows with these parameters."""
        first = self.prepare().starts[PARAMETERS]
        drawn = [
            column.draw_rows(parameters[first[j] : first[j + 1]], n, rng)[:, 0] for j, column in enumerate(self.columns)
        ]
        return np.stack(drawn, axis=1)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> list[dict[str, FloatArray]]:
        """Parameters of clusters by name, for each column."""
        first = self.prepare().starts[PARAMETERS]
        return [
            column.describe(parameters[:, first[j] : first[j + 1]], shift[j : j + 1], scale[j : j + 1])
            for j, column in enumerate(self.columns)
        ]

    def n_parameters(self) -> int:
        """Number of free parameters of one cluster."""
        return sum(column.n_parameters() for column in self.columns)

    def widen(self, rows: FloatArray) -> FloatArray:
        """Rows as kernels take them: a missing cell is NaN."""
        return rows


@inner_kernel
def _cell(row, j):
    return row[j : j + 1]


@inner_kernel
def _slice(array, starts, which, j):
    return array[:, starts[which, j] : starts[which, j + 1]]


@inner_kernel
def _span(vector, starts, j):
    return vector[starts[STATISTICS, j] : starts[STATISTICS, j + 1]]


@implements(verbs.row_statistics, Separate)
def _row_statistics(family, row, out):
    out[0] = 1.0
    for j in range(row.size):
        if math.isnan(row[j]):
            for s in range(family.starts[STATISTICS, j], family.starts[STATISTICS, j + 1]):
                out[s] = 0.0
        else:
            verbs.row_statistics(verbs.column(family.inner, j), _cell(row, j), _span(out, family.starts, j))


@implements(verbs.refresh, Separate)
def _refresh(family, statistics, cache, k, work):
    for j in range(family.starts.shape[1] - 1):
        verbs.refresh(
            verbs.column(family.inner, j),
            _slice(statistics, family.starts, STATISTICS, j),
            _slice(cache, family.starts, CACHE, j),
            k,
            work,
        )


@implements(verbs.add, Separate)
def _add(family, statistics, cache, k, row, work):
    statistics[k, 0] += 1.0
    for j in range(row.size):
        if not math.isnan(row[j]):
            verbs.add(
                verbs.column(family.inner, j),
                _slice(statistics, family.starts, STATISTICS, j),
                _slice(cache, family.starts, CACHE, j),
                k,
                _cell(row, j),
                work,
            )


@implements(verbs.remove, Separate)
def _remove(family, statistics, cache, k, row, work):
    statistics[k, 0] -= 1.0
    for j in range(row.size):
        if not math.isnan(row[j]):
            verbs.remove(
                verbs.column(family.inner, j),
                _slice(statistics, family.starts, STATISTICS, j),
                _slice(cache, family.starts, CACHE, j),
                k,
                _cell(row, j),
                work,
            )


@implements(verbs.log_predictive, Separate)
def _log_predictive(family, statistics, cache, k, row, work):
    value = 0.0
    for j in range(row.size):
        if not math.isnan(row[j]):
            value += verbs.log_predictive(
                verbs.column(family.inner, j),
                _slice(statistics, family.starts, STATISTICS, j),
                _slice(cache, family.starts, CACHE, j),
                k,
                _cell(row, j),
                work,
            )
    return value


@implements(verbs.log_predictive_without, Separate)
def _log_predictive_without(family, statistics, cache, k, row, work):
    value = 0.0
    for j in range(row.size):
        if not math.isnan(row[j]):
            value += verbs.log_predictive_without(
                verbs.column(family.inner, j),
                _slice(statistics, family.starts, STATISTICS, j),
                _slice(cache, family.starts, CACHE, j),
                k,
                _cell(row, j),
                work,
            )
    return value


@implements(verbs.publish, Separate)
def _publish(family, statistics, cache, board, k):
    for entry in range(family.n_board):
        board[entry, k] = cache[k, entry]


@implements(verbs.add_log_predictives, Separate)
def _add_log_predictives(family, statistics, cache, board, n_slots, row, work, reference, scores):
    """Column by column, all clusters in one loop, and along the board where the predictive is only looked up."""
    for j in range(row.size):
        if math.isnan(row[j]):
            continue
        if family.n_board > 0:
            first = family.starts[CACHE, j]
            place = first + verbs.place_of_cell(family.inner, j, row[j])
            for k in range(n_slots):
                scores[k] += board[first, k] + board[place, k]
            continue
        hyper = verbs.column(family.inner, j)
        cell = _cell(row, j)
        column_statistics = _slice(statistics, family.starts, STATISTICS, j)
        column_cache = _slice(cache, family.starts, CACHE, j)
        for k in range(n_slots):
            if scores[k] > -math.inf:
                scores[k] += verbs.log_predictive(hyper, column_statistics, column_cache, k, cell, work)


@implements(verbs.n_parts, Separate)
def _n_parts(family):
    return family.starts.shape[1] - 1


@implements(verbs.n_learned, Separate)
def _n_learned(family, j):
    return verbs.n_learned(verbs.column(family.inner, j), 0)


@implements(verbs.set_learned, Separate)
def _set_learned(family, base, j, c, offset):
    verbs.set_learned(verbs.column(family.inner, j), verbs.column(base.inner, j), 0, c, offset)


@implements(verbs.learned_evidences, Separate)
def _learned_evidences(family, statistics, cache, slots, j, c, work):
    return verbs.learned_evidences(
        verbs.column(family.inner, j),
        _slice(statistics, family.starts, STATISTICS, j),
        _slice(cache, family.starts, CACHE, j),
        slots,
        0,
        c,
        work,
    )


@implements(verbs.log_marginal, Separate)
def _log_marginal(family, statistics, cache, k):
    value = 0.0
    for j in range(family.starts.shape[1] - 1):
        value += verbs.log_marginal(
            verbs.column(family.inner, j),
            _slice(statistics, family.starts, STATISTICS, j),
            _slice(cache, family.starts, CACHE, j),
            k,
        )
    return value


@implements(verbs.draw_parameters, Separate)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    for j in range(family.starts.shape[1] - 1):
        verbs.draw_parameters(
            verbs.column(family.inner, j),
            _slice(statistics, family.starts, STATISTICS, j),
            _slice(cache, family.starts, CACHE, j),
            k,
            rng,
            _slice(parameters, family.starts, PARAMETERS, j),
        )


@implements(verbs.natural, Separate)
def _natural(family, parameters, k, out):
    """The constant of a column belongs to the count of its observed cells, not to that of all rows."""
    out[0] = 0.0
    for j in range(family.starts.shape[1] - 1):
        verbs.natural(
            verbs.column(family.inner, j),
            _slice(parameters, family.starts, PARAMETERS, j),
            k,
            _span(out, family.starts, j),
        )


@implements(verbs.expected_natural, Separate)
def _expected_natural(family, statistics, cache, k, out):
    out[0] = 0.0
    for j in range(family.starts.shape[1] - 1):
        verbs.expected_natural(
            verbs.column(family.inner, j),
            _slice(statistics, family.starts, STATISTICS, j),
            _slice(cache, family.starts, CACHE, j),
            k,
            _span(out, family.starts, j),
        )


@implements(verbs.estimate, Separate)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    bounded = False
    for j in range(family.starts.shape[1] - 1):
        bounded |= verbs.estimate(
            verbs.column(family.inner, j),
            _slice(statistics, family.starts, STATISTICS, j),
            _slice(cache, family.starts, CACHE, j),
            k,
            prior_weight,
            _slice(parameters, family.starts, PARAMETERS, j),
        )
    return bounded


@implements(verbs.log_prior, Separate)
def _log_prior(family, parameters, k):
    value = 0.0
    for j in range(family.starts.shape[1] - 1):
        value += verbs.log_prior(verbs.column(family.inner, j), _slice(parameters, family.starts, PARAMETERS, j), k)
    return value


@inner_kernel
def _observed_mean(means, starts, j):
    """Mean statistics of column ``j`` over the rows that observe it."""
    column = _span(means, starts, j).copy()
    observed = column[0]
    if observed > 0.0:
        for s in range(column.size):
            column[s] /= observed
    return column


@implements(verbs.divergence, Separate)
def _divergence(family, row, centre):
    """Over the columns that are observed in the row and somewhere in the cluster."""
    value = 0.0
    for j in range(row.size):
        if not math.isnan(row[j]) and centre[family.starts[STATISTICS, j]] > 0.0:
            value += verbs.divergence(
                verbs.column(family.inner, j), _cell(row, j), _observed_mean(centre, family.starts, j)
            )
    return value


@implements(verbs.mean_divergence, Separate)
def _mean_divergence(family, mean_row, mean, centre):
    """Each column counts by the share of the cluster's rows that observe it."""
    value = 0.0
    for j in range(mean_row.size):
        observed = mean[family.starts[STATISTICS, j]]
        if observed > 0.0 and centre[family.starts[STATISTICS, j]] > 0.0:
            value += observed * verbs.mean_divergence(
                verbs.column(family.inner, j),
                _cell(mean_row, j),
                _observed_mean(mean, family.starts, j),
                _observed_mean(centre, family.starts, j),
            )
    return value
