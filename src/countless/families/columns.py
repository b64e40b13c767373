"""Columns of a table: their names, the family of each, and the names of the categories."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Family of a column that is not used, and the category that gathers rare ones.
IGNORED = "ignore"
OTHER = "(other)"


@dataclass(frozen=True)
class Column:
    """One column of a table, as the rows of a fit hold it.

    Attributes
    ----------
    name : str
    family : str
        Short name of the family that models it: ``"gaussian"`` (together with the other columns of that family),
        ``"diagonal-gaussian"``, ``"categorical"``, ``"poisson"``, ...; ``"ignore"`` where it is left out.
    levels : tuple or None
        Categories in the order of their codes 0, 1, 2, ...; None where cells are numbers.
    note : str
        Why it is read in this way.
    written : str or None
        How its numbers, dates or durations are written, where it is not as plain numbers (``table.written.Style``).

    Examples
    --------
    >>> from countless.families.columns import Column
    >>> Column("sex", "categorical", ("female", "male")).shown(1.0)
    'male'
    """

    name: str
    family: str
    levels: tuple[str, ...] | None = None
    note: str = ""
    written: str | None = None

    @property
    def is_categorical(self) -> bool:
        """Whether cells are codes of categories: their order and their mean say nothing."""
        return self.levels is not None

    @property
    def cells(self) -> str:
        """How cells are summed up, see ``Family.cells``; those of categories are ``"categories"``."""
        from .base import FAMILIES

        if self.is_categorical:
            return "categories"
        return FAMILIES[self.family].cells if self.family in FAMILIES else "numbers"

    def shown(self, cell: float) -> str:
        """A cell of encoded rows as people read it; a missing one is empty."""
        if cell != cell:
            return ""
        return f"{cell:.6g}" if self.levels is None else self.levels[int(cell)]

    def as_family(self, family: str, note: str) -> Column:
        """The same column modelled by another family."""
        return replace(self, family=family, note=note)
