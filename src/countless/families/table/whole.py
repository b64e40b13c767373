"""A family that cannot be taken apart into columns, as part of a table: its cells may not be missing."""

from __future__ import annotations

from ..base import Family, FloatArray, Layout


class WholePart:
    """The family as it is; resolved."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.prepare = family.prepare
        self.draw_rows = family.draw_rows
        self.n_parameters = family.n_parameters

    def layout(self) -> Layout:
        """Widths of the arrays of one cluster."""
        whole = self.family.layout()
        return whole._replace(work=max(2 * whole.statistics, whole.work))

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> list[dict[str, FloatArray]]:
        """Parameters of clusters by name, for all columns together."""
        return [self.family.describe(parameters, shift, scale)]

    def widen(self, rows: FloatArray) -> FloatArray:
        """Rows as they are."""
        return rows
