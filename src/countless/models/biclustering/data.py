"""What a biclustering was fitted to: the stored cells of a matrix, its block model, priors and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...priors.verbs import Prior
from ...runs import register_settings
from ...runs.settings import to_json
from .block_models import MODELS, BlockModel
from .block_models.base import Matrix
from .problem import Problem

register_settings(MODELS)


@dataclass(frozen=True)
class BiclusteringData:
    """A matrix with everything needed to make the same fit again.

    Attributes
    ----------
    matrix : Matrix
        After rescaling, where that was asked for.
    model : BlockModel
        Resolved.
    priors : tuple of Prior
        Resolved; one, where rows and columns are the same items.
    row_names, column_names : tuple of str
        Empty where there are none.
    """

    matrix: Matrix
    model: BlockModel
    priors: tuple[Prior, ...]
    row_names: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()

    noun: ClassVar[str] = "matrix"

    @property
    def tied(self) -> bool:
        """Whether rows and columns are the same items."""
        return len(self.priors) == 1

    def names(self, side: int) -> list[str]:
        """Names of rows (0) or columns (1), numbered where they have none."""
        known = (self.row_names, self.column_names)[side]
        word = ("row", "column")[side]
        return list(known) or [f"{word} {number}" for number in range(self.matrix.shape[side])]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Stored cells."""
        return {"rows": self.matrix.rows, "columns": self.matrix.columns, "values": self.matrix.values}

    def settings(self) -> dict[str, Any]:
        """Shape, model, priors and names."""
        return {
            "shape": tuple(self.matrix.shape),
            "model": self.model,
            "priors": self.priors,
            "row names": list(self.row_names),
            "column names": list(self.column_names),
        }

    @classmethod
    def revived(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> BiclusteringData:
        """The same from a file; the model must be one of this matrix, and need nothing more from it."""
        shape, model, priors = settings["shape"], settings["model"], settings["priors"]
        matrix = Matrix(shape, arrays["rows"], arrays["columns"], arrays["values"])
        _check_cells(matrix)
        if not isinstance(model, BlockModel) or not all(isinstance(prior, Prior) for prior in priors):
            raise ValueError("its model or its priors are damaged")
        if not 1 <= len(priors) <= 2 or (len(priors) == 1 and shape[0] != shape[1]):
            raise ValueError("its priors do not fit its matrix")
        names = tuple(settings["row names"]), tuple(settings["column names"])
        for known, length in zip(names, shape, strict=True):
            if known and (len(known) != length or not all(isinstance(name, str) for name in known)):
                raise ValueError(f"it has {len(known)} names for {length} rows or columns")
        model.check(matrix)
        if to_json(model.resolved_again(matrix)) != to_json(model):
            raise ValueError("its model does not fit its matrix")
        for prior, length in zip(priors, shape, strict=False):
            if to_json(prior.resolve(length)) != to_json(prior):
                raise ValueError("its priors do not fit its matrix")
        return cls(matrix, model, tuple(priors), *names)

    def problem(self) -> Problem:
        """The problem that engines solve."""
        return Problem.of(self.matrix, self.model, *self.priors)


def _check_cells(matrix: Matrix) -> None:
    """Raise ValueError unless these are the stored cells of a matrix, in the order of rows."""
    shape, rows, columns, values = matrix
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int and n >= 1 for n in shape)):
        raise ValueError("its matrix has no shape")
    kinds = rows.dtype == np.int64, columns.dtype == np.int64, values.dtype == np.float64
    if not all(kinds) or rows.ndim != 1 or rows.shape != columns.shape or rows.shape != values.shape:
        raise ValueError("its cells are not a matrix")
    if len(rows):
        if rows.min() < 0 or columns.min() < 0 or rows.max() >= shape[0] or columns.max() >= shape[1]:
            raise ValueError("its cells lie outside its matrix")
        if np.any(np.diff(rows * shape[1] + columns) <= 0) or np.isinf(values).any() or np.any(values == 0.0):
            raise ValueError("its cells are not those of a matrix")
