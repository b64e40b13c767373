"""Hyperparameters that are learned: their sizes, and the family with some of them multiplied by factors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np


class Learnable:
    """What a family says about hyperparameters that may be learned; a part of ``Family``."""

    # Hyperparameters that may be learned from the data; None: every field of positive floats.
    learnable: ClassVar[tuple[str, ...] | None] = None
    # Whether ``row_statistics`` does not depend on them: then statistics stay as they are while they are learned.
    statistics_stay: ClassVar[bool] = False

    def lower_bound(self, name: str) -> float:
        """Bound that a learnable hyperparameter must stay above; the family is resolved."""
        return 0.0

    def tunable(self) -> dict[str, float]:
        """Hyperparameters that may be learned, by name, each with its size; the family is resolved.

        The size of an array is the geometric mean of its numbers, that of a covariance matrix the D-th root of
        its determinant.

        Examples
        --------
        >>> import countless as cl
        >>> cl.families.Poisson(shape=[2.0, 8.0], rate=[1.0, 1.0]).tunable()
        {'shape': 4.0, 'rate': 1.0}
        """
        names = [field.name for field in fields(self)] if self.learnable is None else self.learnable  # type: ignore[arg-type]
        sizes = {name: _log_size(getattr(self, name)) for name in names}
        return {name: math.exp(size) for name, size in sizes.items() if size is not None}

    def with_tuned(self, log_factors: Mapping[str, float]) -> Self:
        """Copy with some hyperparameters multiplied by the exponentials of ``log_factors``; the family is resolved.

        An array or a matrix is multiplied as a whole, and so is what a number with a lower bound has above it.
        Any real log factors give a valid family, and they mean the same in all units of the rows.

        Examples
        --------
        >>> import math
        >>> import countless as cl
        >>> family = cl.families.Poisson(shape=[2.0, 8.0], rate=[1.0, 1.0])
        >>> round(family.with_tuned({"rate": math.log(3.0)}).tunable()["rate"], 6)
        3.0
        """
        known = self.tunable() if self.learnable is None else self.learnable
        unknown = [name for name in log_factors if name not in known]
        if unknown:
            raise ValueError(
                f"log_factors: {unknown[0]!r} is not learnable; choose among {', '.join(map(repr, known))}"
            )
        return self._with(
            **{
                name: _multiplied(getattr(self, name), math.exp(log_factor), self.lower_bound(name))
                for name, log_factor in log_factors.items()
                if log_factor != 0.0
            }
        )

    def _with(self, **changes: Any) -> Self:
        raise NotImplementedError


def _log_size(value: Any) -> float | None:
    """Log of the size of a positive hyperparameter; None where the value has no size."""
    if isinstance(value, (list, tuple)) and any(np.ndim(part) for part in value):
        parts = [np.ravel(part) for part in value]
        return _log_size(np.concatenate(parts)) if parts else None
    array = np.asarray(value)
    if array.dtype.kind != "f" or array.size == 0 or not np.isfinite(array).all():
        return None
    if array.ndim == 2 and array.shape[0] == array.shape[1] and np.array_equal(array, array.T):
        sign, log_determinant = np.linalg.slogdet(array)
        return float(log_determinant) / len(array) if sign > 0 and np.all(np.diag(array) > 0) else None
    return float(np.mean(np.log(array))) if np.all(array > 0) else None


def _multiplied(value: Any, factor: float, bound: float) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_multiplied(part, factor, bound) for part in value)
    if isinstance(value, np.ndarray):
        return bound + (value - bound) * factor if bound else value * factor
    return bound + (float(value) - bound) * factor
