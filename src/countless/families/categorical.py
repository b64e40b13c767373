"""Columns of categories, coded 0, 1, 2, ..., with Dirichlet priors (Raykov et al. 2016, app. B).

    p_j ~ Dirichlet(concentration_j),  P(x_j = l | p_j) = p_jl, independent over columns

A row is predicted by (concentration_jl + count_jl) / (sum_l concentration_jl + n), one factor per column.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..core.jit import kernel
from ..core.special import digamma, less, log_gamma_draw, log_rising, normalise_logs
from . import verbs
from .arrays import as_numbers, require_counts
from .base import JEFFREYS, Family, FloatArray, Layout, register
from .columns import Column
from .learnable import Law, Offsets
from .verbs import implements

# A larger code is an identifier, not a category: a cluster would need a number for each code below it.
MOST_LEVELS = 1_000_000


class DirichletColumns(NamedTuple):
    """Concentrations of all levels of all columns in one array; ``first[j]`` is where column j starts.

    ``spans[j]`` is what ``first`` would be if column j were alone.
    """

    concentration: FloatArray
    first: NDArray[np.int64]
    spans: NDArray[np.int64]
    totals: FloatArray


@register("categorical")
@dataclass(frozen=True, eq=False)
class Categorical(Family):
    """Independent categorical columns; Dirichlet priors.

    Rows hold codes 0, 1, 2, ... A column with L levels has codes below L.

    Parameters
    ----------
    concentration : float, or a list with one number or one array of L numbers for each column, optional
        Dirichlet pseudo-counts. Default: learned, from 1/2 for every level (Jeffreys).
    n_levels : int or list of int, optional
        Number of levels of each column. Default: one more than the largest code in the data.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.Categorical(concentration=1.0, n_levels=3)
    >>> round(family.log_marginal([[0], [0], [2]]), 6)  # log(1*2*1 / (3*4*5))
    -3.401197
    """

    learnable: ClassVar = ("concentration",)
    spreads: ClassVar = {"concentration": 0.7}
    strengths: ClassVar = ("concentration",)
    statistics_stay: ClassVar = True
    missing: ClassVar = "integrated"
    looks_up: ClassVar = True

    concentration: Any = None
    n_levels: Any = None

    def resolve(self, X: FloatArray) -> Self:
        levels = self._levels(X)
        given = self.concentration
        columns = list(given) if _one_each(given) else [given] * len(levels)
        if len(columns) != len(levels):
            raise ValueError(f"concentration must have one entry for each of the {len(levels)} columns")
        return self._with(
            concentration=tuple(
                _pseudo_counts(c, int(n), j) for j, (c, n) in enumerate(zip(columns, levels, strict=True))
            ),
            n_levels=tuple(int(n) for n in levels),
        )

    def _levels(self, X: FloatArray) -> NDArray[np.int64]:
        d = X.shape[1]
        if self.n_levels is None:
            seen = np.maximum(X.max(axis=0, initial=0).astype(np.int64) + 1, 1)
            if not _one_each(self.concentration):
                return seen
            given = [np.size(c) if np.ndim(c) == 1 else 0 for c in self.concentration]
            return np.where(given, given, seen) if len(given) == d else seen
        levels = np.asarray(self.n_levels)
        if levels.ndim > 1 or levels.dtype.kind not in "iu" or np.any(levels < 1) or levels.size not in (1, d):
            raise ValueError(f"n_levels must be a whole number for each of the {d} columns, got {self.n_levels!r}")
        return np.broadcast_to(levels, (d,))

    def law(self, names: Collection[str]) -> Law:
        columns: Any = self.concentration
        return self._law({"concentration": np.arange(sum(map(len, columns)))}, names)

    def column_offsets(self, offsets: Offsets, j: int) -> dict[str, Any]:
        columns: Any = self.concentration
        first = sum(len(column) for column in columns[:j])
        return {
            name: value[first : first + len(columns[j])] if np.size(value) > 1 else value
            for name, value in offsets.items()
        }

    def with_levels(self, levels: Sequence[tuple[str, ...] | None]) -> Self:
        """As many levels as there are names, whether or not the rows hold them all."""
        return self._with(n_levels=[len(names or ()) for names in levels])

    def check(self, X: FloatArray) -> None:
        require_counts(X, "categorical data")
        if X.max(initial=0) >= MOST_LEVELS:
            i, j = np.argwhere(X >= MOST_LEVELS)[0]
            raise ValueError(
                f"X: column {j} holds the code {X[i, j]:g}; number its categories 0, 1, 2, ... without gaps"
            )
        levels = self._levels(X)
        over = np.argwhere(levels <= X)
        if len(over):
            i, j = over[0]
            raise ValueError(
                f"X: column {j} has {levels[j]} levels, so its codes run from 0 to {levels[j] - 1}; got {X[i, j]:g}"
            )

    def prepare(self) -> DirichletColumns:
        columns: Any = self.concentration
        sizes = [len(column) for column in columns]
        return DirichletColumns(
            np.ascontiguousarray(np.concatenate(columns)),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.array([[0, size] for size in sizes], dtype=np.int64),
            np.array([column.sum() for column in columns]),
        )

    def layout(self) -> Layout:
        columns: Any = self.concentration
        total = sum(len(column) for column in columns)
        return Layout(1 + total, 1 + total, total)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        """Probabilities of the levels, column after column."""
        return {"probabilities": parameters}

    def describe_columns(self, names: Sequence[str]) -> tuple[Column, ...]:
        """Categories are called by their codes."""
        levels: Any = self.n_levels
        return tuple(
            Column(name, self.short_name(), tuple(map(str, range(n)))) for name, n in zip(names, levels, strict=True)
        )

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        first = self.prepare().first
        rows = np.empty((n, len(first) - 1))
        for j, (start, stop) in enumerate(pairwise(first)):
            p = parameters[start:stop]
            rows[:, j] = rng.choice(stop - start, size=n, p=p / p.sum())
        return rows

    def n_parameters(self) -> int:
        """One less than levels in each column: probabilities sum to one."""
        columns: Any = self.concentration
        return sum(len(column) - 1 for column in columns)

    def _no_rows(self) -> FloatArray:
        d = len(self.concentration) if _one_each(self.concentration) else np.size(self.n_levels)
        return np.empty((0, d))


def _one_each(given: Any) -> bool:
    """Whether concentrations come column by column; the columns may have different lengths."""
    return isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.ndim > 0)


def _pseudo_counts(given: Any, n_levels: int, j: int) -> FloatArray:
    if given is None:
        return np.full(n_levels, JEFFREYS)
    values = as_numbers("concentration", given)
    if values.ndim > 1 or values.size not in (1, n_levels):
        raise ValueError(
            f"concentration of column {j} must be a number or one for each of its {n_levels} levels, got {given!r}"
        )
    values = np.broadcast_to(values, (n_levels,)).copy()
    if not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"concentration must be positive, got {given!r}")
    return values


@implements(verbs.column, DirichletColumns)
def _column(family, j):
    return DirichletColumns(
        family.concentration[family.first[j] : family.first[j + 1]],
        family.spans[j],
        family.spans[j : j + 1],
        family.totals[j : j + 1],
    )


@implements(verbs.row_statistics, DirichletColumns)
def _row_statistics(family, row, out):
    for s in range(family.concentration.size + 1):
        out[s] = 0.0
    out[0] = 1.0
    for j in range(row.size):
        out[1 + family.first[j] + int(row[j])] = 1.0


@implements(verbs.refresh, DirichletColumns)
def _refresh(family, statistics, cache, k, work):
    """Logarithms of all posterior pseudo-counts, and of their totals, so that a prediction only looks up."""
    total = 0.0
    for j in range(family.totals.size):
        total += math.log(family.totals[j] + statistics[k, 0])
    cache[k, 0] = -total
    for s in range(family.concentration.size):
        cache[k, 1 + s] = math.log(family.concentration[s] + statistics[k, 1 + s])


@kernel
def _shift_row(family, statistics, cache, k, row, sign):
    statistics[k, 0] += sign
    total = 0.0
    for j in range(row.size):
        s = 1 + family.first[j] + int(row[j])
        statistics[k, s] += sign
        cache[k, s] = math.log(family.concentration[s - 1] + statistics[k, s])
        total += math.log(family.totals[j] + statistics[k, 0])
    cache[k, 0] = -total


@implements(verbs.add, DirichletColumns)
def _add(family, statistics, cache, k, row, work):
    _shift_row(family, statistics, cache, k, row, 1.0)


@implements(verbs.remove, DirichletColumns)
def _remove(family, statistics, cache, k, row, work):
    _shift_row(family, statistics, cache, k, row, -1.0)


@implements(verbs.log_predictive, DirichletColumns)
def _log_predictive(family, statistics, cache, k, row, work):
    value = cache[k, 0]
    for j in range(row.size):
        value += cache[k, 1 + family.first[j] + int(row[j])]
    return value


@implements(verbs.place_of_cell, DirichletColumns)
def _place_of_cell(family, j, cell):
    return 1 + int(cell)


@implements(verbs.log_predictive_without, DirichletColumns)
def _log_predictive_without(family, statistics, cache, k, row, work):
    value = 0.0
    for j in range(row.size):
        s = family.first[j] + int(row[j])
        count, n = less(statistics[k, 1 + s], 1.0), less(statistics[k, 0], 1.0)
        value += math.log((family.concentration[s] + count) / (family.totals[j] + n))
    return value


@implements(verbs.log_marginal, DirichletColumns)
def _log_marginal(family, statistics, cache, k):
    value = 0.0
    for s in range(family.concentration.size):
        value += log_rising(family.concentration[s], statistics[k, 1 + s])
    for j in range(family.totals.size):
        value -= log_rising(family.totals[j], statistics[k, 0])
    return value


@implements(verbs.n_parts, DirichletColumns)
def _n_parts(family):
    return family.totals.size


@implements(verbs.n_learned, DirichletColumns)
def _n_learned(family, j):
    return family.first[j + 1] - family.first[j]


@implements(verbs.set_learned, DirichletColumns)
def _set_learned(family, base, j, c, offset):
    s = family.first[j] + c
    family.concentration[s] = base.concentration[s] * math.exp(offset)
    total = 0.0
    for level in range(family.first[j], family.first[j + 1]):
        total += family.concentration[level]
    family.totals[j] = total


@implements(verbs.learned_evidence, DirichletColumns)
def _learned_evidence(family, statistics, cache, k, j, c, work):
    """Only the level itself and the total of the column depend on it."""
    s = family.first[j] + c
    value = log_rising(family.concentration[s], statistics[k, 1 + s])
    return value - log_rising(family.totals[j], statistics[k, 0])


@implements(verbs.draw_parameters, DirichletColumns)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    """Probabilities of the levels, column after column."""
    for j in range(family.totals.size):
        for s in range(family.first[j], family.first[j + 1]):
            parameters[k, s] = log_gamma_draw(rng, family.concentration[s] + statistics[k, 1 + s])
        normalise_logs(parameters, k, family.first[j], family.first[j + 1])


@implements(verbs.natural, DirichletColumns)
def _natural(family, parameters, k, out):
    out[0] = 0.0
    for s in range(family.concentration.size):
        out[1 + s] = math.log(parameters[k, s])


@implements(verbs.estimate, DirichletColumns)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """(w concentration_jl + count_jl) / (w total_j + n), the mode in the soft-max basis of each column."""
    empty = statistics[k, 0] <= 0.0
    weight = 1.0 if empty else prior_weight
    for j in range(family.totals.size):
        total = weight * family.totals[j] + statistics[k, 0]
        for s in range(family.first[j], family.first[j + 1]):
            parameters[k, s] = max((weight * family.concentration[s] + statistics[k, 1 + s]) / total, 1e-300)
    return empty


@implements(verbs.log_prior, DirichletColumns)
def _log_prior(family, parameters, k):
    """Density in the soft-max basis of each column."""
    value = 0.0
    for j in range(family.totals.size):
        value += math.lgamma(family.totals[j])
    for s in range(family.concentration.size):
        value += family.concentration[s] * math.log(parameters[k, s]) - math.lgamma(family.concentration[s])
    return value


@implements(verbs.expected_natural, DirichletColumns)
def _expected_natural(family, statistics, cache, k, out):
    out[0] = 0.0
    for j in range(family.totals.size):
        total = digamma(family.totals[j] + statistics[k, 0])
        for s in range(family.first[j], family.first[j + 1]):
            out[1 + s] = digamma(family.concentration[s] + statistics[k, 1 + s]) - total


@implements(verbs.divergence, DirichletColumns)
def _divergence(family, row, centre):
    """Kullback-Leibler divergence of the row's indicators from the frequencies of the cluster."""
    value = 0.0
    for j in range(row.size):
        value -= math.log(max(centre[1 + family.first[j] + int(row[j])], 1e-300))
    return value


@implements(verbs.mean_divergence, DirichletColumns)
def _mean_divergence(family, mean_row, mean, centre):
    """Kullback-Leibler divergence between the frequencies of two clusters; the mean of codes means nothing."""
    value = 0.0
    for s in range(1, 1 + family.concentration.size):
        if mean[s] > 0.0:
            value += mean[s] * math.log(mean[s] / max(centre[s], 1e-300))
    return value
