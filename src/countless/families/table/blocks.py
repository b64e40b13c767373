"""Blocks of a table: the columns of one family, as users have them and as kernels take them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import verbs
from ..arrays import fill_missing
from ..base import FAMILIES, Family, FloatArray, Layout
from ..learnable import Law


class Block(NamedTuple):
    """Columns of a table that belong to one family; ``name`` is what its hyperparameters are called by."""

    name: str
    columns: tuple[int, ...]
    family: Family

    def learned(self, names: Collection[str]) -> tuple[str, ...]:
        """Names in the table of hyperparameters that are learned.

        There are none where the columns are taken apart and share theirs.
        """
        if self.family.missing == "integrated" and not self.family.learns_by_column:
            return ()
        return tuple(f"{self.name}.{name}" for name in names)


@dataclass(frozen=True)
class Segment:
    """A range of the kernels' rows: a block as part of the table, or a usual kind of columns that the table lacks."""

    name: str
    part: Any
    block: Block | None

    @classmethod
    def of(cls, block: Block) -> Segment:
        return cls(block.name, block.family.part(len(block.columns)), block)

    @property
    def n_columns(self) -> int:
        return 0 if self.block is None else len(self.block.columns)

    @property
    def width(self) -> int:
        """Columns of the widened rows."""
        return self.n_columns * (2 if self.block is not None and self.block.family.missing == "drawn" else 1)

    def law(self, names: Collection[str]) -> Law:
        """The law of the named hyperparameters; none of a family whose columns share theirs and are taken apart."""
        if self.block is None:
            return Law({}, np.zeros(0))
        family = self.block.family
        if family.missing == "integrated" and not family.learns_by_column:
            hyper = self.part.prepare()
            return Law({}, np.zeros(sum(verbs.n_learned(hyper, j) for j in range(self.n_columns))))
        return family.law(names)

    def layout(self) -> Layout:
        return Layout(0, 0, 0) if self.block is None else self.part.layout()


def empty_segment(name: str) -> Segment:
    family = FAMILIES[name]().resolve(np.zeros((1, 1)))
    return Segment(name, family.part(1), None)


def check_observed(family: Family, cells: FloatArray) -> None:
    """Check the observed cells; a column without any is taken for zeros, then for ones where there can be no zeros."""
    filled = fill_missing(cells)
    unknown = np.isnan(cells).all(axis=0)
    try:
        family.check(filled)
    except ValueError:
        if not unknown.any():
            raise
        filled[:, unknown] = 1.0
        family.check(filled)
