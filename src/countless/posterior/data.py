"""What a posterior is about: the rows that were clustered, their columns, and the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..families import Family
from ..families.columns import Column
from ..priors import Prior


class RowNames(NamedTuple):
    """What rows are called, and the column, or the index of a frame, that said so ("" where it has no name)."""

    column: str
    values: NDArray[np.object_]


@dataclass(frozen=True)
class Data:
    """Rows with everything needed to ask about them after the fit.

    Attributes
    ----------
    rows : array (row, column)
        In the user's units; categories as codes, NaN for a missing cell.
    columns : tuple of Column
    family : Family
        Resolved, before any of its hyperparameters were learned.
    prior : Prior
        Resolved.
    row_names : RowNames or None
        What rows are called, where the table says so.
    """

    rows: NDArray[np.float64]
    columns: tuple[Column, ...]
    family: Family
    prior: Prior
    row_names: RowNames | None = field(default=None, kw_only=True)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]
