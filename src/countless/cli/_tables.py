"""From a file and the options about columns to the table that is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..models.command import check_column

if TYPE_CHECKING:
    import pandas as pd


class Chosen(NamedTuple):
    """The table to fit, the kinds that some columns were given, and the column of known classes."""

    table: pd.DataFrame
    kinds: dict[str, str]
    label: pd.Series | None


def choose_columns(
    file: Path,
    columns: Sequence[str],
    ignore: Sequence[str],
    label: str | None,
    name: str | None = None,
    missing: Sequence[str] = (),
    besides: Sequence[str] = (),
) -> Chosen:
    """Read a table and take the columns that the options ask for, and those that are needed ``besides``."""
    from ..io import read_table

    whole = read_table(file, missing=missing)
    names = [str(name) for name in whole.columns]
    only, kinds = parse_columns(file, columns, names)
    apart = [each for each in (label, name) if each is not None]
    for each in [*ignore, *apart, *besides]:
        check_column(file, each, names)
    wanted = dict.fromkeys([*only, *besides] if only else names)
    kept = [each for each in wanted if each in besides or (each not in ignore and each not in apart)]
    if not kept:
        raise ValueError(f"{file}: no column is left")
    lost = [each for each in kinds if each not in kept]
    if lost:
        raise ValueError(f"--columns: {lost[0]!r} has a kind, but is left out")
    if label is not None and whole[label].isna().all():
        raise ValueError(f"--label: the column {label!r} is empty")
    table = whole[kept]
    if name is not None:
        table.index = whole[name].astype(str).where(whole[name].notna(), "").rename(name)
    return Chosen(table, kinds, None if label is None else whole[label])


def parse_columns(file: Path, entries: Sequence[str], names: list[str]) -> tuple[list[str], dict[str, str]]:
    """The columns to use, and the kinds that some columns are given.

    ``A,B`` are the columns to use; ``A=gaussian`` sets the kind of a column. Where every entry has a kind, the other
    columns stay in.
    """
    only: list[str] = []
    kinds: dict[str, str] = {}
    selects = False
    for entry in _split(entries, names):
        if entry in names:
            only.append(entry)
            selects = True
            continue
        name, equals, kind = (part.strip() for part in entry.rpartition("="))
        if not equals:
            check_column(file, entry, names)
        check_column(file, name, names)
        if not kind:
            raise ValueError(f"--columns: {entry!r} names no kind; write {name}=gaussian, {name}=categorical, ...")
        only.append(name)
        kinds[name] = kind
    return (list(dict.fromkeys(only)) if selects else []), kinds


def _split(entries: Sequence[str], names: list[str]) -> list[str]:
    """Entries separated by commas; a name that holds a comma itself can be given in an option of its own."""
    parts: list[str] = []
    for entry in entries:
        whole = entry in names or entry.rpartition("=")[0] in names
        parts += [entry] if whole else [part.strip() for part in entry.split(",") if part.strip()]
    if entries and not parts:
        raise ValueError("--columns: name at least one column")
    return parts
