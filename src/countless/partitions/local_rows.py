"""Rows with the units that suit the arithmetic, and the cells of them that are drawn: shared by problems about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from ..families.arrays import log_volumes, shifted_and_scaled
from ..families.base import Family
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

    @classmethod
    def of(
        cls, X: FloatArray, family: Family, weights: FloatArray | None = None, left_open: tuple[str, ...] = ()
    ) -> Self:
        """Prepare rows ``X``, each counted ``weights`` times, for a resolved family.

        Where hyperparameters are left open, equal measurements are spread over their resolution
        (``families.gaussian.resolution``): only those who set everything ask for the density of the cells as they are.
        """
        units = family.units(X)
        if units is None:
            units = np.zeros(X.shape[1]), np.ones(X.shape[1])
        else:
            family = family.in_units(*units)
        shift, scale = (family.arrange(row[None, :])[0] for row in units)
        rows = family.arrange(X)
        if left_open:
            rows = spread_equal_cells(rows, family.measured_columns(rows.shape[1]))
        return cls(rows, shift, scale, family, weights)

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

    def some(self, which: IntArray | slice) -> Self:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[which]
        return replace(self, X=np.ascontiguousarray(self.X[which]), weights=weights)
