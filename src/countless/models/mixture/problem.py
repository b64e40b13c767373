"""The problem of a mixture: rows with their family and prior, in the units that suit the arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chains.contract import Frozen
from ...chains.draws import Draws, flat
from ...chains.fields import Field
from ...families.arrays import log_volumes, shifted_and_scaled
from ...families.base import Cluster, Family, Layout
from ...families.gaussian.resolution import spread_equal_cells
from ...families.learnable import Law, Offsets
from ...partitions.clusters import own_hyper
from ...partitions.hyperparameters import install
from ...partitions.partition import log_prior_predictives
from ...partitions.seats import FloatArray, IntArray
from ...partitions.starts import start_labels
from ...priors.verbs import Prior
from ...tuning.evidence import Evidence

if TYPE_CHECKING:
    from .state import State

N_CLUSTERS = "n_clusters"


class MissingCells(NamedTuple):
    """Missing cells that are drawn: their rows, their columns in ``LocalRows.X`` and in ``LocalRows.wide``."""

    rows: IntArray
    columns: IntArray
    places: IntArray


def missing_cells(family: Family, X: FloatArray) -> MissingCells:
    """Missing cells of arranged rows that the family has drawn."""
    plain, wide = family.drawn_columns()
    rows, which = np.nonzero(np.isnan(X[:, plain]))
    return MissingCells(rows, plain[which], wide[which])


@dataclass(frozen=True)
class LocalRows:
    """Rows and the units that suit the arithmetic; shared by all problems about the same rows.

    Samplers walk over ``wide``, a copy in those units that is made when it is first asked for. Engines that go over
    blocks of rows ask for a ``block`` at a time and need no copy.

    Attributes
    ----------
    X : array (row, column)
        In the user's units, columns in the order of the kernels.
    shift, scale : array (column,)
    family : Family
        In the units of the arithmetic; how it arranges and widens rows does not depend on its hyperparameters.
    weights : array (row,) or None
        How often each row counts.
    """

    X: FloatArray
    shift: FloatArray
    scale: FloatArray
    family: Family
    weights: FloatArray | None = None

    @cached_property
    def wide(self) -> FloatArray:
        """All rows as kernels take them."""
        return self.block(slice(None))

    def block(self, which: slice | IntArray) -> FloatArray:
        """Some rows as kernels take them."""
        return self.family.widen(self.local(self.X[which]))

    def local(self, X: FloatArray) -> FloatArray:
        """Arranged rows ``X`` in the units of the arithmetic."""
        return shifted_and_scaled(X, self.shift, self.scale)

    @cached_property
    def missing(self) -> MissingCells:
        """The cells that are drawn."""
        return missing_cells(self.family, self.X)

    @cached_property
    def log_jacobian(self) -> float:
        """What turns a log density of all cells that were seen, in local units, into one in the user's."""
        volumes = log_volumes(self.X, self.scale)
        return -float(volumes.sum() if self.weights is None else volumes @ self.weights)

    def some(self, which: IntArray | slice) -> LocalRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[which]
        return replace(self, X=np.ascontiguousarray(self.X[which]), weights=weights)


@dataclass(frozen=True)
class Problem:
    """Rows, family and prior of a mixture; immutable, shared by all chains.

    Attributes
    ----------
    table : LocalRows
    family : Family
        In the units of the arithmetic.
    hyper : NamedTuple
        Its hyperparameters as kernels receive them.
    prior : Prior
        Resolved.
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
    prior: Prior
    draws_missing: bool
    untuned: Family
    left_open: tuple[str, ...] = ()
    law: Law | None = None
    log_factors: Offsets = field(default_factory=dict)
    log_hyperprior: float = 0.0

    @classmethod
    def of(
        cls,
        X: FloatArray,
        family: Family,
        prior: Prior,
        weights: FloatArray | None = None,
        left_open: tuple[str, ...] = (),
    ) -> Problem:
        """Prepare rows ``X``, each counted ``weights`` times, for a resolved family and prior.

        Where hyperparameters are left open, equal measurements are spread over their resolution
        (``families.gaussian.resolution``): only those who set everything ask for the density of the cells as they are.
        """
        units = family.units(X)
        drawn = family.draws_missing(X)
        if units is None:
            units = np.zeros(X.shape[1]), np.ones(X.shape[1])
        else:
            family = family.in_units(*units)
        shift, scale = (family.arrange(row[None, :])[0] for row in units)
        rows = family.arrange(X)
        if left_open:
            rows = spread_equal_cells(rows, family.measured_columns(rows.shape[1]))
        table = LocalRows(rows, shift, scale, family, weights)
        return cls(table, family, family.prepare(), prior, drawn, family, left_open)

    # --- the contract of a problem -----------------------------------------------------------------------------------

    @property
    def axes(self) -> dict[str, int]:
        """Rows, and the missing cells that are drawn."""
        return {"row": self.n_rows, "missing": len(self.missing.rows) if self.draws_missing else 0}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What a draw of a mixture consists of; parts that only some engines have are optional."""
        learned = self.prior.learned_names
        others = [name for name in learned if name != "concentration"]
        return (
            Field("labels", "labels", ("row",), of=N_CLUSTERS),
            Field(N_CLUSTERS, "count", words="number of clusters"),
            Field("log_joint", "number"),
            Field("concentration", "number", compared="concentration" in learned),
            *(Field(name, "count" if self.prior.law_of(name).is_count else "number") for name in others),
            Field("log_factors/*", "number", None, optional=True, compared=False),
            Field("missing", "number", ("missing",), optional=True, single=True),
            Field("n_sticks", "count", optional=True, compared=False),
            Field("weights", "number", per=N_CLUSTERS, optional=True),
            Field("parameters/*", "number", None, per=N_CLUSTERS, optional=True),
            Field("objective", "number", ("step",), once=True, optional=True),
            Field("mode", "labels", ("row",), once=True, optional=True),
            Field("components/statistics", "number", ("component", "statistic"), once=True, optional=True),
            Field("components/log_weights", "number", ("component or other",), once=True, optional=True),
        )

    def start(self, kind: Any, number: int, rng: np.random.Generator) -> State:
        """A state in one of the clusterings of ``partitions.starts``, or in labels that are given."""
        state = self.state(np.zeros(self.n_rows, dtype=np.int64))
        state.relabel(start_labels(kind, number, state, rng))
        state.set_prior(self.prior.initial(state.n_clusters))
        return state

    def state(self, labels: IntArray, at: float | Prior | None = None) -> State:
        """The state with these labels; the numbers of the prior are by default where chains begin."""
        from .state import State

        return State(self, labels, self.prior.initial(int(labels.max()) + 1) if at is None else at)

    def thaw(self, frozen: Frozen) -> State:
        """The state that was frozen; ValueError where it is none of this problem."""
        from .state import State

        return State.thawed(self, frozen)

    # --- rows and clusters --------------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        return len(self.table.X)

    @property
    def X(self) -> FloatArray:
        """Rows in the user's units, columns in the order of the kernels."""
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

    def some(self, which: IntArray | slice) -> Problem:
        """The same problem for some of the rows."""
        return replace(self, table=self.table.some(which))

    def completed(self, values: NDArray[Any]) -> FloatArray:
        """All rows as kernels take them, with missing cells that hold these values, in the user's units."""
        rows = self.rows.copy()
        cells = self.missing
        rows[cells.rows, cells.places] = (values - self.shift[cells.columns]) / self.scale[cells.columns]
        return rows

    # --- hyperparameters that are learned --------------------------------------------------------------------------

    def tuned(self, log_factors: Offsets, log_hyperprior: float = 0.0) -> Problem:
        """The same rows with hyperparameters moved (``Family.with_tuned``), all others as they were at first."""
        family = self.untuned.with_tuned(log_factors)
        return replace(
            self,
            family=family,
            hyper=family.prepare(),
            log_factors=dict(log_factors),
            log_hyperprior=log_hyperprior,
        )

    def learning(self) -> Problem:
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

    def at(self, log_factors: Offsets) -> Problem:
        """``tuned``, in the basis of the problem's own statistics, which a family may choose by its hyperparameters."""
        law = self.untuned.law(self.left_open)
        if not law.places or set(log_factors) != set(law.places):
            return self.tuned(log_factors)
        return replace(self, law=law).learned(law.in_order(log_factors))

    def family_in_units(self) -> Family:
        """The family with its present hyperparameters, for rows in the user's units."""
        shift, scale = (self.family.restore(each[None, :])[0] for each in (self.shift, self.scale))
        return self.family.in_units(-shift / scale, 1.0 / scale)

    def learned(self, offsets: FloatArray) -> Problem:
        """The same rows with learned hyperparameters at these offsets, in the order of the law."""
        law = self.law
        if law is None:
            return self
        hyper = own_hyper(self.base)
        install(hyper, self.base, law, offsets)
        named = law.by_name(offsets)
        family = self.untuned.with_tuned(named)
        return replace(self, family=family, hyper=hyper, log_factors=named, log_hyperprior=law.log_density(offsets))

    def evidence(self, draws: Draws, which: IntArray) -> Evidence:
        """Log evidence of the rows given some draws, numbered over all chains, as a function of log factors.

        Where missing cells are drawn, each draw completes the rows with its own.
        """
        labels = flat(draws, "labels")[which]
        if not self.draws_missing:
            return Evidence(self.untuned, [(self.rows, labels)], self.weights)
        values = flat(draws, "missing")[which]
        parts = [(self.completed(cells), drawn[None]) for cells, drawn in zip(values, labels, strict=True)]
        return Evidence(self.untuned, parts, self.weights)

    def hyperparameter_move(self, names: tuple[str, ...], spread: float) -> Any:
        """The move that draws hyperparameters along with the clusters."""
        from .moves.hyperparameters import HyperparameterUpdate

        return HyperparameterUpdate(names, spread)

    def held_out(self, draws: Draws, others: IntArray, whole: Problem, at_most: int) -> FloatArray:
        """Log predictive density, in local units, of ``others``, rows of the problem that this one is a part of."""
        from .predictive import Predictor

        return Predictor.of(self, draws).log_density_of_local(whole.table.block(others), draws, at_most)
