"""What tables ask of a family: how users' rows are read, and what happens to missing cells.

Most families take a plain array of numbers and leave all of this as it is. A family whose columns are independent given
the cluster says ``missing = "integrated"`` and implements the verb ``column``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..core.validate import as_rows
from . import verbs
from .arrays import fill_missing
from .bends import STRAIGHT, bent, straightened

FloatArray = NDArray[np.float64]


class Tabular:
    """How a family reads rows, and how it is part of a table; a part of ``Family``."""

    # Whether columns of new rows are found by their names, in whatever order they come.
    matches_names: ClassVar[bool] = False
    # What happens to missing cells in a table: "integrated" out, where columns are independent (the family then
    # implements the verb ``column``), "drawn" along with the clusters (it then overrides ``part``), or "refused".
    missing: ClassVar[str] = "refused"
    # Whether the log predictive of a cell is a sum of two entries of the cache (``verbs.place_of_cell``).
    looks_up: ClassVar[bool] = False
    # Whether cells are measurements whose spread in a cluster is free: then equal cells are taken as rounded.
    measures: ClassVar[bool] = False

    def read(self, X: Any, name: str = "X") -> tuple[Self, FloatArray]:
        """Rows of the user's argument ``name``, and the family that now knows how to read more of them."""
        return self, as_rows(X, name)

    def read_new(self, X: Any, name: str = "X") -> FloatArray:
        """New rows of the kind that was read."""
        return as_rows(X, name)

    def as_given(self, rows: FloatArray) -> Any:
        """Rows in the form in which users hand them in."""
        return rows

    def resolve_with_missing(self, X: FloatArray) -> Self:
        """``resolve`` for rows with missing cells."""
        return self.resolve(fill_missing(X))

    def draws_missing(self, X: FloatArray) -> bool:
        """Whether some cells of ``X`` are missing and have to be drawn along with the clusters."""
        return False

    def drawn_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Columns whose missing cells are drawn: their positions in arranged rows, and in widened ones."""
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing

    def measured_columns(self, n_columns: int) -> NDArray[np.int64]:
        """Which of so many arranged columns are measurements whose spread in a cluster is free."""
        return np.arange(n_columns if self.measures else 0)

    def with_levels(self, levels: Sequence[tuple[str, ...] | None]) -> Self:
        """The family for columns of categories that have these names; others need no names."""
        return self

    def order(self, n_columns: int) -> NDArray[np.int64]:
        """The user's columns in the order of the kernels."""
        return np.arange(n_columns)

    def bends(self, n_columns: int) -> FloatArray:
        """The bend of each of the user's columns, infinite where it is straight (``families.bends``)."""
        return np.full(n_columns, STRAIGHT)

    def arranged_bends(self, n_columns: int) -> FloatArray:
        """The same in the order of the kernels."""
        return self.bends(n_columns)[self.order(n_columns)]

    def arrange(self, X: FloatArray) -> FloatArray:
        """Rows on the lines of their columns, which are in the order of the kernels."""
        order = self.order(X.shape[1])
        rows = bent(X, self.bends(X.shape[1]))
        return rows if np.array_equal(order, np.arange(len(order))) else np.ascontiguousarray(rows[:, order])

    def restore(self, rows: FloatArray) -> FloatArray:
        """Rows as the user has them, the inverse of ``arrange``."""
        n_columns = rows.shape[1]
        return straightened(np.ascontiguousarray(rows[:, np.argsort(self.order(n_columns))]), self.bends(n_columns))

    def widen(self, rows: FloatArray) -> FloatArray:
        """Arranged rows in local units, followed by what else kernels need to know about each cell."""
        return rows

    def one_column(self, j: int) -> Self:
        """The family of column ``j`` alone, where columns are independent; the family is resolved."""
        return self._with(**{name: _entry(value, j) for name, value in vars(self).items()})

    def part(self, n_columns: int) -> Any:
        """The family as part of a table: taken apart into columns where these are independent; it is resolved."""
        from .table.separate import SeparatePart
        from .table.whole import WholePart

        family: Any = self
        self._check_missing(type(self.prepare()))
        return SeparatePart(family, n_columns) if self.missing == "integrated" else WholePart(family)

    def _check_missing(self, hyper: type) -> None:
        """Raise unless the family can do what it says about missing cells; otherwise it would be wrong in silence."""
        name = type(self).__name__
        if self.missing == "integrated" and not verbs.is_implemented(verbs.column, hyper):
            raise ValueError(
                f"{name}.missing is 'integrated', but {hyper.__name__} does not implement the verb 'column'; "
                "implement it, or set missing to 'refused'"
            )
        if self.missing not in ("integrated", "refused"):
            raise ValueError(
                f"{name}.missing must be 'integrated' or 'refused', or 'drawn' for a family that overrides the method "
                f"'part', got {self.missing!r}"
            )

    def resolve(self, X: FloatArray) -> Self:
        raise NotImplementedError

    def prepare(self) -> Any:
        raise NotImplementedError

    def _with(self, **changes: Any) -> Self:
        raise NotImplementedError


def _entry(value: Any, j: int) -> Any:
    if isinstance(value, tuple):
        return (value[j],)
    return value[j : j + 1] if isinstance(value, np.ndarray) and value.ndim else value
