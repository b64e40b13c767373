"""From a file and the options about columns to the table that is clustered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..io import read_table

if TYPE_CHECKING:
    import pandas as pd


class Chosen(NamedTuple):
    """The table to cluster, the kinds that were set for some columns, and the column to compare with."""

    table: pd.DataFrame
    kinds: dict[str, str]
    label: pd.Series | None


def choose_columns(file: Path, columns: Sequence[str], ignore: Sequence[str], label: str | None) -> Chosen:
    """Read a table and take the columns that the options ask for."""
    whole = read_table(file)
    names = [str(name) for name in whole.columns]
    only, kinds = parse_columns(file, columns, names)
    for name in [*ignore, *([] if label is None else [label])]:
        _check_name(file, name, names)
    wanted = only or names
    kept = [name for name in wanted if name not in ignore and name != label]
    if not kept:
        raise ValueError(f"{file}: no column is left to cluster")
    lost = [name for name in kinds if name not in kept]
    if lost:
        raise ValueError(f"--columns: {lost[0]!r} has a kind, but is left out")
    if label is not None and whole[label].isna().all():
        raise ValueError(f"--label: the column {label!r} is empty")
    return Chosen(whole[kept], kinds, None if label is None else whole[label])


def parse_columns(file: Path, entries: Sequence[str], names: list[str]) -> tuple[list[str], dict[str, str]]:
    """Columns that are meant alone, and the kinds that some are given.

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
            _check_name(file, entry, names)
        _check_name(file, name, names)
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


def _check_name(file: Path, name: str, names: list[str]) -> None:
    if name not in names:
        listed = ", ".join(repr(known) for known in names[:20]) + (", ..." if len(names) > 20 else "")
        raise ValueError(f"{file} has no column {name!r}; it has {listed}")


def as_fitted(model: Any, table: pd.DataFrame, file: Path) -> pd.DataFrame:
    """The columns of a new table that a model was fitted to, in their order; columns it left out may be absent."""
    import numpy as np

    names = [str(name) for name in getattr(model, "feature_names_in_", model.posterior_.data.names)]
    used = set(model.posterior_.data.names)
    for name in names:
        if name in used and name not in table.columns:
            _check_name(file, name, [str(column) for column in table.columns])
    return table.reindex(columns=names, fill_value=np.nan)
