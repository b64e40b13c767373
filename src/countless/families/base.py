"""Family: what the data of one cluster look like, as a small immutable object for people.

It checks rows, sets what was left open from the data, and answers questions in plain Python by way of
the verbs that engines use. The mathematics stands in the file of each family.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.jit import kernel
from ..core.random import as_generator
from ..core.register import Register
from ..core.validate import as_rows
from . import verbs
from .arrays import log_volumes
from .columns import Column
from .missing import fill_missing

FloatArray = NDArray[np.float64]

FAMILIES: Register[type[Family]] = Register("family", "countless.families")
register = FAMILIES.add

# Prior guess of how many clusters share the spread of the data; see Gaussian.resolve.
EXPECTED_CLUSTERS = 5.0

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
    """Arrays for ``n`` clusters of one family, as kernels want them."""

    statistics: FloatArray
    cache: FloatArray
    work: FloatArray


class Family(ABC):
    """Base of all families; subclasses are frozen dataclasses.

    A subclass defines ``resolve``, ``check``, ``prepare``, ``layout`` and ``draw_rows``, and registers the
    verbs of its hyperparameter type (see ``countless.families.verbs``).
    """

    # Hyperparameters that may be learned from the data; None: every field that holds positive numbers, not whole ones.
    learnable: ClassVar[tuple[str, ...] | None] = None
    # Whether ``row_statistics`` does without them: then their evidence is a function of the statistics alone.
    statistics_stay: ClassVar[bool] = False
    # Whether columns of new rows are found by their names, in whatever order they come.
    matches_names: ClassVar[bool] = False
    # What happens to missing cells in a table: "integrated" out, where columns are independent (the family then has the
    # verb ``column``), "drawn" along with the clusters, or "refused".
    missing: ClassVar[str] = "refused"
    # How people are told of its columns: "numbers" by means, "counts" by rates, "shares" of the counts of a row.
    cells: ClassVar[str] = "numbers"

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

    def check(self, X: FloatArray) -> None:  # noqa: B027 - most real-valued families take any row
        """Raise ValueError, in one sentence, where rows cannot come from this family."""

    def units(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Shift and scale per column under which the arithmetic is accurate; None: leave the rows alone."""
        return None

    def in_units(self, shift: FloatArray, scale: FloatArray) -> Self:
        """The same family for rows ``(X - shift) / scale``."""
        return self

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        """Parameters of clusters (clusters, P) by name, for people.

        The parameters are those of rows ``(X - shift) / scale``, what is returned is meant for ``X``.
        """
        return {"parameters": parameters}

    def describe_columns(self, names: Sequence[str]) -> tuple[Column, ...]:
        """What each column of the rows holds; the family is resolved."""
        return tuple(Column(name, self.short_name()) for name in names)

    # --- tables: rows as users have them, and rows as kernels take them -------------------------------------------

    def read(self, X: Any, name: str = "X") -> tuple[Self, FloatArray]:
        """Rows of what users hand in as argument ``name``, and the family that now knows how to read more of them."""
        return self, as_rows(X, name)

    def read_new(self, X: Any, name: str = "X") -> FloatArray:
        """New rows of the kind that was read."""
        return as_rows(X, name)

    def resolve_with_missing(self, X: FloatArray) -> Self:
        """``resolve`` for rows with missing cells."""
        return self.resolve(fill_missing(X))

    def draws_missing(self, X: FloatArray) -> bool:
        """Whether some cells of ``X`` are missing and have to be drawn along with the clusters."""
        return False

    def drawn_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Columns whose missing cells are drawn: where they stand in arranged rows, and in widened ones."""
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing

    def with_levels(self, levels: Sequence[tuple[str, ...] | None]) -> Self:
        """The family for columns of categories that have these names; others need no names."""
        return self

    def arrange(self, X: FloatArray) -> FloatArray:
        """Rows with their columns in the order of the kernels."""
        return X

    def restore(self, rows: FloatArray) -> FloatArray:
        """Rows with their columns in the order of the user, the inverse of ``arrange``."""
        return rows

    def widen(self, rows: FloatArray) -> FloatArray:
        """Arranged rows in local units with whatever else kernels want to know of each cell."""
        return rows

    def one_column(self, j: int) -> Self:
        """The family of column ``j`` alone, where columns are independent; the family is resolved."""
        return self._with(**{name: _entry(value, j) for name, value in vars(self).items()})

    def part(self, n_columns: int) -> Any:
        """The family as part of a table: taken apart into columns where these are independent; it is resolved."""
        from .table.separate import SeparatePart
        from .table.whole import WholePart

        return SeparatePart(self, n_columns) if self.missing == "integrated" else WholePart(self)

    def lower_bound(self, name: str) -> float:
        """Bound that a learnable hyperparameter must stay above; the family is resolved."""
        return 0.0

    # --- what every family answers ---------------------------------------------------------------------------

    @classmethod
    def short_name(cls) -> str:
        """The string that stands for this kind of family."""
        return FAMILIES.name_of(cls)

    def tunable(self) -> dict[str, float]:
        """Hyperparameters that may be learned, by name, each with its size; the family is resolved.

        The size of an array is the geometric mean of its numbers, that of a covariance matrix the D-th root of
        its determinant.

        Examples
        --------
        >>> import countless as cl
        >>> cl.families.Poisson(shape=[2.0, 8.0], rate=[1.0, 1.0]).tunable()
        {'shape': 4.0, 'rate': 1.0}
        """
        names = [field.name for field in fields(self)] if self.learnable is None else self.learnable  # type: ignore[arg-type]
        sizes = {name: _log_size(getattr(self, name)) for name in names}
        return {name: math.exp(size) for name, size in sizes.items() if size is not None}

    def with_tuned(self, log_factors: Mapping[str, float]) -> Self:
        """Copy with some hyperparameters multiplied by the exponentials of ``log_factors``; the family is resolved.

        An array or a matrix is multiplied as a whole, and so is what a number with a lower bound has above it.
        Any real log factors give a valid family, and they mean the same in all units of the rows.

        Examples
        --------
        >>> import math
        >>> import countless as cl
        >>> family = cl.families.Poisson(shape=[2.0, 8.0], rate=[1.0, 1.0])
        >>> round(family.with_tuned({"rate": math.log(3.0)}).tunable()["rate"], 6)
        3.0
        """
        known = self.tunable() if self.learnable is None else self.learnable
        unknown = [name for name in log_factors if name not in known]
        if unknown:
            raise ValueError(
                f"log_factors: {unknown[0]!r} is not learnable; choose among {', '.join(map(repr, known))}"
            )
        return self._with(
            **{
                name: _multiplied(getattr(self, name), math.exp(log_factor), self.lower_bound(name))
                for name, log_factor in log_factors.items()
                if log_factor != 0.0
            }
        )

    def allocate(self, n_clusters: int) -> Cluster:
        """Empty clusters, with their caches ready."""
        layout = self.layout()
        clusters = Cluster(
            np.zeros((n_clusters, layout.statistics)),
            np.zeros((n_clusters, layout.cache)),
            self.scratch(),
        )
        refresh_all(self.prepare(), *clusters)
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

        Without ``X`` this is the prior predictive. Hyperparameters left open are set from ``X``, or from
        ``X_new`` where there is no ``X``.
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
        units = family.units(everything)
        family, everything, _ = localise(family, everything)
        clusters = family.allocate(1)
        _absorb(family.prepare(), *clusters, everything[: len(given)])
        out = np.empty(len(new))
        _predict_all(family.prepare(), *clusters, everything[len(given) :], out)
        return out if units is None else out - log_volumes(new, units[1])

    def sample(self, n: int, rng: Any = None, X: ArrayLike | None = None) -> FloatArray:
        """``n`` rows of one cluster: its parameters are drawn once, given the rows ``X`` if there are any."""
        rng = as_generator(rng)
        if X is None:
            family = self.resolve(self._no_rows())
            given = None
        else:
            known, given = self.read(X)
            known.check(given)
            family = known.resolve(given)
        units = None if given is None else family.units(given)
        if given is None or units is None:
            return family.draw_rows(family.draw_parameters(rng, given), n, rng)
        local, rows, _ = localise(family, given)
        drawn = local.draw_rows(local.draw_parameters(rng, rows), n, rng)
        return local.restore(drawn) * units[1] + units[0]

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


def _entry(value: Any, j: int) -> Any:
    if isinstance(value, tuple):
        return (value[j],)
    return value[j : j + 1] if isinstance(value, np.ndarray) and value.ndim else value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(one, other)
    return bool(one == other)


def _log_size(value: Any) -> float | None:
    """Log of the size of a positive hyperparameter; None where it is none."""
    if isinstance(value, (list, tuple)) and any(np.ndim(part) for part in value):
        parts = [np.ravel(part) for part in value]
        return _log_size(np.concatenate(parts)) if parts else None
    array = np.asarray(value)
    if array.dtype.kind != "f" or array.size == 0 or not np.isfinite(array).all():
        return None
    if array.ndim == 2 and array.shape[0] == array.shape[1] and np.array_equal(array, array.T):
        sign, log_determinant = np.linalg.slogdet(array)
        return float(log_determinant) / len(array) if sign > 0 and np.all(np.diag(array) > 0) else None
    return float(np.mean(np.log(array))) if np.all(array > 0) else None


def _multiplied(value: Any, factor: float, bound: float) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_multiplied(part, factor, bound) for part in value)
    if isinstance(value, np.ndarray):
        return bound + (value - bound) * factor if bound else value * factor
    return bound + (float(value) - bound) * factor


def localise(family: Family, rows: FloatArray) -> tuple[Family, FloatArray, float]:
    """Rows as kernels take them, in the units that suit the arithmetic; the family moved along; their log Jacobian."""
    units = family.units(rows)
    if units is None:
        return family, family.widen(family.arrange(rows)), 0.0
    shift, scale = units
    local = family.in_units(shift, scale)
    moved = local.widen(local.arrange(np.ascontiguousarray((rows - shift) / scale)))
    return local, moved, -float(np.sum(log_volumes(rows, scale)))


def resolve_family(family: str | Family) -> Family:
    """Family object for a short string (``"auto"``: a table, read off the data); an object is returned as it is."""
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
