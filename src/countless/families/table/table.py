"""Tables of mixed columns: measurements, counts and categories in one cluster, with missing cells.

Given the cluster, the blocks of a row are independent of each other: each block of columns has a family of its own, and
the evidence of a cluster is the product of theirs. Missing cells are integrated out exactly where columns are
independent (``table.separate``); in a block of correlated Gaussian columns they are drawn along with the clusters
(``gaussian.missing``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...core.validate import as_rows
from ..arrays import fill_missing
from ..base import FAMILIES, Family, FloatArray, Layout, resolve_family
from ..columns import IGNORED, Column
from ..learnable import Law, Offsets
from .blocks import Block, Segment, check_observed, empty_segment
from .frames import as_frame, decode, encode, read_frame
from .pair import Pair
from .written import PARTS

# Kinds of columns that every table has kernels for, in the order of the rows; the last one rules clusters out fastest.
USUAL = ("categorical", "poisson", "diagonal-gaussian", "gaussian")

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Table(Family):
    """Mixed columns: a family for each column or block of columns; cells may be missing.

    Parameters
    ----------
    columns : dict or list, optional
        Family of each column, as a short string or a family object: by name or number, or a list with one entry
        per column. A tuple of names is a block of columns with one family object. Columns that share a string
        share a family: all ``"gaussian"`` columns make one block with correlations, ``"diagonal-gaussian"`` ones
        have none. ``"month"``, ``"weekday"`` and ``"hour"`` read only this part of dates, as categories, where they
        are seasonal. ``"ignore"`` leaves a column out. Other columns are inferred from the data: text, booleans and
        codes become categories, small whole numbers from 0 counts, other numbers Gaussian (one block where there
        are enough rows for its correlations); names and row numbers are left out.
    schema : tuple of Column, optional
        How the columns were read; set when the table is.

    Notes
    -----
    Missing cells (NaN, None, empty) have no effect where columns are independent. In a Gaussian block they are drawn
    from their conditional distribution given the other cells of the row and its cluster, which needs
    ``inference="gibbs"``.

    Examples
    --------
    >>> import pandas as pd
    >>> import countless as cl
    >>> frame = pd.DataFrame({"height": [1.6, 1.7, None, 1.9] * 5, "sex": ["f", "f", "m", "m"] * 5})
    >>> family, rows = cl.families.Table({"height": "diagonal-gaussian"}).read(frame)
    >>> [(column.name, column.family) for column in family.schema]
    [('height', 'diagonal-gaussian'), ('sex', 'categorical')]
    >>> rows[2].tolist()
    [nan, 1.0]
    """

    matches_names: ClassVar = True

    columns: Any = None
    schema: tuple[Column, ...] | None = None

    @classmethod
    def short_name(cls) -> str:
        return "table"

    # --- from the user's table to rows ------------------------------------------------------------------------

    def read(self, X: Any, name: str = "X") -> tuple[Self, FloatArray]:
        """The table with its columns known, and its rows."""
        if self._is_bound and self.schema is not None:
            return self, self.read_new(X)
        frame = as_frame(X)
        given = self._given(list(frame.columns))
        kinds = {column: kind if isinstance(kind, str) else kind.short_name() for column, kind in given.items()}
        # Numbers under a family object are its own codes already.
        coded = {column for column, family in given.items() if isinstance(family, Family)}
        schema = read_frame(frame, kinds, coded)
        used = [column for column in schema if column.family != IGNORED]
        place = {column.name: at for at, column in enumerate(used)}
        names = [str(column) for column in frame.columns]
        objects: dict[int, Family] = {}
        for key, family in given.items():
            column_name = str(key) if str(key) in names else names[int(key)]
            if not isinstance(family, str) and column_name in place:
                objects[place[column_name]] = family
        return self._with(columns=_blocks(used, objects), schema=schema), encode(frame, schema)

    def read_new(self, X: Any, name: str = "X") -> FloatArray:
        """New rows, read as those of the fit were."""
        return as_rows(X, name, missing=True) if self.schema is None else encode(as_frame(X), self.schema)

    def as_given(self, rows: FloatArray) -> Any:
        """Rows as a frame: categories by name, dates, whole counts."""
        return rows if self.schema is None else decode(rows, self.schema)

    def _given(self, names: list[Any]) -> dict[Any, str | Family]:
        """The family of each column that was given one; blocks keep one object for all their columns."""
        spec = self.columns
        if spec is None:
            return {}
        if isinstance(spec, Mapping):
            given: dict[Any, str | Family] = {}
            for key, family in spec.items():
                for column in key if isinstance(key, tuple) and key not in names else (key,):
                    given[column] = _checked(family)
            return given
        if isinstance(spec, (str, Family)) or not isinstance(spec, Sequence):
            raise ValueError(
                f"columns must be a dict from columns to families, or a list with one family per column, got {spec!r}"
            )
        if spec and isinstance(spec[0], Block):
            return {column: block.family for block in spec for column in block.columns}
        if len(spec) != len(names):
            raise ValueError(f"columns lists {len(spec)} families, but the table has {len(names)} columns")
        return {j: _checked(family) for j, family in enumerate(spec)}

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Blocks in the order of the user's columns; the table has been read or resolved."""
        blocks: tuple[Block, ...] = self.columns
        return blocks

    @property
    def _is_bound(self) -> bool:
        return isinstance(self.columns, tuple) and all(isinstance(block, Block) for block in self.columns)

    def _bound(self, X: FloatArray) -> Self:
        return self if self._is_bound else self.read(X)[0]

    # --- the contract of a family -------------------------------------------------------------------------------

    def resolve(self, X: FloatArray) -> Self:
        table = self._bound(X)
        return table._with(
            columns=tuple(
                block._replace(family=block.family.resolve_with_missing(X[:, block.columns])) for block in table.blocks
            )
        )

    def check(self, X: FloatArray) -> None:
        table = self._bound(X)
        for block in table.blocks:
            cells = X[:, block.columns]
            if np.isnan(cells).any() and block.family.missing == "refused":
                raise ValueError(
                    f"X: columns {', '.join(table._names(block))} have missing cells, for which the {block.name} "
                    "family has no rule; fill them or choose another family"
                )
            try:
                check_observed(block.family, cells)
            except ValueError as error:
                raise ValueError(f"{error} (columns {', '.join(table._names(block))})") from None

    def _names(self, block: Block) -> list[str]:
        used = [column.name for column in self.schema or () if column.family != IGNORED]
        return [repr(used[j]) if used else str(j) for j in block.columns]

    def units(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        shift, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        for block in self.blocks:
            units = block.family.units(fill_missing(X[:, block.columns]))
            if units is not None:
                shift[list(block.columns)], scale[list(block.columns)] = units
        return shift, scale

    def in_units(self, shift: FloatArray, scale: FloatArray) -> Self:
        return self._with(
            columns=tuple(
                block._replace(family=block.family.in_units(shift[list(block.columns)], scale[list(block.columns)]))
                for block in self.blocks
            )
        )

    def draws_missing(self, X: FloatArray) -> bool:
        return any(
            block.family.missing == "drawn" and bool(np.isnan(X[:, block.columns]).any()) for block in self.blocks
        )

    def drawn_columns(self) -> tuple[IntArray, IntArray]:
        plain, wide, n_plain, n_wide = [], [], 0, 0
        for segment in self._segments:
            if segment.block is not None and segment.block.family.missing == "drawn":
                plain.append(np.arange(segment.n_columns) + n_plain)
                wide.append(np.arange(segment.n_columns) + n_wide)
            n_plain, n_wide = n_plain + segment.n_columns, n_wide + segment.width
        nothing = np.empty(0, dtype=np.int64)
        return np.concatenate([nothing, *plain]), np.concatenate([nothing, *wide])

    def measured_columns(self, n_columns: int) -> IntArray:
        found, begin = [np.empty(0, dtype=np.int64)], 0
        for segment in self._segments:
            if segment.block is not None:
                found.append(begin + segment.block.family.measured_columns(segment.n_columns))
            begin += segment.n_columns
        return np.concatenate(found)

    def order(self, n_columns: int) -> IntArray:
        return np.array(
            [j for segment in self._segments if segment.block for j in segment.block.columns], dtype=np.int64
        )

    def bends(self, n_columns: int) -> FloatArray:
        found = super().bends(n_columns)
        for block in self.blocks:
            found[list(block.columns)] = block.family.bends(len(block.columns))
        return found

    def widen(self, rows: FloatArray) -> FloatArray:
        segments = self._segments
        ends = list(accumulate((segment.n_columns for segment in segments), initial=0))
        widened = [
            segment.part.widen(rows[:, start:stop])
            for segment, (start, stop) in zip(segments, pairwise(ends), strict=True)
            if segment.n_columns
        ]
        return np.ascontiguousarray(np.hstack(widened))

    def prepare(self) -> Any:
        segments = self._segments
        last = segments[-1]
        hyper: Any = last.part.prepare()
        columns = last.width
        for segment in reversed(segments[:-1]):
            layout = segment.layout()
            hyper = Pair(
                segment.part.prepare(),
                hyper,
                segment.width,
                columns,
                layout.statistics,
                layout.cache,
                layout.parameters,
                layout.board,
            )
            columns += segment.width
        return hyper

    def layout(self) -> Layout:
        layouts = [segment.layout() for segment in self._segments]
        total = [sum(widths) for widths in zip(*layouts, strict=True)]
        return Layout(*total)._replace(work=max(layout.work for layout in layouts))

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        drawn = [
            segment.part.draw_rows(parameters[start:stop], n, rng) for segment, start, stop in self._used_segments()
        ]
        return np.hstack(drawn)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        """Parameters called ``column.parameter``, those of a Gaussian block ``gaussian.parameter``."""
        named: dict[str, FloatArray] = {}
        at = 0
        for segment, start, stop in self._used_segments():
            width = segment.n_columns
            described = segment.part.describe(parameters[:, start:stop], shift[at : at + width], scale[at : at + width])
            each = segment.block is not None and segment.block.family.missing == "integrated"
            owners = (
                [name.strip("'") for name in self._names(segment.block)] if each and segment.block else [segment.name]
            )
            for owner, values in zip(owners, described, strict=True):
                named.update({f"{owner}.{name}": value for name, value in values.items()})
            at += width
        return named

    def describe_columns(self, names: Sequence[str]) -> tuple[Column, ...]:
        used = [column for column in self.schema or () if column.family != IGNORED]
        for block in self.blocks:
            mine = block.family.describe_columns([used[j].name for j in block.columns])
            for j, column in zip(block.columns, mine, strict=True):
                used[j] = replace(used[j], levels=used[j].levels or column.levels)
        return tuple(used)

    def n_parameters(self) -> int:
        return sum(segment.part.n_parameters() for segment, _, _ in self._used_segments())

    @property
    def statistics_stay(self) -> bool:  # type: ignore[override]
        return all(block.family.statistics_stay for block in self.blocks)

    def tunable(self) -> dict[str, float]:
        """Hyperparameters that may be learned, called ``block.name``."""
        return {f"{block.name}.{name}": size for block in self.blocks for name, size in block.family.tunable().items()}

    def left_open(self) -> tuple[str, ...]:
        return tuple(name for block in self.blocks for name in block.learned(block.family.left_open()))

    def offered(self) -> tuple[str, ...]:
        return tuple(name for block in self.blocks for name in block.learned(block.family.offered()))

    def law(self, names: Collection[str]) -> Law:
        places: dict[str, IntArray] = {}
        spreads, strengths = [], []
        start = 0
        for segment in self._segments:
            if segment.block is None:
                continue
            part = segment.law([name.partition(".")[2] for name in names if name.partition(".")[0] == segment.name])
            places |= {f"{segment.name}.{name}": place + start for name, place in part.places.items()}
            spreads.append(part.spreads)
            strengths.append(part.strengths)
            start += len(part.spreads)
        return Law(places, np.concatenate(spreads), np.concatenate(strengths))

    def lower_bound(self, name: str) -> float:
        block, _, inner = name.partition(".")
        return next(found.family.lower_bound(inner) for found in self.blocks if found.name == block)

    def with_tuned(self, log_factors: Offsets) -> Self:
        """Copy with some hyperparameters moved; see ``Family.with_tuned``."""
        known = self.tunable()
        blocks = {block.name: block.family for block in self.blocks}
        for name in log_factors:
            owner, _, inner = name.partition(".")
            if name not in known and not (owner in blocks and inner in blocks[owner].spreads):
                raise ValueError(f"log_factors: {name!r} is not learnable; choose among {', '.join(map(repr, known))}")
        changed = []
        for block in self.blocks:
            mine = {
                name.partition(".")[2]: factor
                for name, factor in log_factors.items()
                if name.partition(".")[0] == block.name
            }
            changed.append(block._replace(family=block.family.with_tuned(mine)) if mine else block)
        return self._with(columns=tuple(changed))

    def _no_rows(self) -> FloatArray:
        raise ValueError("X: a table is sampled from given rows; its columns alone do not say what they hold")

    # --- segments in the order of the kernels ------------------------------------------------------------------------

    @cached_property
    def _segments(self) -> list[Segment]:
        """The blocks as kernels have them: unusual ones, then the usual kinds, of which any may be empty."""
        by_kind: dict[str, list[Block]] = {name: [] for name in USUAL}
        unusual = []
        for block in self.blocks:
            kind = block.family.short_name()
            if kind in by_kind and not by_kind[kind]:
                by_kind[kind].append(block)
            else:
                unusual.append(block)
        segments = [Segment.of(block) for block in unusual]
        for name in USUAL:
            segments.extend(map(Segment.of, by_kind[name]) if by_kind[name] else [empty_segment(name)])
        return segments

    def _used_segments(self) -> list[tuple[Segment, int, int]]:
        """Parts that have columns, with the range of their parameters."""
        segments = [segment for segment in self._segments if segment.n_columns]
        ends = list(accumulate((segment.layout().parameters for segment in segments), initial=0))
        return [(segment, start, stop) for segment, (start, stop) in zip(segments, pairwise(ends), strict=True)]


def _checked(family: Any) -> str | Family:
    if isinstance(family, str) and (family == IGNORED or family in PARTS):
        return family
    found = resolve_family(family)
    if isinstance(found, Table):
        raise ValueError("columns: a table cannot be a column of a table")
    return family if isinstance(family, str) else found


def _blocks(columns: Sequence[Column], objects: Mapping[int, Family]) -> tuple[Block, ...]:
    """Columns of one string share a family; so do the columns that were given one and the same object."""
    groups: dict[Any, list[int]] = {}
    for j, column in enumerate(columns):
        key = column.family if j not in objects else id(objects[j])
        groups.setdefault(key, []).append(j)
    blocks: list[Block] = []
    for key, places in groups.items():
        family = FAMILIES[key]() if isinstance(key, str) else objects[places[0]]
        name = family.short_name()
        taken = sum(block.family.short_name() == name for block in blocks)
        if isinstance(key, str):
            family = family.with_levels([columns[j].levels for j in places])
        blocks.append(Block(name if not taken else f"{name} {taken + 1}", tuple(places), family))
    return tuple(blocks)
