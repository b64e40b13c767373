"""Family: what the data of one cluster look like, as a small immutable object.

It checks rows, sets hyperparameters left as None from the data, and answers questions in plain Python through the
verbs that engines use. The mathematics is in the file of each family; ``tabular`` has what tables ask of a family, and
``learnable`` how hyperparameters are learned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.jit import kernel
from ..core.random import as_generator
from ..core.register import Register
from . import verbs
from .arrays import require_squares, shifted_and_scaled
from .bends import log_volumes_of
from .columns import Column
from .learnable import Learnable
from .tabular import Tabular

FloatArray = NDArray[np.float64]

FAMILIES: Register[type[Family]] = Register("family", "countless.families")
register = FAMILIES.add

# Prior guess of how many clusters share the spread of the data; see Gaussian.resolve.
EXPECTED_CLUSTERS = 5.0

# Pseudo-counts from which those of categories, bins and successes are learned (Jeffreys 1946); see docs/mathematics.md.
JEFFREYS = 0.5

# Least variance (or mean duration) of a component fitted by maximum likelihood, in units of the data's own.
SMALLEST = 1e-8


class Layout(NamedTuple):
    """How many numbers a cluster needs: statistics, cache, parameters, scratch space, scoring board."""

    statistics: int
    cache: int
    parameters: int
    work: int = 0
    board: int = 0


class Cluster(NamedTuple):
    """Arrays for ``n`` clusters of one family, as kernels take them."""

    statistics: FloatArray
    cache: FloatArray
    work: FloatArray


class Units(NamedTuple):
    """Where rows on the lines of their columns are centred and scaled; columns in the order of the kernels."""

    shift: FloatArray
    scale: FloatArray

    def wide(self, family: Family, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows as kernels take them, and what their log densities in the user's units lose."""
        arranged = family.arrange(X)
        with np.errstate(over="ignore"):  # what overflows is named below
            local = shifted_and_scaled(arranged, self.shift, self.scale)
        require_squares(local, arranged)
        return family.widen(local), self.log_volumes(family, arranged)

    def log_volumes(self, family: Family, arranged: FloatArray) -> FloatArray:
        """What log densities of arranged rows in the user's units lose."""
        return log_volumes_of(arranged, family.arranged_bends(len(self.scale)), self.scale)

    def restored(self, family: Family, local: FloatArray) -> FloatArray:
        """Rows in the user's units, from rows in those of the arithmetic."""
        return family.restore(local * self.scale + self.shift)


class Family(Tabular, Learnable, ABC):
    """Base of all families; subclasses are frozen dataclasses.

    A subclass defines ``resolve``, ``check``, ``prepare``, ``layout`` and ``draw_rows``, and registers the
    verbs of its hyperparameter type (see ``countless.families.verbs``).
    """

    # How its columns are summarised: "numbers" by means, "counts" by rates, "shares" as shares of the counts of a row.
    cells: ClassVar[str] = "numbers"
    # Fields that have a value where they are None and there are no rows.
    set_without_rows: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(value, getattr(other, name)) for name, value in vars(self).items())

    __hash__ = None  # type: ignore[assignment]

    # --- what a family defines -----------------------------------------------------------------------------

    @abstractmethod
    def resolve(self, X: FloatArray) -> Self:
        """Copy with every hyperparameter set, those left as None from the data."""

    @abstractmethod
    def prepare(self) -> Any:
        """Hyperparameters as the NamedTuple of arrays that kernels receive; the family is resolved."""

    @abstractmethod
    def layout(self) -> Layout:
        """Widths of the arrays of one cluster; the family is resolved."""

    @abstractmethod
    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` rows from one cluster with these parameters (one row of the parameter array)."""

    def check(self, X: FloatArray) -> None:
        """Raise ValueError, in one sentence, where rows cannot come from this family."""

    def units(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Shift and scale per column under which the arithmetic is accurate; None: leave the rows alone."""
        return None

    def in_units(self, shift: FloatArray, scale: FloatArray) -> Self:
        """The same family for rows ``(X - shift) / scale``."""
        return self

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        """Parameters of clusters (clusters, P) by name.

        The parameters are those of rows ``(X - shift) / scale``; what is returned is in the units of ``X``.
        """
        return {"parameters": parameters}

    def describe_columns(self, names: Sequence[str]) -> tuple[Column, ...]:
        """What each column of the rows holds; the family is resolved."""
        return tuple(Column(name, self.short_name()) for name in names)

    # --- what every family answers ---------------------------------------------------------------------------

    def in_local_units(self, X: FloatArray) -> tuple[Self, Units]:
        """The family for rows in the units that suit the arithmetic, and these units."""
        found = self.units(X)
        if found is None:
            return self, Units(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        order = self.order(X.shape[1])
        return self.in_units(*found), Units(found[0][order], found[1][order])

    @classmethod
    def short_name(cls) -> str:
        """The short name under which this kind of family is registered."""
        return FAMILIES.name_of(cls)

    def allocate(self, n_clusters: int, hyper: Any = None) -> Cluster:
        """Empty clusters, with their caches ready for ``hyper``, by default the family's own hyperparameters."""
        layout = self.layout()
        clusters = Cluster(
            np.zeros((n_clusters, layout.statistics)),
            np.zeros((n_clusters, layout.cache)),
            self.scratch(),
        )
        refresh_all(self.prepare() if hyper is None else hyper, *clusters)
        return clusters

    def scratch(self) -> FloatArray:
        """Work space for one thread."""
        layout = self.layout()
        return np.zeros(max(2 * layout.statistics, layout.work))

    def n_parameters(self) -> int:
        """Number of free parameters of one cluster, as information criteria count them; the family is resolved."""
        return self.layout().parameters

    def log_marginal(self, X: ArrayLike) -> float:
        """Evidence of the rows of ``X`` as one cluster.

        Examples
        --------
        >>> import countless as cl
        >>> round(cl.families.Bernoulli(1.0, 1.0).log_marginal([[1], [1], [0]]), 6)  # log(1/12)
        -2.484907
        """
        known, rows = self.read(X)
        known.check(rows)
        resolved = known.resolve(rows)
        if resolved.draws_missing(rows):
            raise ValueError("X: the evidence of correlated columns with missing cells has no closed form")
        family, local, log_jacobian = localise(resolved, rows)
        clusters = family.allocate(1)
        _absorb(family.prepare(), *clusters, local)
        return float(verbs.log_marginal(family.prepare(), clusters.statistics, clusters.cache, 0)) + log_jacobian

    def log_predictive(self, X_new: ArrayLike, X: ArrayLike | None = None) -> FloatArray:
        """Log predictive density of each row of ``X_new`` given the rows of ``X`` as one cluster.

        Without ``X`` this is the prior predictive. Hyperparameters left as None are set from ``X``, or from ``X_new``
        where there is no ``X``.
        """
        if X is None:
            known, new = self.read(X_new, "X_new")
            given = new[:0]
        else:
            known, given = self.read(X)
            new = known.read_new(X_new, "X_new")
        if new.shape[1] != given.shape[1]:
            raise ValueError(f"X_new has {new.shape[1]} columns, but X has {given.shape[1]}")
        known.check(given)
        everything = np.concatenate([given, new])
        family = known.resolve(given if len(given) else new)
        family.check(new)
        family, units = family.in_local_units(everything)
        wide, volumes = units.wide(family, everything)
        clusters = family.allocate(1)
        _absorb(family.prepare(), *clusters, wide[: len(given)])
        out = np.empty(len(new))
        _predict_all(family.prepare(), *clusters, wide[len(given) :], out)
        return out - volumes[len(given) :]

    def sample(self, n: int, rng: Any = None, X: ArrayLike | None = None) -> FloatArray:
        """``n`` rows of one cluster: its parameters are drawn once, given the rows ``X`` if there are any."""
        rng = as_generator(rng)
        if X is None:
            family = self.resolve(self._no_rows())
            return family.restore(family.draw_rows(family.draw_parameters(rng), n, rng))
        known, given = self.read(X)
        known.check(given)
        local, units = known.resolve(given).in_local_units(given)
        rows, _ = units.wide(local, given)
        return units.restored(local, local.draw_rows(local.draw_parameters(rng, rows), n, rng))

    def draw_parameters(self, rng: Any = None, X: FloatArray | None = None) -> FloatArray:
        """One draw of the parameters of a cluster that holds the rows ``X``; the family is resolved."""
        clusters = self.allocate(1)
        if X is not None:
            _absorb(self.prepare(), *clusters, X)
        parameters = np.zeros((1, self.layout().parameters))
        verbs.draw_parameters(self.prepare(), clusters.statistics, clusters.cache, 0, as_generator(rng), parameters)
        return parameters[0]

    def _no_rows(self) -> FloatArray:
        """Zero rows with as many columns as the hyperparameters that were given imply."""
        widths = [np.asarray(v).shape[-1] for v in vars(self).values() if np.ndim(v) > 0]
        return np.empty((0, max(widths, default=1)))

    def _with(self, **changes: Any) -> Self:
        return replace(self, **changes)  # type: ignore[type-var]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(one, other)
    return bool(one == other)


def localise(family: Family, rows: FloatArray) -> tuple[Family, FloatArray, float]:
    """Rows as kernels take them, in the units that suit the arithmetic; the family moved along; their log Jacobian."""
    local, units = family.in_local_units(rows)
    wide, volumes = units.wide(local, rows)
    return local, wide, -float(volumes.sum())


def resolve_family(family: str | Family) -> Family:
    """Family object for a short string (``"auto"``: a table, inferred from the data); an object stays what it is."""
    if isinstance(family, Family):
        return family
    if isinstance(family, str) and family == "auto":
        from .table.table import Table

        return Table()
    return FAMILIES.resolve("family", family, "'auto' for mixed tables, or a countless.families object")()


@kernel
def refresh_all(family, statistics, cache, work):
    for k in range(statistics.shape[0]):
        verbs.refresh(family, statistics, cache, k, work)


@kernel
def _absorb(family, statistics, cache, work, rows):
    """Put every row into cluster 0: sums first, one rebuild of the cache."""
    width = statistics.shape[1]
    for i in range(rows.shape[0]):
        verbs.row_statistics(family, rows[i], work)
        for s in range(width):
            statistics[0, s] += work[s]
    verbs.refresh(family, statistics, cache, 0, work)


@kernel
def _predict_all(family, statistics, cache, work, rows, out):
    for i in range(rows.shape[0]):
        out[i] = verbs.log_predictive(family, statistics, cache, 0, rows[i], work)
