"""Measurements of a table in another shape: correlated within a block, independent between blocks, straight or bent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base import FAMILIES, Family
from ..bends import STRAIGHT
from ..columns import IGNORED, Column
from .blocks import Block
from .frames import ASKED
from .table import Table

CORRELATED, INDEPENDENT = "gaussian", "diagonal-gaussian"


def guessed_measurements(table: Table) -> tuple[int, ...]:
    """Columns that were guessed to be measurements, by their numbers among those that are used."""
    used = _used(table)
    return tuple(
        j for j, column in enumerate(used) if column.family in (CORRELATED, INDEPENDENT) and column.note != ASKED
    )


def correlated_measurements(table: Table) -> tuple[int, ...]:
    """Those of them that may be correlated."""
    used = _used(table)
    return tuple(j for j in guessed_measurements(table) if used[j].family == CORRELATED)


def regrouped(
    table: Table, groups: Sequence[Sequence[int]], bends: Mapping[int, float], note: str, heaped: Sequence[int] = ()
) -> Table:
    """The same table with its guessed measurements in these blocks, and with these bends of columns.

    Columns that are in no group, or alone in one, are independent of all others. The note is added to what is said of
    the columns, and of ``heaped`` ones why they are independent. The table has been read and is not resolved.
    """
    used, guessed = _used(table), guessed_measurements(table)
    together = [tuple(sorted(group)) for group in groups if len(group) > 1]
    alone = tuple(sorted(set(guessed) - {j for group in together for j in group}))
    kept = [block for block in table.blocks if not set(block.columns) & set(guessed)]
    shapes = [(CORRELATED, group) for group in together]
    if alone:
        # Independent columns that were asked for, and have nothing set, are in the same block.
        same = [block for block in kept if block.family == FAMILIES[INDEPENDENT]()]
        kept = [block for block in kept if block not in same]
        shapes.append((INDEPENDENT, tuple(sorted({*alone, *(j for block in same for j in block.columns)}))))
    for kind, group in shapes:
        kept.append(Block(_free_name(kind, kept), group, _with_bends(kind, [bends.get(j, STRAIGHT) for j in group])))
    names = {}
    for j in guessed:
        repeated = "many rows share a value" if j in heaped else ""
        parts = [used[j].note, repeated, note, _bend_in_words(bends.get(j))]
        names[used[j].name] = used[j].as_family(
            INDEPENDENT if j in alone else CORRELATED, "; ".join(filter(None, parts))
        )
    schema = tuple(names.get(column.name, column) for column in table.schema or ())
    return table._with(columns=tuple(kept), schema=schema)


def _bend_in_words(bend: float | None) -> str:
    return "" if bend is None else f"as logarithms from about {float(f'{bend:.2g}'):g} on"


def _with_bends(kind: str, bends: list[float]) -> Family:
    family = FAMILIES[kind]()
    return family if all(bend == STRAIGHT for bend in bends) else family._with(bend=bends)


def _free_name(kind: str, blocks: Sequence[Block]) -> str:
    taken = sum(block.name.split()[0] == kind for block in blocks)
    return kind if not taken else f"{kind} {taken + 1}"


def _used(table: Table) -> list[Column]:
    return [column for column in table.schema or () if column.family != IGNORED]
