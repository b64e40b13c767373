"""What the tests need to know about a family: rows of several kinds, and the same mathematics by other means.

Nothing in a case may read a number that the library computed, apart from the basis in which parameters are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countless.families import Family, verbs
from countless.families.base import Cluster

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """A family with all hyperparameters given, rows of one cluster, and rows that the cluster has not seen."""

    label: str
    family: Any
    rows: FloatArray
    new: FloatArray
    n_parameters: int
    oracle: FamilyCase = None  # type: ignore[assignment]  # set by the case that it belongs to

    @classmethod
    def of(cls, label: str, family: Family, rows: ArrayLike, n_parameters: int, n_new: int = 4) -> Example:
        """An example whose last rows are the new ones."""
        table = np.ascontiguousarray(rows, dtype=np.float64)
        return cls(label, family, table[:-n_new], table[-n_new:], n_parameters)

    @property
    def has_units(self) -> bool:
        return self.family.units(self.rows) is not None

    def resolved(self) -> Any:
        return self.family.resolve(self.rows)

    def filled(self, rows: FloatArray | None = None) -> tuple[Any, Cluster]:
        """Hyperparameters and one cluster that holds ``rows`` (default: those of the example)."""
        return filled(self.resolved(), self.rows if rows is None else rows)


def filled(family: Family, rows: FloatArray) -> tuple[Any, Cluster]:
    """Hyperparameters and one cluster that holds ``rows``: sums of row statistics, then a refreshed cache."""
    hyper, clusters = family.prepare(), family.allocate(1)
    clusters.statistics[0] = statistics_of(hyper, rows, clusters.statistics.shape[1]).sum(axis=0)
    verbs.refresh(hyper, clusters.statistics, clusters.cache, 0, clusters.work)
    return hyper, clusters


def statistics_of(hyper: Any, rows: FloatArray, width: int) -> FloatArray:
    """Statistics of each row; the array is poisoned first, so that an entry left unwritten shows."""
    out = np.full((len(rows), width), np.nan)
    for row, written in zip(rows, out, strict=True):
        verbs.row_statistics(hyper, row, written)
    return out


@dataclass(frozen=True)
class Seven:
    """Seven rows of two groups that overlap; hyperparameters all given.

    Under every prior no partition may have more than 60% of the posterior, and at least three need 2%; a test says
    whether the groups are too close or too far apart.
    """

    name: str
    family: Any
    rows: ArrayLike


@dataclass(frozen=True)
class FamilyCase:
    """One family of the library.

    Attributes
    ----------
    cells : {"real", "positive", "counts", "codes"}
        Any numbers; numbers above zero; whole numbers from zero without a bound; codes of a few categories.
    rows : callable
        ``rows(rng, shape)``: rows that suit the family with all its hyperparameters left as None.
    two_groups : callable
        ``two_groups(n)``: two arrays of ``n`` rows, far apart, but not by so much that the smaller spread is nothing
        beside the larger (``families.base.SMALLEST``, in the units of the family's statistics).
    examples : tuple of Example
        The first has one column, the last several.
    sevens : tuple of Seven
        For the tests against enumeration; the first is called like the family.
    log_evidence : callable
        ``log_evidence(family, rows)`` of rows as one cluster, by mpmath from the exact values of all numbers.
    column : callable
        ``column(family, rows, j)``: scipy's distribution of column ``j`` of a new row given rows.
    density : callable
        ``density(family, parameters, row)``: log density of a row given one draw of the parameters.
    log_prior : callable
        ``log_prior(family, parameters)``: log prior density in the basis of the verb ``log_prior``.
    from_free : callable
        ``from_free(family, vector)``: parameters from any real vector of ``n_parameters`` entries.
    described : callable
        ``described(named, k, family, row)``: log density of a row under the k-th of the parameters ``named`` by
        ``Family.describe``.
    deviance : callable
        ``deviance(family, row, rows)``: divergence of a row from the cluster of ``rows``.
    predictive : callable, optional
        ``predictive(family, rows, row)``: log density of a row given rows. Default: the product over ``column``.
    moved : callable, optional
        ``moved(family, shift, scale)``: the family for rows ``(X + shift) * scale``; needed where it has ``units``.
    shifts, one_scale : bool
        Whether such rows may be shifted; whether all columns must have the same scale.
    quadrature : callable, optional
        ``quadrature(family)``: scipy's prior of the one parameter of the first example, and the log likelihood of rows
        (down) at parameters (across).
    support : tuple, optional
        Number of an example, all rows that it can have (or so many that the rest hardly counts), and how far their
        probabilities may be from one.
    values : tuple of float
        Values that every cell may have; the first is the smallest of them. A family without zeros says others.
    padding : tuple of float
        Constant columns to the left and right of the two groups that should change nothing.
    bad_rows : tuple
        Hyperparameters, rows that cannot be, and the error (a regular expression).
    bad_hyperparameters : tuple
        Hyperparameters that cannot be, for rows of two columns, and the error.
    """

    cells: str
    rows: Callable[[np.random.Generator, tuple[int, int]], ArrayLike]
    two_groups: Callable[[int], tuple[ArrayLike, ArrayLike]]
    examples: tuple[Example, ...]
    sevens: tuple[Seven, ...]
    log_evidence: Callable[[Any, FloatArray], Any]
    column: Callable[[Any, FloatArray, int], Any]
    density: Callable[[Any, FloatArray, FloatArray], float]
    log_prior: Callable[[Any, FloatArray], float]
    from_free: Callable[[Any, FloatArray], FloatArray]
    described: Callable[[dict[str, FloatArray], int, Any, FloatArray], float]
    deviance: Callable[[Any, FloatArray, FloatArray], float]
    predictive: Callable[[Any, FloatArray, FloatArray], float] | None = None
    moved: Callable[[Any, FloatArray, FloatArray], Any] | None = None
    shifts: bool = True
    one_scale: bool = False
    quadrature: Callable[[Any], tuple[Any, Callable[[FloatArray, FloatArray], FloatArray]]] | None = None
    support: tuple[int, FloatArray, float] | None = None
    values: tuple[float, ...] = (0.0, 1.0, 7.0)
    padding: tuple[tuple[float, ...], tuple[float, ...]] = ((1.0,), (0.0,))
    bad_rows: tuple[tuple[dict[str, Any], Any, str], ...] = ()
    bad_hyperparameters: tuple[tuple[dict[str, Any], str], ...] = ()

    def __post_init__(self) -> None:
        assert self.cells in ("real", "positive", "counts", "codes"), self.cells
        object.__setattr__(self, "examples", tuple(replace(example, oracle=self) for example in self.examples))

    def suitable(self, shape: tuple[int, int], seed: int = 0) -> FloatArray:
        """Rows of this shape that suit the family."""
        return np.ascontiguousarray(self.rows(np.random.default_rng([20240, seed]), shape), dtype=np.float64)

    def predict(self, family: Any, rows: FloatArray, row: FloatArray) -> float:
        """Log density of a row given rows."""
        if self.predictive is not None:
            return self.predictive(family, rows, row)
        laws = [self.column(family, rows, j) for j in range(len(row))]
        logs = [getattr(law, "logpmf" if is_discrete(law) else "logpdf") for law in laws]
        return float(sum(log(cell) for log, cell in zip(logs, row, strict=True)))


def is_discrete(law: Any) -> bool:
    """Whether one of scipy's distributions has probabilities, not a density."""
    return not hasattr(getattr(law, "dist", law), "pdf")
