"""Numbers and names as people read them in a sentence: counts with their nouns, percentages, short lists."""

from __future__ import annotations

from collections.abc import Sequence

SIBILANTS = ("s", "x", "z", "ch", "sh")


def plural(noun: str) -> str:
    """Plural of a noun; of a noun with a complement, that of its first part.

    Examples
    --------
    >>> from countless.core.text import plural
    >>> plural("row"), plural("category"), plural("column of categories")
    ('rows', 'categories', 'columns of categories')
    """
    head, of, complement = noun.partition(" of ")
    if head.endswith("y") and head[-2:-1] not in set("aeiou"):
        head = f"{head[:-1]}ies"
    else:
        head += "es" if head.endswith(SIBILANTS) else "s"
    return f"{head}{of}{complement}"


def count(n: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> from countless.core.text import count
    >>> count(1, "row"), count(1000, "row"), count(2, "column of categories")
    ('1 row', '1,000 rows', '2 columns of categories')
    """
    return f"{n:,} {noun if n == 1 else plural(noun)}"


def listed(names: Sequence[str], at_most: int = 12) -> str:
    """Names for a sentence; of many, the first ones and the number of the others.

    Examples
    --------
    >>> from countless.core.text import listed
    >>> listed(["a", "b"]), listed("abcd", at_most=2)
    ('a, b', 'a, b and 2 more')
    """
    rest = f" and {len(names) - at_most:,} more" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + rest


def percent(share: float) -> str:
    """A probability in percent; only certainty is written as 0% or 100%.

    Examples
    --------
    >>> from countless.plots import percent
    >>> percent(0.971), percent(0.0004), percent(0.9996)
    ('97%', '<1%', '>99%')
    """
    if 0.0 < share < 0.01:
        return "<1%"
    if 0.99 < share < 1.0:
        return ">99%"
    return f"{100.0 * share:.0f}%"


def duration(seconds: float) -> str:
    """A time in the unit that people would use.

    Examples
    --------
    >>> from countless.core.text import duration
    >>> duration(12.4), duration(100.0), duration(7000.0)
    ('12 s', '2 min', '1.9 h')
    """
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"
