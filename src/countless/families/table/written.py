"""Numbers, dates and durations as people write them in tables: `$1,200`, `45%`, `1.200,50`, `31/01/2024`, `1:30:00`.

A column has one *style* or none: all of its cells must fit it. The style is kept with the column, so that new rows are
read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns import EPOCH

FloatArray = NDArray[np.float64]

CURRENCIES = r"\$|€|£|¥|₹|US\$|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|R\$"
UNITS = (
    r"%|‰|°|°C|°F|C°|kg|g|mg|µg|ug|t|lb|lbs|oz|km|m|cm|mm|µm|nm|ft|in|mi|l|L|ml|mL|dl|ms|s|sec|min|h|hr|hrs|hours|"
    r"days|weeks|months|years|yrs|km/h|mph|m/s|W|kW|kWh|MW|V|A|Hz|kHz|MHz|GHz|B|kB|MB|GB|TB|bpm|mmHg|ppm"
)
# Marks of thousands and of decimals, in the order in which they are tried.
MARKS = (("", "."), (",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."), ("", ","))
# Ways to write days; where several fit, the first that does is taken.
DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y")
# The style of columns that hold dates already.
PLAIN_DATE = "date:%Y-%m-%d"
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f", " %I:%M %p")
# Serial numbers of spreadsheets count days from 1899-12-30; those of 1927 to 2064 are dates in columns that are called
# so.
SERIAL_ZERO, SERIALS = -25569.0, (10_000.0, 60_000.0)
CALLED_DATE = re.compile(r"(?i:(?:.*[^a-z])?dates?(?:[^a-z].*)?)|.*[a-z]Date")
# Parts of a duration in hours.
HOURS = {"d": 24.0, "h": 1.0, "m": 1.0 / 60.0, "s": 1.0 / 3600.0}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# Parts of a date that come again: their names, and which of them a moment has.
PARTS: dict[str, tuple[tuple[str, ...], Callable[[datetime], int]]] = {
    "month": (MONTHS, lambda moment: moment.month - 1),
    "weekday": (WEEKDAYS, lambda moment: moment.weekday()),
    "hour": (tuple(f"{hour:02d}h" for hour in range(24)), lambda moment: moment.hour),
}
CLOCK = re.compile(r"([+-]?)(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
SPELT = re.compile(
    r"(?:(\d+(?:\.\d+)?)\s*d(?:ays?)?)?\s*(?:(\d+(?:\.\d+)?)\s*h(?:ours?|rs?)?)?"
    r"\s*(?:(\d+(?:\.\d+)?)\s*m(?:in(?:utes?|s)?)?)?\s*(?:(\d+(?:\.\d+)?)\s*s(?:ec(?:onds?|s)?)?)?"
)
DAY = 86400.0


@dataclass(frozen=True)
class Style:
    """How the cells of a column are written.

    Attributes
    ----------
    kind : str
        ``"number"``, ``"date"``, ``"duration"``, or ``"serial"``: days as a spreadsheet counts them.
    form : str
        Of numbers, the marks of thousands and of decimals, separated by ``"|"``; of dates, their format as
        ``datetime.strptime`` has it; of durations nothing.
    unit : str
        What stands before or after the numbers.
    """

    kind: str
    form: str = ""
    unit: str = ""

    @property
    def code(self) -> str:
        """The style in one line of text, as files hold it."""
        return f"{self.kind}:{self.form}:{self.unit}" if self.kind != "date" else f"date:{self.form}"

    @classmethod
    def of_code(cls, code: str) -> Style:
        """The style that has this code; ValueError where there is none."""
        kind, _, rest = code.partition(":")
        if kind == "date":
            style = cls(kind, rest)
        else:
            form, _, unit = rest.partition(":")
            style = cls(kind, form, unit)
        numbers = {"|".join(marks) for marks in MARKS}
        known = {"number": numbers, "date": set(_formats()), "duration": {""}, "serial": {""}}
        if style.form not in known.get(kind, set()):
            raise ValueError(f"{code!r} is not a way to write numbers")
        return style

    @property
    def is_plain(self) -> bool:
        """Whether the cells are bare numbers, with or without marks."""
        return self.kind == "number" and not self.unit

    @property
    def words(self) -> str:
        """In words, for the note of a column."""
        if self.kind == "date":
            spelt = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year"}
            order = [spelt[part] for part in re.findall(r"%[a-zA-Z]", self.form) if part in spelt]
            return f"dates (written as {'/'.join(order)}), in days since 1970"
        if self.kind == "serial":
            return "dates (serial numbers of a spreadsheet), in days since 1970"
        if self.kind == "duration":
            return "durations, in hours"
        return f"numbers in {self.unit}" if self.unit else "numbers with marks"

    def values(self, cells: Sequence[str | None]) -> FloatArray:
        """Numbers of cells without spaces around them, missing ones NaN; ValueError holds a cell that does not fit."""
        read = _READERS[self.kind](self)
        out = np.full(len(cells), np.nan)
        for i, cell in enumerate(cells):
            if cell is not None:
                value = read(cell)
                if value is None:
                    raise ValueError(cell)
                out[i] = value
        return out


# Days as a spreadsheet counts them.
SERIAL = Style("serial")


def style_of(cells: Sequence[str]) -> Style | None:
    """The style that all cells fit; None where there is none.

    Examples
    --------
    >>> from countless.families.table.written import style_of
    >>> style = style_of(["$1,200", "$950.50"])
    >>> style.unit, style.values(["$20,000"]).tolist()
    ('$', [20000.0])
    >>> style_of(["31/01/2024", "01/02/2024"]).words
    'dates (written as day/month/year), in days since 1970'
    >>> style_of(["T1", "T2"]) is None
    True
    """
    if not cells or not any(character.isdigit() for character in cells[0]):
        return None
    return _number_style(cells) or _date_style(cells) or _duration_style(cells)


def are_serials(name: str, values: FloatArray) -> bool:
    """Whether numbers are the days of a spreadsheet: in its name a column says that it holds dates.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.table.written import are_serials
    >>> days = np.array([41275.0, 45292.0])
    >>> are_serials("date_of_launch", days), are_serials("mass", days), are_serials("update", days)
    (True, False, False)
    """
    return bool(CALLED_DATE.fullmatch(name) and values.min() >= SERIALS[0] and values.max() <= SERIALS[1])


def part_of(part: str, days: FloatArray) -> FloatArray:
    """The part of each date that comes again, as the place of its name; NaN for a missing date.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.table.written import part_of
    >>> part_of("weekday", np.array([0.0, 1.0, np.nan]))
    array([ 3.,  4., nan])
    """
    place = PARTS[part][1]
    moments = [None if np.isnan(day) else EPOCH + timedelta(days=float(day)) for day in days]
    return np.array([np.nan if moment is None else place(moment) for moment in moments], dtype=np.float64)


# --- numbers ------------------------------------------------------------------------------------------------------


def _pattern(thousands: str, decimal: str) -> re.Pattern[str]:
    """Numbers with these marks, with an optional unit before or after; negative ones may be in brackets."""
    digits = r"\d+" if not thousands else rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|\d+"
    number = rf"(?:(?:{digits})(?:{re.escape(decimal)}\d*)?|{re.escape(decimal)}\d+)(?:[eE][+-]?\d+)?"
    before, after = rf"(?P<before>{CURRENCIES})?\s*", rf"\s*(?P<after>{CURRENCIES}|{UNITS})?"
    return re.compile(
        rf"(?P<open>\()?(?P<sign>[+-]?)\s*{before}(?P<inner>[+-]?)(?P<number>{number}){after}(?P<close>\))?"
    )


_PATTERNS = {marks: _pattern(*marks) for marks in MARKS}


def _number_style(cells: Sequence[str]) -> Style | None:
    for marks in MARKS:
        units = set()
        for cell in cells:
            found = _PATTERNS[marks].fullmatch(cell)
            if found is None:
                break
            units |= {found[name] for name in ("before", "after") if found[name]}
        else:
            return Style("number", "|".join(marks), units.pop() if units else "") if len(units) <= 1 else None
    return None


def _read_number(style: Style) -> Callable[[str], float | None]:
    thousands, decimal = style.form.split("|")
    pattern = _PATTERNS[thousands, decimal]

    def read(cell: str) -> float | None:
        found = pattern.fullmatch(cell)
        if found is None or (found["open"] is None) != (found["close"] is None):
            return None
        if any(found[name] not in (None, style.unit) for name in ("before", "after")):
            return None
        digits = found["number"].replace(thousands, "") if thousands else found["number"]
        value = float(digits.replace(decimal, "."))
        return -value if "-" in (found["sign"], found["inner"]) or found["open"] else value

    return read


# --- dates and durations -------------------------------------------------------------------------------------------


def _formats() -> list[str]:
    return [day + clock for day in DAYS for clock in CLOCKS]


def _date_style(cells: Sequence[str]) -> Style | None:
    for form in _formats():
        if _day(cells[0], form) is not None and all(_day(cell, form) is not None for cell in cells):
            return Style("date", form)
    return None


def _day(cell: str, form: str) -> float | None:
    """Days since 1970."""
    try:
        moment = datetime.strptime(cell, form)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC).timestamp() / DAY


def _read_date(style: Style) -> Callable[[str], float | None]:
    return lambda cell: _day(cell, style.form)


def _read_serial(style: Style) -> Callable[[str], float | None]:
    def read(cell: str) -> float | None:
        try:
            return float(cell) + SERIAL_ZERO
        except ValueError:
            return None

    return read


def _duration_style(cells: Sequence[str]) -> Style | None:
    return Style("duration") if all(_hours(cell) is not None for cell in cells) else None


def _hours(cell: str) -> float | None:
    found = CLOCK.fullmatch(cell)
    if found is not None:
        sign, hours, minutes, seconds = found.groups()
        value = int(hours) + int(minutes) / 60.0 + float(seconds or 0.0) / 3600.0
        return -value if sign == "-" else value
    spelt = SPELT.fullmatch(cell)
    if spelt is None or not any(spelt.groups()):
        return None
    return sum(float(part) * HOURS[name] for name, part in zip("dhms", spelt.groups(), strict=True) if part)


def _read_duration(style: Style) -> Callable[[str], float | None]:
    return _hours


_READERS: dict[str, Callable[[Style], Callable[[str], Any]]] = {
    "number": _read_number,
    "date": _read_date,
    "duration": _read_duration,
    "serial": _read_serial,
}
