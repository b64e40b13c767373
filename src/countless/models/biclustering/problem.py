"""The problem of a biclustering: a matrix, its block model, and the priors of both partitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...chains.contract import Frozen
from ...chains.fields import Field
from ...families.learnable import Law
from ...partitions.seats import FloatArray, IntArray
from ...priors.verbs import Prior
from .block_models.base import BlockModel, Matrix
from .cells import BothOrders

if TYPE_CHECKING:
    from .state import State

SIDES = ("row", "column")
# Share of stored cells up to which most blocks that an item joins get zeros only.
MOST_STORED = 0.2


@dataclass(frozen=True)
class Problem:
    """A matrix and its model; immutable, shared by all chains.

    Attributes
    ----------
    table : BothOrders
    model : BlockModel
        Resolved; learned hyperparameters as they are before any was learned.
    priors : tuple of Prior
        Of the rows and of the columns, resolved; of the items alone, where sides are tied.
    """

    table: BothOrders
    model: BlockModel
    priors: tuple[Prior, ...]

    @classmethod
    def of(cls, matrix: Matrix, model: BlockModel, *priors: Prior) -> Problem:
        """Prepare a matrix for a resolved model; with one prior rows and columns are the same items."""
        return cls(BothOrders.of(matrix, model), model, priors)

    # --- the contract of a problem ----------------------------------------------------------------------------------

    @property
    def axes(self) -> dict[str, int]:
        """Rows and columns; where sides are tied, rows."""
        return dict(zip(SIDES, self.shape, strict=True)) if not self.tied else {"row": self.shape[0]}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What a draw consists of."""
        found = [Field("log_joint", "number")]
        for side, prior in zip(SIDES, self.priors, strict=False):
            learned = prior.learned_names
            others = [name for name in learned if name != "concentration"]
            found += [
                Field(f"{side}_labels", "labels", (side,), of=f"n_{side}_clusters"),
                Field(f"n_{side}_clusters", "count", words=f"number of {side} clusters"),
                Field(f"{side}_concentration", "number", compared="concentration" in learned),
                *(Field(f"{side}_{name}", "count" if prior.law_of(name).is_count else "number") for name in others),
            ]
        return (
            *found,
            Field("offsets", "number", ("learned",), optional=True, watched=False),
            *(Field(f"{side}_mode", "labels", (side,), once=True, optional=True) for side in SIDES[: len(self.priors)]),
            Field("objective", "number", ("step",), once=True, optional=True),
        )

    def start(self, kind: Any, number: int, rng: np.random.Generator) -> State:
        """Where chain ``number`` begins; see ``engines.starts``."""
        from .engines.starts import start

        return start(self, kind, number, rng)

    def state(self, *labels: IntArray, offsets: FloatArray | None = None, at: Any = None) -> State:
        """The state with these labels of rows and columns (of items, where sides are tied)."""
        from .state import State

        return State(self, labels, offsets, at)

    def thaw(self, frozen: Frozen) -> State:
        """The state that was frozen; ValueError where it is none of this problem."""
        from .state import State

        return State.thawed(self, frozen)

    # --- the matrix --------------------------------------------------------------------------------------------------

    @property
    def matrix(self) -> Matrix:
        return self.table.matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.matrix.shape

    @property
    def tied(self) -> bool:
        """Whether rows and columns are the same items."""
        return len(self.priors) == 1

    @cached_property
    def is_sparse(self) -> bool:
        """Whether moves keep what one more item of zeros does to each block (``moves.view.Gaps``)."""
        few = len(self.matrix.values) <= MOST_STORED * self.shape[0] * self.shape[1]
        return few and not self.tied and all(bool(np.all(part == 1.0)) for part in self.table.prepared.weights)

    @cached_property
    def law(self) -> Law:
        """The law of the hyperparameters that are learned."""
        return self.model.law(self.model.left_open())

    def log_outside(self, offsets: FloatArray) -> float:
        """The part of the log evidence that no partition changes, at these offsets of hyperparameters."""
        prepared = self.table.prepared
        return self.model.at(self.law, offsets).log_outside(self.shape, prepared) + prepared.constant

    def sweep_cost(self) -> float:
        """Numbers that a sweep over all items touches, about, at the usual number of clusters."""
        usual = [max(4.0, prior.expected_clusters(n)) for prior, n in zip(self.priors, self.shape, strict=False)]
        blocks = usual[0] * usual[-1] * len(self.table.prepared.zero)
        return 2.0 * len(self.matrix.values) + sum(self.shape) * 3.0 * blocks
