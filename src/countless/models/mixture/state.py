"""What a chain carries: labels, the clusters' statistics and caches, and the concentration, as plain arrays.

A label is a slot: a row of ``statistics`` and ``cache``. ``active[:n_clusters]`` lists the slots in use and
``active[n_clusters:]`` the free ones, so that clusters come and go in constant time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.jit import kernel
from ...core.validate import by_first_appearance
from ...families import Family, Layout, verbs
from ...families.arrays import log_volumes
from ...families.base import Cluster
from ...priors import Prior
from ...priors.verbs import PartitionTable

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Free slots that moves may always count on: one for a new cluster, two to build proposals in.
SPARE_SLOTS = 3


class Chain(NamedTuple):
    """The arrays of a state, as kernels receive them."""

    labels: IntArray
    sizes: IntArray
    active: IntArray
    statistics: FloatArray
    cache: FloatArray
    work: FloatArray
    board: FloatArray
    log_weights: FloatArray
    parameters: FloatArray


class MissingCells(NamedTuple):
    """Missing cells that are drawn: their rows, their columns in ``Problem.X`` and in ``Problem.rows``."""

    rows: IntArray
    columns: IntArray
    places: IntArray


def missing_cells(family: Family, X: FloatArray) -> MissingCells:
    """Missing cells of arranged rows that the family has drawn."""
    plain, wide = family.drawn_columns()
    rows, which = np.nonzero(np.isnan(X[:, plain]))
    return MissingCells(rows, plain[which], wide[which])


@dataclass(frozen=True)
class Problem:
    """Rows with the family and the prior, in the units that suit the arithmetic; shared by all chains.

    Columns are in the order of the kernels. Samplers walk over ``rows``, a copy in those units that is made when it is
    first asked for. Engines that go over blocks of rows take them from ``X`` with ``shift`` and ``scale``, and need no
    copy.
    """

    X: FloatArray
    shift: FloatArray
    scale: FloatArray
    family: Family
    hyper: Any
    prior: Prior
    weights: FloatArray | None = None
    # Whether cells that are missing are drawn along with the clusters; then each chain has rows of its own.
    draws_missing: bool = False
    # Where hyperparameters are learned: the family without that, their log factors, and the log density of these.
    base: Family | None = None
    log_factors: Mapping[str, float] = field(default_factory=dict)
    log_hyperprior: float = 0.0

    @classmethod
    def of(cls, X: FloatArray, family: Family, prior: Prior, weights: FloatArray | None = None) -> Problem:
        """Prepare rows ``X``, each counted ``weights`` times, for a resolved family and prior."""
        units = family.units(X)
        arranged = family.arrange(X)
        if units is None:
            nothing, one = np.zeros(X.shape[1]), np.ones(X.shape[1])
            return cls(arranged, nothing, one, family, family.prepare(), prior, weights, family.draws_missing(X))
        local = family.in_units(*units)
        shift, scale = (family.arrange(row[None, :])[0] for row in units)
        return cls(arranged, shift, scale, local, local.prepare(), prior, weights, family.draws_missing(X))

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @cached_property
    def rows(self) -> FloatArray:
        """All rows in the units of the arithmetic, as kernels take them."""
        return self.family.widen(self.local(self.X))

    def for_chain(self) -> Problem:
        """The same problem for one chain, which may write into its rows where missing cells are drawn."""
        if not self.draws_missing:
            return self
        twin = replace(self)
        vars(twin).update(rows=self.rows.copy(), log_new=self.log_new)
        return twin

    @cached_property
    def missing(self) -> MissingCells:
        """The cells that are drawn."""
        return missing_cells(self.family, self.X)

    def drawn_cells(self) -> FloatArray:
        """What the missing cells hold now, in the user's units, in the order of ``missing``."""
        rows, columns, places = self.missing
        return self.rows[rows, places] * self.scale[columns] + self.shift[columns]

    def local(self, X: FloatArray) -> FloatArray:
        """Rows ``X`` in the units of the arithmetic."""
        return np.ascontiguousarray((X - self.shift) / self.scale)

    @cached_property
    def log_new(self) -> FloatArray:
        """Log prior predictive of each row."""
        empty = self.family.allocate(1)
        out = np.empty(self.n_rows)
        _score_rows(self.hyper, empty.statistics, empty.cache, 0, self.rows, empty.work, out)
        return out

    @cached_property
    def layout(self) -> Layout:
        """Widths of the arrays of a cluster."""
        return self.family.layout()

    def slot(self) -> Cluster:
        """Room for one cluster; not ready for use until it is filled and refreshed."""
        statistics, cache, _, work, _ = self.layout
        return Cluster(np.empty((1, statistics)), np.empty((1, cache)), np.empty(max(2 * statistics, work)))

    @cached_property
    def log_jacobian(self) -> float:
        """What turns a log density of all rows in local units into one in the user's."""
        volumes = log_volumes(self.X, self.scale)
        return -float(volumes.sum() if self.weights is None else volumes @ self.weights)

    def describe(self, parameters: FloatArray) -> dict[str, FloatArray]:
        """Parameters of clusters (clusters, P) as named arrays in the user's units."""
        return self.family.describe(parameters, self.shift, self.scale)

    @property
    def untuned(self) -> Family:
        """The family as it was before its hyperparameters were learned."""
        return self.family if self.base is None else self.base

    def tuned(self, log_factors: Mapping[str, float], log_hyperprior: float = 0.0) -> Problem:
        """The same rows with hyperparameters multiplied (``Family.with_tuned``), all others as they were at first.

        ``log_hyperprior``, the log density of the log factors, becomes part of the log joint.
        """
        base = self.untuned
        family = base.with_tuned(log_factors)
        twin = replace(
            self,
            family=family,
            hyper=family.prepare(),
            base=base,
            log_factors=dict(log_factors),
            log_hyperprior=log_hyperprior,
        )
        if "rows" in vars(self):  # the copy in local units serves both
            vars(twin)["rows"] = self.rows
        return twin

    def some(self, which: IntArray | slice) -> Problem:
        """The same problem for some of the rows."""
        weights = None if self.weights is None else self.weights[which]
        return replace(self, X=np.ascontiguousarray(self.X[which]), weights=weights)


class State:
    """One partition of the rows of a problem, with everything derived from it kept current.

    Moves that keep parameters have those of slot k in ``chain.parameters[k]``; NaN where none were drawn yet.
    Moves that keep weights of components leave them in ``weights``, one for each of the slots 0, 1, 2, ...
    """

    weights: FloatArray | None = None

    def __init__(self, problem: Problem, labels: IntArray, concentration: float) -> None:
        labels = by_first_appearance(labels)
        self.n_clusters = int(labels.max()) + 1
        capacity = min(problem.n_rows, max(16, 2 * self.n_clusters)) + SPARE_SLOTS
        self.chain = _allocate(problem, labels, capacity)
        self.rebuild(problem)
        self.set_concentration(problem, concentration)

    @property
    def capacity(self) -> int:
        return len(self.chain.sizes)

    def reserve(self, problem: Problem, n_clusters: int) -> None:
        """Make sure that as many more clusters can be made, as far as there are rows for them."""
        while self.capacity < min(problem.n_rows, self.n_clusters + n_clusters) + SPARE_SLOTS:
            self.grow(problem)

    def grow(self, problem: Problem) -> None:
        """Room for twice as many clusters; slots in use keep their numbers."""
        self.enlarge(problem, min(problem.n_rows, 2 * self.capacity) + SPARE_SLOTS)

    def enlarge(self, problem: Problem, capacity: int) -> None:
        """Room for so many slots, if there is less; slots keep their numbers."""
        old, used = self.chain, self.capacity
        if capacity <= used:
            return
        self.chain = _allocate(problem, old.labels, capacity)
        for name in ("sizes", "active", "statistics", "cache", "parameters"):
            getattr(self.chain, name)[:used] = getattr(old, name)
        self.set_concentration(problem, self.concentration)

    def compact(self) -> None:
        """Renumber the slots in use 0, 1, 2, ... so that sweeps need not step over free ones."""
        self.renumber(self.chain.active.copy())

    def renumber(self, order: IntArray) -> None:
        """Slots order[0], order[1], ... become 0, 1, ...; ``order`` lists every slot."""
        old = self.chain
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.chain = old._replace(
            labels=place[old.labels],
            sizes=old.sizes[order],
            active=place[old.active],
            statistics=old.statistics[order],
            cache=old.cache[order],
            parameters=old.parameters[order],
        )

    def set_concentration(self, problem: Problem, value: float) -> None:
        """Use this concentration from now on."""
        self.concentration = value
        prior = problem.prior.with_concentration(value) if problem.prior.is_learned else problem.prior
        self.table: PartitionTable = prior.table(problem.n_rows, self.capacity)

    def rebuild(self, problem: Problem) -> float:
        """Recompute sizes, statistics and caches from the rows; returns how far the statistics had drifted."""
        in_use = self.chain.active[: self.n_clusters]
        before = self.chain.statistics[in_use]
        _rebuild(problem.hyper, problem.rows, self.chain, self.n_clusters)
        after = self.chain.statistics[in_use]
        return float(np.max(np.abs(before - after) / (1.0 + np.abs(after)), initial=0.0))

    def slots(self) -> IntArray:
        """Slots in use, in the order of ``partition()``: by first appearance."""
        labels = self.chain.labels
        first = np.unique(labels, return_index=True)[1]
        return labels[np.sort(first)]

    def cluster_sizes(self) -> IntArray:
        """Sizes of the clusters in use."""
        return self.chain.sizes[self.chain.active[: self.n_clusters]]

    def log_joint(self, problem: Problem) -> float:
        """Log of p(rows, partition | concentration) in the units of the user's rows.

        With a learned concentration its gamma density (of the logarithm) is part of it, and so is the density
        of learned hyperparameters.
        """
        value = float(_log_joint(problem.hyper, self.table, self.chain, self.n_clusters))
        if problem.prior.is_learned:
            value += problem.prior.log_concentration_prior(self.concentration)
        return value + problem.log_hyperprior + problem.log_jacobian

    def partition(self) -> IntArray:
        """Labels renumbered by first appearance."""
        return by_first_appearance(self.chain.labels)

    def copy(self) -> State:
        """An independent copy."""
        twin = State.__new__(State)
        twin.chain = Chain._make(array.copy() for array in self.chain)
        twin.n_clusters, twin.concentration, twin.table = self.n_clusters, self.concentration, self.table
        twin.weights = None if self.weights is None else self.weights.copy()
        return twin


def _allocate(problem: Problem, labels: IntArray, capacity: int) -> Chain:
    statistics, cache, work = problem.family.allocate(capacity)
    layout = problem.family.layout()
    return Chain(
        labels,
        np.zeros(capacity, dtype=np.int64),
        np.arange(capacity, dtype=np.int64),
        statistics,
        cache,
        work,
        np.zeros((layout.board, capacity)),
        np.empty(capacity + 1),
        np.full((capacity, layout.parameters), np.nan),
    )


@kernel
def _score_rows(family, statistics, cache, k, rows, work, out):
    for i in range(rows.shape[0]):
        out[i] = verbs.log_predictive(family, statistics, cache, k, rows[i], work)


@kernel
def _rebuild(family, rows, chain, n_clusters):
    statistics = chain.statistics
    width = statistics.shape[1]
    for k in range(chain.sizes.size):
        chain.sizes[k] = 0
        for s in range(width):
            statistics[k, s] = 0.0
    for i in range(rows.shape[0]):
        k = chain.labels[i]
        chain.sizes[k] += 1
        verbs.row_statistics(family, rows[i], chain.work)
        for s in range(width):
            statistics[k, s] += chain.work[s]
    for position in range(n_clusters):
        verbs.refresh(family, statistics, chain.cache, chain.active[position], chain.work)


@kernel
def _log_joint(family, table, chain, n_clusters):
    """log V(t) + sum over clusters of log Gamma(n + offset) / Gamma(1 + offset) + evidence."""
    total = table.log_v[n_clusters]
    for position in range(n_clusters):
        k = chain.active[position]
        total += verbs.log_marginal(family, chain.statistics, chain.cache, k)
        total += log_size_weight(chain.sizes[k], table.offset)
    return total


@kernel
def log_size_weight(size, offset):
    """Factor of the prior for one cluster: log of (1 + offset) (2 + offset) ... (size - 1 + offset)."""
    return math.lgamma(size + offset) - math.lgamma(1.0 + offset)
