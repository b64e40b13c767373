"""Rows with the units that suit the arithmetic, and the cells of them that are drawn: shared by problems about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from ..families.arrays import shifted_and_scaled
from ..families.base import Family, Units
from ..families.bends import bent, log_slopes, straightened
from ..families.gaussian.resolution import spread_equal_cells
from .seats import FloatArray, IntArray


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
        On the lines of the columns (``families.bends``), which are in the order of the kernels.
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

    @classmethod
    def of(
        cls, X: FloatArray, family: Family, weights: FloatArray | None = None, left_open: tuple[str, ...] = ()
    ) -> Self:
        """Prepare rows ``X``, each counted ``weights`` times, for a resolved family.

        Where hyperparameters are left open, equal measurements are spread over their resolution
        (``families.gaussian.resolution``): only those who set everything ask for the density of the cells as they are.
        """
        family, units = family.in_local_units(X)
        if left_open:
            measured = family.order(X.shape[1])[family.measured_columns(X.shape[1])]
            X = spread_equal_cells(X, measured)
        return cls(family.arrange(X), *units, family, weights)

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
        volumes = self.log_volumes
        return -float(volumes.sum() if self.weights is None else volumes @ self.weights)

    @property
    def log_volumes(self) -> FloatArray:
        """What the log density of each row, of the cells that were seen, loses from local units to the user's."""
        return self.units.log_volumes(self.family, self.X)

    @property
    def units(self) -> Units:
        """Shift and scale together."""
        return Units(self.shift, self.scale)

    @cached_property
    def bends(self) -> FloatArray:
        """Bend of each column."""
        return self.family.arranged_bends(self.X.shape[1])

    def drawn_cells(self, local: FloatArray) -> FloatArray:
        """What the missing cells hold in the user's units, from their values in local units."""
        columns = self.missing.columns
        values = local * self.scale[columns] + self.shift[columns]
        return straightened(values[None], self.bends[columns])[0]

    def local_cells(self, values: FloatArray) -> FloatArray:
        """The inverse of ``drawn_cells``."""
        columns = self.missing.columns
        return (bent(values[None], self.bends[columns])[0] - self.shift[columns]) / self.scale[columns]

    def log_jacobian_of_drawn(self, local: FloatArray) -> float:
        """What the density of drawn cells gains from local units to the user's."""
        columns = self.missing.columns
        slopes = log_slopes(local * self.scale[columns] + self.shift[columns], self.bends[columns])
        return float(slopes.sum() - np.log(self.scale[columns]).sum())

    def some(self, which: IntArray | slice) -> Self:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[which]
        return replace(self, X=np.ascontiguousarray(self.X[which]), weights=weights)
