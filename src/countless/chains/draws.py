"""Draws: what an engine hands back, as named arrays with their declarations, and of which kind they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fields import Field, field_of

# Labels that are counted at a time: their codes take 8 bytes each.
BLOCK = 4_000_000


@dataclass(frozen=True)
class Kind:
    """What draws are, and so what they can answer.

    Attributes
    ----------
    name : str
    has_chains : bool
        Whether they come from chains that can be compared with each other.
    has_probabilities : bool
        Whether shares of the draws are posterior probabilities.
    unable : str
        What is said where there are no chains to compare.
    """

    name: str
    has_chains: bool
    has_probabilities: bool
    unable: str = ""


SAMPLED = Kind("sampled", has_chains=True, has_probabilities=True)
OPTIMUM = Kind("optimum", False, False, "A single optimum: there are no chains to compare.")
APPROXIMATION = Kind(
    "approximation", False, False, "An approximation: its draws are independent, there are no chains to compare."
)
ESTIMATE = Kind("estimate", False, False, "Estimated parameters: there are no chains to compare.")
KINDS = {kind.name: kind for kind in (SAMPLED, OPTIMUM, APPROXIMATION, ESTIMATE)}


@dataclass(frozen=True)
class Draws:
    """Named arrays of draws; ``draws["labels"]`` and ``draws.labels`` are the same.

    Attributes
    ----------
    arrays : dict of arrays
        (chain, draw, axes...); ragged fields list the entries of all draws one after the other.
    fields : tuple of Field
        What they are.
    axes : dict
        Lengths of the axes of the problem, such as ``{"row": 150}``.
    kind : Kind
    interrupted : bool
        Whether the engine was stopped before it was done.
    made : int
        Draws that each chain made; these are all of them, or every second, fourth, ... of all or of their last half.
        0 where nobody counted: as many as there are.
    spent : {"", "time", "work"}
        What ended chains that decide by themselves when they are done, other than being done.
    pace : float
        Seconds that one more draw of every chain would take, about; 0 where it was not measured. Files do not hold it.
    """

    arrays: Mapping[str, NDArray[Any]]
    fields: tuple[Field, ...]
    axes: Mapping[str, int]
    kind: Kind = SAMPLED
    interrupted: bool = False
    made: int = 0
    spent: str = ""
    pace: float = 0.0

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def __getattr__(self, name: str) -> NDArray[Any]:
        try:
            return self.__dict__["arrays"][name]
        except KeyError:
            raise AttributeError(f"these draws have no field {name!r}") from None

    def field(self, name: str) -> Field | None:
        """The declaration of a field; None where there is none."""
        return field_of(self.fields, name)

    def group(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Arrays called ``prefix/name``, by name."""
        start = f"{prefix}/"
        return {name.removeprefix(start): array for name, array in self.arrays.items() if name.startswith(start)}

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of chains and of draws of each."""
        n_chains, n_draws = self["log_joint"].shape
        return n_chains, n_draws

    def replaced(self, interrupted: bool | None = None, **arrays: NDArray[Any]) -> Draws:
        """The same with some arrays exchanged or added."""
        stopped = self.interrupted if interrupted is None else interrupted
        return replace(self, arrays={**self.arrays, **arrays}, interrupted=stopped)

    def with_group(self, prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Draws:
        """The same with arrays ``prefix/name``."""
        return replace(self, arrays={**self.arrays, **{f"{prefix}/{name}": part for name, part in arrays.items()}})

    def best(self, name: str) -> NDArray[Any]:
        """One field of the draw with the largest ``log_joint``."""
        chain, draw = np.unravel_index(int(np.argmax(self["log_joint"])), self.shape)
        return self[name][chain, draw]


def flat(draws: Draws, name: str) -> NDArray[Any]:
    """A field over all chains: (draw, axes...)."""
    array = draws[name]
    return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])


def partition_fields(arrays: Mapping[str, NDArray[Any]], fields: Iterable[Field]) -> list[Field]:
    """Fields that group the items of an axis in each draw."""
    return [
        field
        for field in fields
        if field.kind == "labels" and not field.once and field.per is None and field.axes and field.name in arrays
    ]


def quantities(arrays: Mapping[str, NDArray[Any]], fields: Sequence[Field]) -> dict[str, NDArray[np.float64]]:
    """Numbers of each draw that no renumbering of groups can change: what chains are compared by.

    Fields that are one number of each draw, and the entropy of sizes and the largest share of each partition. Draws may
    be those of one chain or of all: the results have the same leading axes.
    """
    found = {}
    for name, array in arrays.items():
        field = field_of(fields, name)
        if field is not None and field.is_scalar and field.compared:
            found[name] = np.asarray(array, dtype=np.float64)
    grouped = partition_fields(arrays, fields)
    for field in grouped:
        tail = "" if len(grouped) == 1 else f" of {field.axes[0]}s"  # type: ignore[index]
        entropy, largest = entropy_and_largest(arrays[field.name])
        found |= {f"entropy{tail}": entropy, f"largest_share{tail}": largest}
    return found


def entropy_and_largest(labels: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Entropy of the shares of the clusters (in nats) and the largest share, for each draw of (chain, draw, item).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.chains.draws import entropy_and_largest
    >>> entropy, largest = entropy_and_largest(np.array([[[0, 0, 1, 1], [0, 0, 0, 0]]]))
    >>> entropy.round(4).tolist(), largest.tolist()
    ([[0.6931, 0.0]], [[0.5, 1.0]])
    """
    entropy, largest = [], []
    for sizes in cluster_sizes(labels):
        # Summed in order of size, so that equal sizes give equal bits whatever they are called and whatever draws are
        # counted together: ranks are compared.
        shares = -np.sort(-sizes, axis=1) / labels.shape[-1]
        terms = shares * np.log(np.where(shares > 0.0, shares, 1.0))
        entropy.append(-np.cumsum(terms, axis=1)[:, -1])
        largest.append(shares.max(axis=1))
    shape = labels.shape[:-1]
    # The absolute value turns -0.0, the entropy of one cluster, into 0.0.
    return np.abs(np.concatenate(entropy)).reshape(shape), np.concatenate(largest).reshape(shape)


def cluster_sizes(labels: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
    """Sizes of the clusters (draw, label) of all draws, a block of draws at a time."""
    n_items = labels.shape[-1]
    flat = labels.reshape(-1, n_items)
    n_labels = int(flat.max()) + 1
    step = max(1, BLOCK // max(n_items, n_labels))
    for start in range(0, len(flat), step):
        part = flat[start : start + step]
        codes = part + np.arange(len(part), dtype=np.int64)[:, None] * n_labels
        yield np.bincount(codes.reshape(-1), minlength=len(part) * n_labels).reshape(len(part), n_labels)
