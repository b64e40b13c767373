"""What a posterior is about: the rows that were clustered, their columns, and the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..families import Family
from ..families.columns import Column
from ..priors import Prior


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
    """

    rows: NDArray[np.float64]
    columns: tuple[Column, ...]
    family: Family
    prior: Prior

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]
