"""Block model: a small immutable object for people, and the register of short names.

A model checks a matrix, sets what was left open from the data, turns cells into additive statistics, and hands kernels
a NamedTuple of hyperparameters (``verbs``). Hyperparameters that are learned move on their line, as those of families
do (``families.learnable``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ....core.register import Register
from ....families.learnable import Law
from ....partitions.seats import FloatArray, IntArray
from .expected import Slopes, SoftBlocks
from .verbs import Work

MODELS: Register[type[BlockModel]] = Register("model", "countless.block_models")
register = MODELS.add


class Matrix(NamedTuple):
    """A matrix by its stored cells, in the order of rows; all other cells are zero.

    ``values`` may hold NaN, a missing cell.
    """

    shape: tuple[int, int]
    rows: IntArray
    columns: IntArray
    values: FloatArray

    @property
    def n_cells(self) -> int:
        """Cells that are not missing."""
        return self.shape[0] * self.shape[1] - int(np.isnan(self.values).sum())

    def margins(self) -> tuple[FloatArray, FloatArray]:
        """Sums of rows and of columns over cells that are not missing."""
        values = np.nan_to_num(self.values)
        rows = np.bincount(self.rows, values, self.shape[0]).astype(np.float64)
        return rows, np.bincount(self.columns, values, self.shape[1]).astype(np.float64)


class Prepared(NamedTuple):
    """What a model makes of a matrix.

    Attributes
    ----------
    statistics : array (stored cell, S)
        Statistics of each stored cell less those of a cell that holds zero.
    zero : array (S,)
        Statistics of a cell that holds zero.
    margins : tuple of two arrays
        Totals of rows and of columns, where the model asks for them; else zeros.
    weights : tuple of two arrays
        Weights of rows and of columns.
    constant : float
        A part of the log evidence that neither partitions nor hyperparameters change.
    """

    statistics: FloatArray
    zero: FloatArray
    margins: tuple[FloatArray, FloatArray]
    weights: tuple[FloatArray, FloatArray]
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class BlockModel(ABC):
    """Base of all block models; subclasses are frozen dataclasses."""

    # What cells must be, in words; and whether cells may be missing.
    missing: ClassVar[bool] = False
    # Whether new cells that hold zero have a likelihood; further counts are asked one by one, and zeros are none.
    predicts_zeros: ClassVar[bool] = False

    if TYPE_CHECKING:
        # Hyperparameters that are learned; a field of subclasses, None before ``resolve``.
        open: Any

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, each.name) == getattr(other, each.name) for each in fields(self))

    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def check(self, matrix: Matrix) -> None:
        """Raise ValueError, in one sentence, where a matrix cannot come from this model."""

    @abstractmethod
    def resolve(self, matrix: Matrix) -> Self:
        """Copy with every hyperparameter set, those left as None from the data."""

    def resolved_again(self, matrix: Matrix) -> BlockModel:
        """What resolving a resolved model gives: itself, unless it belongs to a different matrix."""
        return self.resolve(matrix)._with(open=self.open)

    @abstractmethod
    def left_open(self) -> tuple[str, ...]:
        """Hyperparameters that nobody has set, so that they are learned."""

    @abstractmethod
    def law(self, left_open: tuple[str, ...]) -> Law:
        """The law of the offsets of these hyperparameters on their lines; the model is resolved."""

    @abstractmethod
    def at(self, law: Law, offsets: FloatArray) -> Self:
        """The model with learned hyperparameters at these offsets."""

    @abstractmethod
    def hyper(self) -> Any:
        """Hyperparameters as kernels receive them; the model is resolved."""

    def hyper_at(self, law: Law, offsets: FloatArray) -> Any:
        """Hyperparameters at these offsets, as kernels receive them."""
        return self.at(law, offsets).hyper()

    @abstractmethod
    def cells(self, matrix: Matrix) -> Prepared:
        """The matrix as kernels take it; it must not depend on hyperparameters that are learned."""

    @abstractmethod
    def log_outside(self, shape: tuple[int, int], prepared: Prepared) -> float:
        """The part of the log evidence that no partition changes, less the constant of ``prepared``."""

    @abstractmethod
    def describe(self) -> dict[str, FloatArray | float]:
        """Hyperparameters by name, in the user's units."""

    @abstractmethod
    def means(self, counts: BlockCounts) -> FloatArray:
        """Posterior mean of a cell of each block, in the user's units."""

    @abstractmethod
    def log_cells(self, counts: BlockCounts, cells: NewCells) -> FloatArray:
        """Log predictive of new cells given the blocks."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, given: Drawing) -> FloatArray:
        """A new matrix from blocks whose parameters are drawn given what they hold; for tests of the moves."""

    def expected(self, soft: SoftBlocks) -> Slopes:
        """What mean field needs (see ``expected``); ValueError where the model has no tractable bound."""
        raise ValueError(
            f"inference: 'variational' is for model='symmetric', 'frequency' or 'relational', all without "
            f"degree_corrected, and not for {self!r}; choose inference='map' or 'gibbs'"
        )

    def work(self) -> Work:
        """Room for one block."""
        return Work(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(2))

    def _with(self, **changes: Any) -> Self:
        return replace(self, **changes)


class BlockCounts(NamedTuple):
    """Blocks of one draw: statistics (row cluster, column cluster, S), masses, sizes and totals of both sides."""

    blocks: FloatArray
    masses: tuple[FloatArray, FloatArray]
    sizes: tuple[FloatArray, FloatArray]
    totals: tuple[FloatArray, FloatArray]


class NewCells(NamedTuple):
    """Cells to be predicted: their row and column, the clusters of these, the value, and margins of both items."""

    rows: IntArray
    columns: IntArray
    row_labels: IntArray
    column_labels: IntArray
    values: FloatArray
    margins: tuple[FloatArray, FloatArray]


class Drawing(NamedTuple):
    """What a matrix is drawn from: partitions, blocks given so far (None: from the prior), margins to respect."""

    row_labels: IntArray
    column_labels: IntArray
    counts: BlockCounts | None
    margins: tuple[FloatArray, FloatArray]


def resolve_model(model: Any, family: Any, degree_corrected: bool) -> BlockModel:
    """The model for a short string; an object stays what it is."""
    if isinstance(model, BlockModel):
        if family is not None or degree_corrected:
            raise ValueError(
                "family and degree_corrected are settings of a model that is given by name; leave them out"
            )
        return model
    cls = MODELS.resolve("model", model, "a block model object")
    known = {each.name for each in fields(cls)}
    settings: dict[str, Any] = {}
    if family is not None:
        if "family" not in known:
            raise ValueError(f"family: model={model!r} has none; choose model='relational', or leave family out")
        settings["family"] = family
    if degree_corrected:
        if "degree_corrected" not in known:
            able = " or ".join(repr(n) for n, each in MODELS.items() if "degree_corrected" in each.__dataclass_fields__)
            raise ValueError(f"degree_corrected: model={model!r} cannot; choose model={able}")
        settings["degree_corrected"] = True
    return cls(**settings)


def require_counts(matrix: Matrix, name: str) -> None:
    """Raise ValueError unless all cells are whole numbers of at least zero, some of them positive."""
    values = matrix.values
    if np.isnan(values).any():
        at = int(np.isnan(values).argmax())
        raise ValueError(
            f"X: cell ({matrix.rows[at]}, {matrix.columns[at]}) is missing, but model={name!r} counts all cells; "
            "choose model='relational', which leaves missing cells out"
        )
    bad = (values < 0) | (values != np.floor(values))
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(
            f"X: model={name!r} needs counts, got {values[at]:.6g} in cell ({matrix.rows[at]}, {matrix.columns[at]}); "
            "choose model='relational' for real numbers, or a total, rescale=..., to turn ratings into counts"
        )
    if not values.any():
        raise ValueError("X: all cells are zero, so that there is nothing to group")
