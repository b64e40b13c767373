"""Columns of a table: their names, the family of each, and the names of the categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

# Family of a column that is not used, and the category that gathers rare ones.
IGNORED = "ignore"
OTHER = "(other)"
# Codes that mean no and yes, as people read them.
NO_AND_YES = (("0", "1"), ("False", "True"), ("false", "true"), ("n", "y"), ("no", "yes"))
NO_QUESTIONS = ("sex", "gender")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Days since 1970 that have a date.
FARTHEST_DAY = 700_000.0


def day_in_words(days: float) -> str:
    """The date that is so many days after 1970 began.

    Examples
    --------
    >>> from countless.families.columns import day_in_words
    >>> day_in_words(19723.5)
    '2024-01-01'
    """
    return (EPOCH + timedelta(days=days)).date().isoformat()


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

    @property
    def is_density(self) -> bool:
        """Whether cells are real numbers, which have a density, rather than categories or counts."""
        from .base import FAMILIES, Family

        units = FAMILIES[self.family].units if self.family in FAMILIES else Family.units
        return not self.is_categorical and units is not Family.units

    def shown(self, cell: float) -> str:
        """A cell of encoded rows as people read it; a missing one is empty."""
        if cell != cell:
            return ""
        return f"{cell:.6g}" if self.levels is None else self.levels[int(cell)]

    @property
    def is_date(self) -> bool:
        """Whether cells are days since 1970."""
        return self.written is not None and self.written.startswith(("date:", "serial:"))

    @property
    def part(self) -> str | None:
        """The part of dates that the cells are, such as ``"month"``; None for all other columns."""
        kind, _, rest = (self.written or "").partition(":")
        return kind if rest.startswith("date:") else None

    def level_in_words(self, code: int) -> str:
        """A category as people say it: no and yes for 0 and 1, but where the name asks for no such answer."""
        levels = self.levels or ()
        answers = levels in NO_AND_YES and self.name.lower() not in NO_QUESTIONS
        return ("no", "yes")[code] if answers else levels[code]

    def number_in_words(self, value: float, digits: str) -> str:
        """A number with its unit, or a date; ``digits`` is the bare number.

        Examples
        --------
        >>> from countless.families.columns import Column
        >>> Column("price", "gaussian", written="number:,|.:$").number_in_words(12.0, "12")
        '$12'
        >>> Column("born", "gaussian", written="date:%d/%m/%Y").number_in_words(0.0, "0")
        '1970-01-01'
        """
        if self.is_date and abs(value) < FARTHEST_DAY:
            return day_in_words(value)
        unit = "" if self.written is None or self.is_date else self.written.split(":", 2)[2]
        if not unit:
            return digits
        return (
            f"{digits}{unit}"
            if unit[0] in "%‰°"
            else f"{unit}{digits}"
            if not unit[0].isalpha()
            else f"{digits} {unit}"
        )

    def as_family(self, family: str, note: str) -> Column:
        """The same column modelled by another family."""
        return replace(self, family=family, note=note)
