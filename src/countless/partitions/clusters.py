"""Clusters: what each slot holds: additive statistics, a cache derived from them, and parameters where they are drawn.

Clusters know the family, in the units of the arithmetic, and nothing of who sits where: statistics may be those of
rows, of blocks of a matrix or of moments of a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.jit import inner_kernel, kernel
from ..families import verbs
from ..families.base import Family

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

KEPT = ("statistics", "cache", "parameters")


def own_hyper(hyper: Any) -> Any:
    """A copy of hyperparameters, as kernels receive them, whose arrays may be changed."""
    if isinstance(hyper, np.ndarray):
        return hyper.copy()
    return type(hyper)(*map(own_hyper, hyper)) if isinstance(hyper, tuple) else hyper


class ClusterArrays(NamedTuple):
    """Clusters as kernels receive them: one row per slot, scratch space, and the scoring board (by columns)."""

    statistics: FloatArray
    cache: FloatArray
    work: FloatArray
    board: FloatArray
    parameters: FloatArray


class Clusters:
    """Statistics, caches and parameters of so many slots.

    Parameters of slot k are in ``arrays.parameters[k]``; NaN where none were drawn yet.

    Parameters
    ----------
    family : Family
        Resolved, in the units of the arithmetic.
    capacity : int
        Number of slots.
    """

    def __init__(self, family: Family, capacity: int) -> None:
        self.family = family
        self.hyper = family.prepare()
        self.arrays = self._allocate(capacity)

    def _allocate(self, capacity: int) -> ClusterArrays:
        statistics, cache, work = self.family.allocate(capacity, self.hyper)
        layout = self.family.layout()
        return ClusterArrays(
            statistics, cache, work, np.zeros((layout.board, capacity)), np.full((capacity, layout.parameters), np.nan)
        )

    def set_family(self, family: Family) -> None:
        """Use these hyperparameters from now on; caches must be rebuilt."""
        self.family = family
        self.hyper = family.prepare()

    def set_hyper(self, hyper: Any) -> None:
        """Use these hyperparameters of the same family from now on; caches must be rebuilt."""
        self.hyper = hyper

    def enlarge(self, capacity: int) -> None:
        """Make room for so many slots; slots keep their numbers."""
        old = self.arrays
        self.arrays = self._allocate(capacity)
        for name in KEPT:
            getattr(self.arrays, name)[: len(old.statistics)] = getattr(old, name)

    def renumber(self, order: IntArray) -> None:
        """Slots order[0], order[1], ... become 0, 1, ..."""
        old = self.arrays
        self.arrays = old._replace(**{name: getattr(old, name)[order] for name in KEPT})

    def have_parameters(self, slots: IntArray) -> bool:
        """Whether parameters of these slots were drawn."""
        parameters = self.arrays.parameters
        return parameters.shape[1] > 0 and not np.isnan(parameters[slots, 0]).any()

    def copy(self) -> Clusters:
        """An independent copy."""
        twin = Clusters.__new__(Clusters)
        twin.family, twin.hyper = self.family, own_hyper(self.hyper)
        twin.arrays = ClusterArrays._make(array.copy() for array in self.arrays)
        return twin

    def freeze(self) -> dict[str, NDArray[Any]]:
        """Arrays from which ``thaw`` makes the same clusters.

        Statistics and caches are updated by rank one: their last bits depend on the way they were reached, so that they
        are kept as they are.
        """
        return {name: getattr(self.arrays, name).copy() for name in KEPT}

    @classmethod
    def thaw(cls, family: Family, capacity: int, arrays: Mapping[str, NDArray[Any]]) -> Clusters:
        """Clusters from what ``freeze`` gave; ValueError where these are not clusters of the family."""
        clusters = cls(family, capacity)
        for name in KEPT:
            like, found = getattr(clusters.arrays, name), arrays[name]
            if found.shape != like.shape or found.dtype != like.dtype:
                raise ValueError(f"the state of a chain holds {name} of the wrong shape or type")
            like[...] = found
        return clusters


@inner_kernel
def clear(family, clusters, k):
    """Make slot ``k`` an empty cluster, free of what rounding left behind."""
    for s in range(clusters.statistics.shape[1]):
        clusters.statistics[k, s] = 0.0
    verbs.refresh(family, clusters.statistics, clusters.cache, k, clusters.work)


@kernel
def refresh_slots(family, clusters, slots):
    """Bring the caches of some slots up to date with their statistics."""
    for position in range(slots.size):
        verbs.refresh(family, clusters.statistics, clusters.cache, slots[position], clusters.work)
