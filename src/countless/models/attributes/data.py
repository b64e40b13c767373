"""What latent attributes were fitted to: a square matrix, its model, names, and what is known of some objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .laws import FloatArray, Laws
from .problem import LACKS, UNKNOWN, Problem
from .reading import Known

NOTHING = Known(np.empty((0, 0), dtype=np.int64), (), ())


@dataclass(frozen=True, eq=False)
class AttributesData:
    """A matrix with everything needed to make the same fit again.

    Attributes
    ----------
    matrix : array (object, object)
        NaN for pairs that were not observed.
    laws : Laws
        Resolved.
    binary, diagonal, directed : bool
    names : tuple of str
        Of objects; empty where they have none.
    known : Known
        Attributes that are known for some objects.
    """

    matrix: FloatArray
    laws: Laws
    binary: bool = False
    diagonal: bool = True
    directed: bool = False
    names: tuple[str, ...] = ()
    known: Known = NOTHING

    noun: ClassVar[str] = "matrix"

    def object_names(self) -> list[str]:
        """Names of objects, numbered where they have none."""
        return list(self.names) or [f"object {number}" for number in range(len(self.matrix))]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The matrix, and what is known."""
        return {"matrix": self.matrix, "known": self.known.table}

    def settings(self) -> dict[str, Any]:
        """The model and names."""
        return {
            "laws": self.laws.settings(),
            "binary": self.binary,
            "diagonal": self.diagonal,
            "directed": self.directed,
            "names": list(self.names),
            "levels": [list(each) for each in self.known.levels],
            "known names": list(self.known.names),
        }

    @classmethod
    def revived(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> AttributesData:
        """The same from a file."""
        matrix, table = arrays["matrix"], arrays["known"]
        if matrix.dtype != np.float64 or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
            raise ValueError("its matrix is not square")
        if np.isinf(matrix).any() or not all(
            type(settings[name]) is bool for name in ("binary", "diagonal", "directed")
        ):
            raise ValueError("its matrix or its model is damaged")
        laws = Laws(**settings["laws"])
        if any(value is None for value in laws.settings().values()):
            raise ValueError("its model is damaged")
        names, levels = tuple(settings["names"]), tuple(tuple(each) for each in settings["levels"])
        if names and (len(names) != len(matrix) or not all(isinstance(name, str) for name in names)):
            raise ValueError(f"it has {len(names)} names for {len(matrix)} objects")
        known = Known(table, levels, tuple(settings["known names"]))
        _check_known(known, len(matrix))
        data = cls(matrix, laws, settings["binary"], settings["diagonal"], settings["directed"], names, known)
        if not data.directed and not np.array_equal(matrix, matrix.T, equal_nan=True):
            raise ValueError("its matrix is not symmetric")
        return data

    def problem(self) -> Problem:
        """The problem that engines solve."""
        known = self.known.table if self.known.levels else None
        return Problem(self.matrix, self.laws, self.binary, self.diagonal, self.directed, known)


def _check_known(known: Known, n_objects: int) -> None:
    table, levels, names = known
    if table.dtype != np.int64 or table.ndim != 2 or len(names) != len(levels):
        raise ValueError("its known attributes are damaged")
    if levels and table.shape != (n_objects, len(levels)):
        raise ValueError("its known attributes do not fit its matrix")
    for column, found in zip(table.T, levels, strict=False):
        codes = np.unique(column)
        if codes.min(initial=0) < min(UNKNOWN, LACKS) or codes[codes >= 0].tolist() != list(range(len(found))):
            raise ValueError("its known attributes do not fit their categories")
