"""What a mixture was fitted to: rows with their columns, family and prior, and how often each row counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...families.base import Family
from ...families.columns import Column
from ...posterior.data import Data, RowNames
from ...priors.verbs import Prior
from ...runs.settings import to_json
from .problem import Problem


@dataclass(frozen=True)
class MixtureData(Data):
    """Rows with everything needed to make the same fit again.

    Attributes
    ----------
    weights : array (row,) or None
        How often each row counts.
    left_open : tuple of str
        Hyperparameters of the family that nobody has set, so that they may be learned.
    """

    noun: ClassVar[str] = "table"

    weights: NDArray[np.float64] | None = None
    left_open: tuple[str, ...] = ()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rows and their weights."""
        return {"rows": self.rows, **({} if self.weights is None else {"sample_weight": self.weights})}

    def settings(self) -> dict[str, Any]:
        """Columns, family, prior and names of the rows."""
        names = self.row_names
        return {
            **({} if names is None else {"row names": [names.column, names.values]}),
            "family": self.family,
            "choice of columns": list(self.columns),
            "prior": self.prior,
            "left open": list(self.left_open),
        }

    @classmethod
    def revived(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> MixtureData:
        """The same from a file; the family must be one of these rows, and need nothing more from them."""
        rows, weights = arrays["rows"], arrays.get("sample_weight")
        if rows.ndim != 2 or rows.dtype != np.float64 or 0 in rows.shape or np.isinf(rows).any():
            raise ValueError("its rows are not a table")
        if weights is not None and (weights.shape != rows.shape[:1] or weights.dtype != np.float64):
            raise ValueError("its weights belong to different rows")
        family, columns, prior = settings["family"], settings["choice of columns"], settings["prior"]
        if not isinstance(family, Family) or not isinstance(prior, Prior):
            raise ValueError("its family or its prior is damaged")
        if len(columns) != rows.shape[1] or not all(isinstance(column, Column) for column in columns):
            raise ValueError(f"it has {len(columns)} names for {rows.shape[1]} columns")
        family.check(rows)
        if to_json(family.resolve(rows)) != to_json(family):
            raise ValueError("its family does not fit its rows")
        if to_json(prior.resolve(len(rows))) != to_json(prior):
            raise ValueError("its prior does not fit its rows")
        left_open = tuple(settings["left open"])
        if not set(left_open) <= set(family.offered()):
            raise ValueError("it learns hyperparameters that its family does not have")
        names = _row_names(settings.get("row names"), len(rows))
        return cls(rows, tuple(columns), family, prior, weights, left_open, row_names=names)

    def problem(self) -> Problem:
        """The problem that engines solve."""
        return Problem.of(self.rows, self.family, self.prior, self.weights, self.left_open)


def _row_names(saved: Any, n_rows: int) -> RowNames | None:
    """Names of the rows from a file; there are none in older ones."""
    if saved is None:
        return None
    column, values = saved
    if not isinstance(column, str) or not isinstance(values, np.ndarray) or values.shape != (n_rows,):
        raise ValueError("its names of rows are damaged")
    if not all(isinstance(name, str) for name in values):
        raise ValueError("its names of rows are no texts")
    return RowNames(column, values)
