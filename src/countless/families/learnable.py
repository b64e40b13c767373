"""Hyperparameters that are learned: how far they may stray from their defaults, and the family with some of them moved.

A hyperparameter is moved on its *line*: that of its logarithm, or of itself where it is a location. Offsets on the line
are zero at the default, so that they mean the same in all units of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Offsets by name of the hyperparameter: one number for all of it, or one for each of its entries.
Offsets = Mapping[str, Any]

# Standard deviation of the part that all strengths share.
STRENGTH = 1.5


class Law:
    r"""Normal law, around zero, of the offsets of learned hyperparameters.

    Offsets are independent but for the *strengths*: pseudo-counts, which say how much clusters are alike in a column.
    They have a part in common, so that clusters that are alike in all columns cost the law once and not once a column.
    With :math:`w_i = 1 / \sigma_i^2`, :math:`W = \sum_i w_i` and :math:`S = \sum_i w_i o_i` over the strengths, and
    :math:`\tau` the deviation of the common part,

    .. math::

        -2 \log p(o) = \sum_i w_i o_i^2 - \frac{\tau^2 S^2}{1 + \tau^2 W}
        + \log(1 + \tau^2 W) + \sum_i \log (2 \pi \sigma_i^2)

    (Sherman and Morrison's inverse of a diagonal matrix plus one of rank one).

    Parameters
    ----------
    places : dict of arrays
        Where the entries of each learned hyperparameter stand among all offsets, which are in the order of the kernels.
    spreads : array
        Standard deviation of each offset, less the common part; zero where it stays at zero.
    strengths : array of bool, optional
        Which offsets are strengths. Default: none.
    common : float
        Standard deviation of the part that all strengths share.

    Attributes
    ----------
    deviations : array
        Standard deviation of each offset.
    """

    def __init__(
        self,
        places: Mapping[str, IntArray],
        spreads: FloatArray,
        strengths: NDArray[np.bool_] | None = None,
        common: float = STRENGTH,
    ) -> None:
        self.places, self.spreads, self.common = places, spreads, common
        self.strengths = np.zeros(len(spreads), dtype=np.bool_) if strengths is None else strengths & (spreads > 0)
        self.deviations = np.sqrt(spreads**2 + common**2 * self.strengths)

    @property
    def arrays(self) -> tuple[FloatArray, NDArray[np.bool_], float]:
        """The law as kernels receive it."""
        return self.spreads, self.strengths, self.common

    def by_name(self, offsets: FloatArray) -> dict[str, FloatArray]:
        """Offsets of the hyperparameters that are learned."""
        return {name: offsets[place] for name, place in self.places.items()}

    def in_order(self, offsets: Offsets) -> FloatArray:
        """All offsets, those that are not named zero."""
        out = np.zeros(len(self.spreads))
        for name, values in offsets.items():
            out[self.places[name]] = values
        return out

    def log_density(self, offsets: FloatArray) -> float:
        """Log density of offsets."""
        learned = self.spreads > 0
        z = offsets[learned] / self.spreads[learned]
        value = z @ z + 2.0 * np.log(self.spreads[learned]).sum() + len(z) * math.log(2.0 * math.pi)
        if self.strengths.any():
            weights = self.spreads[self.strengths] ** -2
            inside = 1.0 + self.common**2 * weights.sum()
            value += math.log(inside) - self.common**2 * (weights @ offsets[self.strengths]) ** 2 / inside
        return float(-0.5 * value)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Offsets from the law."""
        own = rng.normal(size=len(self.spreads)) * self.spreads
        return np.asarray(own + self.common * rng.normal() * self.strengths)


class Learnable:
    """What a family says about hyperparameters that may be learned; a part of ``Family``."""

    # Standard deviations of the offsets of hyperparameters that are learned where they are left as None, by name, in
    # the order in which ``verbs.set_learned`` numbers those of a column.
    spreads: ClassVar[Mapping[str, float]] = {}
    # Those of them that are strengths (``Law``): the larger all of them are, the more clusters are alike.
    strengths: ClassVar[tuple[str, ...]] = ()
    # Hyperparameters that are locations: they are shifted, in units of the columns, and not multiplied.
    locations: ClassVar[tuple[str, ...]] = ()
    # Whether the learned hyperparameters of each column are its own, so that columns can be taken apart.
    learns_by_column: ClassVar[bool] = True
    # Hyperparameters that ``countless.tuning`` may multiply; None: every field of positive floats.
    learnable: ClassVar[tuple[str, ...] | None] = None
    # Whether ``row_statistics`` does not depend on them: then statistics stay as they are while they are learned.
    statistics_stay: ClassVar[bool] = False

    def lower_bound(self, name: str) -> float:
        """Bound that a learnable hyperparameter must stay above; the family is resolved."""
        return 0.0

    def left_open(self) -> tuple[str, ...]:
        """Hyperparameters that are learned because nobody has set them; the family is not resolved.

        Examples
        --------
        >>> import countless as cl
        >>> cl.families.Poisson(shape=2.0).left_open()
        ('rate',)
        """
        return tuple(name for name in self.spreads if getattr(self, name) is None)

    def stays(self, name: str) -> Any:
        """Whether each entry of a learned hyperparameter stays where the data put it; the family is resolved."""
        return False

    def offered(self) -> tuple[str, ...]:
        """Hyperparameters that are learned where nobody sets them."""
        return tuple(self.spreads)

    def law(self, names: Collection[str]) -> Law:
        """The law of the offsets of the named hyperparameters, all others fixed; the family is resolved."""
        n_fields = len(self.spreads)
        if not n_fields:
            return Law({}, np.zeros(0))
        n_columns = np.size(getattr(self, next(iter(self.spreads))))
        numbers = np.arange(n_columns) * n_fields
        places = {name: numbers + at for at, name in enumerate(self.spreads)}
        return self._law(places, names)

    def _law(self, places: Mapping[str, IntArray], names: Collection[str]) -> Law:
        """The law where the entries of each hyperparameter have these places."""
        spreads = np.zeros(sum(map(len, places.values())))
        strengths = np.zeros(len(spreads), dtype=np.bool_)
        for name in names:
            spreads[places[name]] = np.where(self.stays(name), 0.0, self.spreads[name])
            strengths[places[name]] = name in self.strengths
        return Law({name: places[name] for name in places if name in names}, spreads, strengths)

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

    def with_tuned(self, offsets: Offsets) -> Self:
        """Copy with some hyperparameters moved by offsets on their lines; the family is resolved.

        A positive hyperparameter is multiplied by the exponential of its offset, and so is what a number with a lower
        bound has above it; one offset multiplies an array or a matrix as a whole, as many as it has entries (or a
        matrix columns) each of them. Any real offsets give a valid family, and they mean the same in all units of the
        rows.

        Examples
        --------
        >>> import math
        >>> import countless as cl
        >>> family = cl.families.Poisson(shape=[2.0, 8.0], rate=[1.0, 1.0])
        >>> round(family.with_tuned({"rate": math.log(3.0)}).tunable()["rate"], 6)
        3.0
        """
        known = self.tunable() if self.learnable is None else self.learnable
        unknown = [name for name in offsets if name not in known and name not in self.spreads]
        if unknown:
            raise ValueError(
                f"log_factors: {unknown[0]!r} is not learnable; choose among {', '.join(map(repr, known))}"
            )
        return self._with(**{name: self._moved(name, offset) for name, offset in offsets.items() if np.any(offset)})

    def column_offsets(self, offsets: Offsets, j: int) -> dict[str, Any]:
        """What offsets of the hyperparameters of all columns are for the family of column ``j`` alone."""
        return {name: value[j : j + 1] if np.size(value) > 1 else value for name, value in offsets.items()}

    def _moved(self, name: str, offset: Any) -> Any:
        """One hyperparameter moved on its line."""
        value = getattr(self, name)
        if name in self.locations:
            return np.asarray(value) + offset
        return _multiplied(value, np.exp(offset), self.lower_bound(name))

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


def _multiplied(value: Any, factor: Any, bound: float) -> Any:
    if isinstance(value, (list, tuple)):
        ends = np.cumsum([np.size(part) for part in value])[:-1]
        factors = np.split(factor, ends) if np.ndim(factor) else [factor] * len(value)
        return type(value)(_multiplied(part, each, bound) for part, each in zip(value, factors, strict=True))
    if isinstance(value, np.ndarray):
        if value.ndim == 2 and np.size(factor) > 1:
            root = np.sqrt(factor)
            return value * np.outer(root, root)
        return bound + (value - bound) * factor if bound else value * factor
    return bound + (float(value) - bound) * np.asarray(factor).item()
