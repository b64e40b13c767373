"""Measurements of a table in other blocks: correlated within a block, independent between blocks."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import FAMILIES
from ..columns import IGNORED, Column
from .blocks import Block
from .frames import ASKED
from .table import Table

CORRELATED, INDEPENDENT = "gaussian", "diagonal-gaussian"


def guessed_measurements(table: Table) -> tuple[int, ...]:
    """Columns that were guessed to be measurements with correlations, by their numbers among those that are used."""
    used = _used(table)
    return tuple(j for j, column in enumerate(used) if column.family == CORRELATED and column.note != ASKED)


def regrouped(table: Table, groups: Sequence[Sequence[int]], note: str) -> Table:
    """The same table with its guessed measurements in these blocks; the note is added to what is said of the columns.

    Columns that are in no group, or alone in one, are independent of all others. The table has been read and is not
    resolved.
    """
    used, guessed = _used(table), guessed_measurements(table)
    together = [tuple(sorted(group)) for group in groups if len(group) > 1]
    alone = sorted(set(guessed) - {j for group in together for j in group})
    kept = [block for block in table.blocks if not set(block.columns) & set(guessed)]
    taken = [block.name for block in kept]
    for group in together:
        name = CORRELATED if CORRELATED not in taken else f"{CORRELATED} {1 + sum(map(_is_correlated, taken))}"
        taken.append(name)
        kept.append(Block(name, group, FAMILIES[CORRELATED]()))
    at = next((at for at, block in enumerate(kept) if block.name == INDEPENDENT), None)
    if alone and at is None:
        kept.append(Block(INDEPENDENT, tuple(alone), FAMILIES[INDEPENDENT]()))
    elif alone and at is not None:
        kept[at] = kept[at]._replace(columns=tuple(sorted((*kept[at].columns, *alone))))
    names = {
        used[j].name: used[j].as_family(INDEPENDENT if j in alone else CORRELATED, f"{used[j].note}; {note}")
        for j in guessed
    }
    schema = tuple(names.get(column.name, column) for column in table.schema or ())
    return table._with(columns=tuple(kept), schema=schema)


def _is_correlated(name: str) -> bool:
    return name.split()[0] == CORRELATED


def _used(table: Table) -> list[Column]:
    return [column for column in table.schema or () if column.family != IGNORED]
