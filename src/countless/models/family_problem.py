"""What problems about rows of a family share: rows in local units, hyperparameters, and how these are learned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..families.base import Cluster, Family, Layout
from ..families.learnable import Law, Offsets
from ..partitions.clusters import own_hyper
from ..partitions.hyperparameters import install
from ..partitions.local_rows import LocalRows, MissingCells
from ..partitions.partition import log_prior_predictives
from ..partitions.seats import FloatArray, IntArray


@dataclass(frozen=True)
class FamilyProblem:
    """Rows and the family of their clusters; immutable, shared by all chains.

    Attributes
    ----------
    table : LocalRows
    family : Family
        In the units of the arithmetic.
    hyper : NamedTuple
        Its hyperparameters as kernels receive them.
    draws_missing : bool
        Whether missing cells are drawn along with the clusters; then each chain has rows of its own.
    untuned : Family
        The family before its hyperparameters were learned.
    left_open : tuple of str
        Hyperparameters that nobody has set, so that they may be learned.
    law : Law or None
        The law of the hyperparameters that engines learn; None where all stay as they are.
    log_factors : dict
        Offsets of the hyperparameters from ``untuned`` on their lines (mostly, logs of factors).
    log_hyperprior : float
        Their log density, part of the log joint.
    """

    table: LocalRows
    family: Family
    hyper: Any
    draws_missing: bool
    untuned: Family
    left_open: tuple[str, ...] = ()
    law: Law | None = None
    log_factors: Offsets = field(default_factory=dict)
    log_hyperprior: float = 0.0

    @classmethod
    def prepared(
        cls,
        X: FloatArray,
        family: Family,
        weights: FloatArray | None = None,
        left_open: tuple[str, ...] = (),
        **others: Any,
    ) -> Self:
        """Prepare rows for a resolved family; ``others`` are fields of the subclass."""
        table = LocalRows.of(X, family, weights, left_open)
        local = table.family
        return cls(table, local, local.prepare(), family.draws_missing(X), local, left_open, **others)

    # --- rows and clusters --------------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        return len(self.table.X)

    @property
    def X(self) -> FloatArray:
        """Rows on the lines of their columns, which are in the order of the kernels."""
        return self.table.X

    @property
    def shift(self) -> FloatArray:
        return self.table.shift

    @property
    def scale(self) -> FloatArray:
        return self.table.scale

    @property
    def weights(self) -> FloatArray | None:
        return self.table.weights

    @property
    def rows(self) -> FloatArray:
        """All rows as kernels take them."""
        return self.table.wide

    @property
    def missing(self) -> MissingCells:
        """The missing cells that are drawn."""
        return self.table.missing

    @property
    def log_jacobian(self) -> float:
        """What turns a log density of all cells that were seen, in local units, into one in the user's."""
        return self.table.log_jacobian

    @property
    def log_volumes(self) -> FloatArray:
        """What the log density of each row loses from local units to the user's."""
        return self.table.log_volumes

    def drawn_cells(self, rows: FloatArray) -> FloatArray:
        """What ``missing`` cells of rows as kernels take them hold, in the user's units."""
        return self.table.drawn_cells(rows[self.missing.rows, self.missing.places])

    def log_jacobian_of(self, rows: FloatArray) -> float:
        """What turns a log density of rows as kernels take them, drawn cells included, into one in the user's units."""
        if not self.draws_missing:
            return self.log_jacobian
        return self.log_jacobian + self.table.log_jacobian_of_drawn(rows[self.missing.rows, self.missing.places])

    def local(self, X: FloatArray) -> FloatArray:
        """Arranged rows ``X`` in the units of the arithmetic."""
        return self.table.local(X)

    @cached_property
    def log_new(self) -> FloatArray:
        """Log prior predictive of each row."""
        return log_prior_predictives(self.family, self.hyper, self.rows)

    @cached_property
    def layout(self) -> Layout:
        """Widths of the arrays of a cluster."""
        return self.family.layout()

    def slot(self) -> Cluster:
        """Room for one cluster; not ready for use until it is filled and refreshed."""
        statistics, cache, _, work, _ = self.layout
        return Cluster(np.empty((1, statistics)), np.empty((1, cache)), np.empty(max(2 * statistics, work)))

    def some(self, which: IntArray | slice) -> Self:
        """The same problem for some of the rows."""
        return replace(self, table=self.table.some(which))

    def completed(self, values: NDArray[Any]) -> FloatArray:
        """All rows as kernels take them, with missing cells that hold these values, in the user's units."""
        rows = self.rows.copy()
        cells = self.missing
        rows[cells.rows, cells.places] = self.table.local_cells(np.asarray(values, dtype=np.float64))
        return rows

    def with_missing(self, values: NDArray[Any]) -> FloatArray:
        """All rows as kernels take them, with missing cells that a checkpoint has kept; ValueError for others."""
        cells = self.missing
        if values.shape != cells.rows.shape or values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError("the state of a chain holds missing cells of a different table")
        rows = self.rows.copy()
        rows[cells.rows, cells.places] = values
        return rows

    # --- hyperparameters that are learned --------------------------------------------------------------------------

    def tuned(self, log_factors: Offsets, log_hyperprior: float = 0.0) -> Self:
        """The same rows with hyperparameters moved (``Family.with_tuned``), all others as they were at first."""
        family = self.untuned.with_tuned(log_factors)
        return replace(
            self,
            family=family,
            hyper=family.prepare(),
            log_factors=dict(log_factors),
            log_hyperprior=log_hyperprior,
        )

    def learning(self) -> Self:
        """The same problem where engines learn the hyperparameters that nobody has set."""
        law = self.untuned.law(self.left_open)
        return replace(self, law=law if law.places else None)

    @cached_property
    def base(self) -> Any:
        """Hyperparameters before any were learned, as kernels receive them."""
        return self.untuned.prepare()

    @cached_property
    def offsets(self) -> FloatArray:
        """Offsets of the hyperparameters in the order of the law; where there is one."""
        return np.empty(0) if self.law is None else self.law.in_order(self.log_factors)

    def at(self, log_factors: Offsets) -> Self:
        """``tuned``, in the basis of the problem's own statistics, which a family may choose by its hyperparameters."""
        law = self.untuned.law(self.left_open)
        if not law.places or set(log_factors) != set(law.places):
            return self.tuned(log_factors)
        return replace(self, law=law).learned(law.in_order(log_factors))

    def family_in_units(self) -> Family:
        """The family with its present hyperparameters, for rows in the user's units."""
        back = np.argsort(self.family.order(len(self.scale)))
        shift, scale = self.shift[back], self.scale[back]
        return self.family.in_units(-shift / scale, 1.0 / scale)

    def learned(self, offsets: FloatArray) -> Self:
        """The same rows with learned hyperparameters at these offsets, in the order of the law."""
        law = self.law
        if law is None:
            return self
        hyper = own_hyper(self.base)
        install(hyper, self.base, law, offsets)
        named = law.by_name(offsets)
        family = self.untuned.with_tuned(named)
        return replace(self, family=family, hyper=hyper, log_factors=named, log_hyperprior=law.log_density(offsets))
