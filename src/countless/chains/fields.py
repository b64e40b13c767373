"""Fields: what one draw of a model consists of, declared once: chains, files and figures need not know the model.

A field has a name, a kind and axes. Its array over all draws has shape (chain, draw, axes...). A field ``per`` a count
is ragged: draw after draw, chain after chain, it lists as many entries as that count says. A field that is there
``once`` belongs to the whole fit (the steps of an optimiser, a mixture that approximates the posterior).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Signed, so that labels minus one are what they look like.
LABEL_TYPES = (np.int8, np.int16, np.int32, np.int64)

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Field:
    """One part of a draw.

    Attributes
    ----------
    name : str
        A slash groups: ``"parameters/mean"`` is one of the ``parameters``; ``"parameters/*"`` declares all of them.
    kind : {"labels", "count", "number", "bits"}
        Group of each item, numbered 0, 1, 2, ... in each draw; a whole number; a real number; zeros and ones.
    axes : tuple of str, or None
        Names of axes of the problem, such as ``("row",)``. Other names stand for axes of any length; None for any
        number of them.
    per : str, optional
        Name of the count field that says how many entries each draw has.
    of : str, optional
        For labels: name of the count field that says how many groups there are.
    once : bool
        One array for the whole fit.
    optional : bool
        Whether draws may come without it.
    single : bool
        Numbers in single precision.
    compared : bool
        Whether chains are compared by it, where it is one number per draw.
    watched : bool
        Whether it is a few numbers of each draw, an array with axes of fixed lengths, that chains which decide when
        they are done compare one by one.
    words : str
        How people read the name.

    Examples
    --------
    >>> from countless.chains import Field
    >>> Field("change", "count", words="place of the change").is_scalar
    True
    """

    name: str
    kind: str
    axes: tuple[str, ...] | None = ()
    per: str | None = None
    of: str | None = None
    once: bool = False
    optional: bool = False
    single: bool = False
    compared: bool = True
    watched: bool = False
    words: str = ""

    @property
    def is_scalar(self) -> bool:
        """Whether it is one number of each draw."""
        return self.kind in ("count", "number") and self.axes == () and self.per is None and not self.once

    @property
    def title(self) -> str:
        """The name as people read it."""
        return self.words or self.name.rpartition("/")[2].replace("_", " ")

    def fits(self, array: NDArray[Any]) -> bool:
        """Whether an array is of the type of the field."""
        if self.kind == "labels":
            return array.dtype.kind == "i"
        types = {"count": np.int64, "bits": np.bool_, "number": np.float32 if self.single else np.float64}
        return array.dtype == types[self.kind]


def field_of(fields: Iterable[Field], name: str) -> Field | None:
    """The declaration of an array; None where there is none."""
    group = f"{name.partition('/')[0]}/*"
    return next((field for field in fields if field.name in (name, group)), None)


def compact(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels in the smallest type that holds them."""
    largest = int(labels.max(initial=0))
    return labels.astype(next(kind for kind in LABEL_TYPES if largest <= np.iinfo(kind).max))


def check_arrays(arrays: Arrays, fields: Sequence[Field], axes: Mapping[str, int], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the arrays are those of draws: all fields, of the right types and sizes.

    ``shape`` is what comes before the axes of a field: (draw,) for a piece of a chain, (chain, draw) for all of them.
    """
    for field in fields:
        there = field.name in arrays or field.name.endswith("/*") or field.optional
        if not there and not (field.once and len(shape) == 1):
            raise ValueError(f"the field {field.name!r} is missing")
    lengths = dict(axes)
    for name, array in arrays.items():
        declared = field_of(fields, name)
        if declared is None:
            raise ValueError(f"{name!r} is not a field of these draws")
        if not declared.fits(array):
            raise ValueError(f"{name} has the wrong type, {array.dtype}")
        lead = () if declared.once else (int(arrays[declared.per].sum()),) if declared.per else shape
        rest = array.shape[len(lead) :]
        if array.shape[: len(lead)] != lead or not _agree(declared.axes, rest, lengths):
            raise ValueError(f"{name} has the wrong shape, {array.shape}")
        if declared.kind == "labels":
            lines = array.reshape(-1, array.shape[-1])
            counts = lines.max(axis=1).astype(np.int64) + 1 if declared.of is None else arrays[declared.of].reshape(-1)
            check_labels(lines, counts)


def _agree(axes: tuple[str, ...] | None, shape: tuple[int, ...], lengths: dict[str, int]) -> bool:
    """Whether axes have the lengths that are known of them; new ones become known."""
    if axes is None:
        return True
    return len(axes) == len(shape) and all(
        lengths.setdefault(axis, length) == length for axis, length in zip(axes, shape, strict=True)
    )


def check_labels(labels: NDArray[Any], n_clusters: NDArray[Any]) -> None:
    """Raise ValueError unless each line of ``labels`` is a partition into so many groups, numbered 0, 1, 2, ..."""
    if labels.dtype.kind != "i" or n_clusters.dtype.kind != "i" or len(labels) != len(n_clusters):
        raise ValueError("its labels are not one whole number for each item")
    if len(labels) and (labels.min() < 0 or np.any(labels.max(axis=1) + 1 != n_clusters)):
        raise ValueError("its labels do not agree with its numbers of clusters")
    for drawn, count in zip(labels, n_clusters, strict=True):
        if np.count_nonzero(np.bincount(drawn, minlength=int(count))) != count:
            raise ValueError("a cluster of its draws has no members")
