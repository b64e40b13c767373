"""What a hidden Markov model was fitted to: rows of sequences, their columns, family and transition law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...families.base import Family
from ...families.columns import Column
from ...posterior.data import Data
from ...runs.settings import to_json
from ...transitions import Transitions
from .problem import Problem


@dataclass(frozen=True)
class SequenceData(Data):
    """Rows of sequences, one after the other, with everything needed to make the same fit again.

    Attributes
    ----------
    prior : Transitions
        Resolved.
    lengths : array of int (sequence,)
    left_open : tuple of str
        Hyperparameters of the family that nobody has set, so that they may be learned.
    row_weight : float
        What each row counts for.
    """

    noun: ClassVar[str] = "sequences"

    prior: Any
    lengths: NDArray[np.int64]
    left_open: tuple[str, ...] = ()
    row_weight: float = 1.0

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rows and the lengths."""
        return {"rows": self.rows, "lengths": self.lengths}

    def settings(self) -> dict[str, Any]:
        """Columns, family and transitions."""
        return {
            "family": self.family,
            "choice of columns": list(self.columns),
            "transitions": self.prior,
            "left open": list(self.left_open),
            "row weight": self.row_weight,
        }

    @classmethod
    def revived(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> SequenceData:
        """The same from a file; the family must be one of these rows, and need nothing more from them."""
        rows, lengths = arrays["rows"], arrays["lengths"]
        if rows.ndim != 2 or rows.dtype != np.float64 or 0 in rows.shape or np.isinf(rows).any():
            raise ValueError("its rows are not a table")
        if lengths.ndim != 1 or lengths.dtype != np.int64 or not len(lengths) or lengths.min() < 1:
            raise ValueError("its lengths are not those of sequences")
        if lengths.sum() != len(rows):
            raise ValueError("its lengths do not add up to its rows")
        family, columns, law = settings["family"], settings["choice of columns"], settings["transitions"]
        if not isinstance(family, Family) or not isinstance(law, Transitions):
            raise ValueError("its family or its transitions are damaged")
        if len(columns) != rows.shape[1] or not all(isinstance(column, Column) for column in columns):
            raise ValueError(f"it has {len(columns)} names for {rows.shape[1]} columns")
        family.check(rows)
        if to_json(family.resolve(rows)) != to_json(family):
            raise ValueError("its family does not fit its rows")
        if to_json(law.resolve()) != to_json(law):
            raise ValueError("its transitions are damaged")
        left_open = tuple(settings["left open"])
        if not set(left_open) <= set(family.offered()):
            raise ValueError("it learns hyperparameters that its family does not have")
        weight = float(settings.get("row weight", 1.0))
        if not 0.0 < weight <= 1.0:
            raise ValueError(f"its rows have the weight {weight}")
        return cls(rows, tuple(columns), family, law, lengths, left_open, weight)

    def problem(self) -> Problem:
        """The problem that engines solve."""
        problem = Problem.of(self.rows, self.lengths, self.family, self.prior, self.left_open, self.row_weight)
        return problem.learning() if self.left_open else problem
