"""Seats: which group each item sits in, the sizes of the groups, and what the prior says about them.

Items are rows of a table, its columns, moments of a sequence or subjects of a study: seats know nothing of their data.
A group is a slot, a number below the capacity. ``active[:n_clusters]`` lists the slots in use and
``active[n_clusters:]`` the free ones, so that groups come and go in constant time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..core.jit import inner_kernel, kernel
from ..core.validate import by_first_appearance
from ..priors.numerics.integrated import Integrated
from ..priors.verbs import Prior

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Free slots that moves may always count on: one for a new group, two to build proposals in.
SPARE_SLOTS = 3
# Slots that there is room for at the start of a chain.
FEWEST_SLOTS = 16


def slots_for(n_items: int, n_clusters: int) -> int:
    """Capacity that a chain with so many groups begins with."""
    return min(n_items, max(FEWEST_SLOTS, 2 * n_clusters)) + SPARE_SLOTS


class SeatArrays(NamedTuple):
    """Seats as kernels receive them; ``offset`` and ``log_v`` are the table of the prior."""

    labels: IntArray
    sizes: IntArray
    active: IntArray
    log_weights: FloatArray
    offset: float
    log_v: FloatArray


class Seats:
    """Labels of items, sizes of groups, the table of the prior, and its learned numbers.

    Parameters
    ----------
    prior : Prior
        Resolved.
    labels : array of int (item,)
    at : float or Prior
        The concentration, with other learned numbers where chains begin; or the prior with all its numbers fixed.

    Attributes
    ----------
    fixed : Prior
        The prior with its learned numbers as they are now.
    """

    def __init__(self, prior: Prior, labels: IntArray, at: float | Prior) -> None:
        labels = by_first_appearance(labels)
        self.prior = prior
        self.n_clusters = int(labels.max()) + 1
        self.fixed = prior.fixed_at(at)
        self._remember()
        capacity = slots_for(len(labels), self.n_clusters)
        sizes = np.bincount(labels, minlength=capacity)
        self.arrays = self._made(labels, sizes, np.arange(capacity, dtype=np.int64))

    def _remember(self) -> None:
        """The state of a prior that has forgotten nothing yet."""
        self._forgotten, self._may_forget = False, True
        self._integrated: Integrated | None = None

    @property
    def arrays(self) -> SeatArrays:
        """What kernels work on; the table of the prior is made where someone asks for it."""
        if self._is_old:
            self._use_table()
        return self._arrays

    @arrays.setter
    def arrays(self, arrays: SeatArrays) -> None:
        self._arrays, self._is_old = arrays, False

    def _made(self, labels: IntArray, sizes: IntArray, active: IntArray) -> SeatArrays:
        return SeatArrays(labels, sizes, active, np.empty(len(sizes) + 1), *self._table(len(labels), len(sizes)))

    def _table(self, n_items: int, capacity: int) -> tuple[float, FloatArray]:
        if not self._forgotten:
            return self.fixed.table(n_items, capacity)
        if self._integrated is None or len(self._integrated.log_v) != capacity + 2:
            self._integrated = self.prior.integrated(n_items, capacity)
        if self._integrated is None:
            self._forgotten = self._may_forget = False
            return self.fixed.table(n_items, capacity)
        return self._integrated.offset, self._integrated.log_v

    def _use_table(self) -> None:
        offset, log_v = self._table(self.n_items, self.capacity)
        self.arrays = self._arrays._replace(offset=offset, log_v=log_v)

    @property
    def concentration(self) -> float:
        """The first learned number of the prior."""
        value: Any = self.fixed.concentration
        return float(value)

    @property
    def numbers(self) -> dict[str, float]:
        """All learned numbers of the prior by name."""
        return self.prior.numbers_of(self.fixed)

    @property
    def labels(self) -> IntArray:
        """The slot of each item."""
        return self._arrays.labels

    @property
    def n_items(self) -> int:
        return len(self._arrays.labels)

    @property
    def capacity(self) -> int:
        """Number of slots, used and free."""
        return len(self._arrays.sizes)

    @property
    def slots_by_use(self) -> IntArray:
        """All slots, those in use first."""
        return self._arrays.active

    @property
    def in_use(self) -> IntArray:
        """Slots in use."""
        return self.slots_by_use[: self.n_clusters]

    def cluster_sizes(self) -> IntArray:
        """Sizes of the groups."""
        return self._arrays.sizes[self.in_use]

    def partition(self) -> IntArray:
        """Labels numbered by first appearance."""
        out = np.empty_like(self._arrays.labels)
        _number_by_first_appearance(self._arrays.labels, np.full(self.capacity, -1), out)
        return out

    def slots(self) -> IntArray:
        """Slots in use, in the order of ``partition()``: by first appearance."""
        labels = self._arrays.labels
        first = np.unique(labels, return_index=True)[1]
        return labels[np.sort(first)]

    def set_fixed(self, fixed: Prior) -> None:
        """Use these numbers of the prior from now on."""
        self.fixed, self._forgotten, self._is_old = fixed, False, True

    def forget_numbers(self) -> None:
        """Let kernels use the table with the concentration integrated out, where the prior has one, until it is drawn.

        Nothing may look at the concentration meanwhile: it belongs to groups that are no longer there.
        """
        if self._may_forget and not self._forgotten:
            self._forgotten = self._is_old = True

    def draw_numbers(self, rng: np.random.Generator) -> None:
        """Draw the learned numbers of the prior given the groups; one that was forgotten, whatever it was before."""
        if self._forgotten and self._integrated is not None:
            self.set_fixed(self._integrated.draw(rng, self.n_clusters))
        else:
            self.set_fixed(self.prior.draw_learned(rng, self.fixed, self.cluster_sizes()))

    def log_prior(self) -> float:
        """Log probability of the groups given the learned numbers, and the log density of these, on their lines."""
        offset, log_v = self.fixed.offset, self.fixed.log_v(self.n_items, self.n_clusters)
        weights = gammaln(self.cluster_sizes() + offset).sum() - self.n_clusters * math.lgamma(1.0 + offset)
        return float(log_v + weights) + self.prior.log_hyperprior(self.fixed)

    def enlarge(self, capacity: int) -> None:
        """Make room for so many slots; slots keep their numbers."""
        used, old = self.capacity, self.arrays
        sizes, active = np.zeros(capacity, dtype=np.int64), np.arange(capacity, dtype=np.int64)
        sizes[:used], active[:used] = old.sizes, old.active
        self.arrays = self._made(old.labels, sizes, active)

    def renumber(self, order: IntArray) -> None:
        """Slots order[0], order[1], ... become 0, 1, ...; ``order`` lists every slot."""
        old = self.arrays
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.arrays = old._replace(labels=place[old.labels], sizes=old.sizes[order], active=place[old.active])

    def seat(self, labels: IntArray) -> None:
        """Give items these slots; which slots are in use follows."""
        arrays = self._arrays
        arrays.labels[:] = labels
        arrays.sizes[:] = np.bincount(labels, minlength=self.capacity)
        arrays.active[:] = np.argsort(arrays.sizes == 0, kind="stable")
        self.n_clusters = int(np.count_nonzero(arrays.sizes))

    def agrees(self) -> bool:
        """Whether labels, sizes and the list of slots in use agree with each other."""
        labels, sizes, active = self._arrays[:3]
        capacity = len(sizes)
        return (
            1 <= self.n_clusters <= capacity
            and labels.min() >= 0
            and labels.max() < capacity
            and np.array_equal(np.sort(active), np.arange(capacity))
            and np.array_equal(np.bincount(labels, minlength=capacity), sizes)
            and bool(np.all(sizes[self.in_use] > 0))
            and int(np.count_nonzero(sizes)) == self.n_clusters
        )

    def copy(self) -> Seats:
        """An independent copy."""
        twin = Seats.__new__(Seats)
        twin.prior, twin.n_clusters, twin.fixed = self.prior, self.n_clusters, self.fixed
        twin._forgotten, twin._may_forget, twin._integrated = self._forgotten, self._may_forget, self._integrated
        labels, sizes, active, log_weights, offset, log_v = self.arrays
        twin.arrays = SeatArrays(labels.copy(), sizes.copy(), active.copy(), log_weights.copy(), offset, log_v)
        return twin

    def freeze(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Numbers and arrays from which ``thaw`` makes the same seats."""
        numbers = {"n_clusters": int(self.n_clusters), "concentration": self.concentration, **self.numbers}
        return numbers, {name: getattr(self._arrays, name).copy() for name in ("labels", "sizes", "active")}

    @classmethod
    def thaw(cls, prior: Prior, n_items: int, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Seats:
        """Seats from what ``freeze`` gave; ValueError where that cannot be seats of so many items."""
        n_clusters = numbers["n_clusters"]
        if type(n_clusters) is not int:
            raise ValueError("the state of a chain holds a number of the wrong type")
        fixed = _thawed_prior(prior, numbers)
        found = [arrays[name] for name in ("labels", "sizes", "active")]
        capacity = len(found[1])
        shapes = [(n_items,), (capacity,), (capacity,)]
        if any(part.dtype != np.int64 for part in found) or [part.shape for part in found] != shapes:
            raise ValueError("the state of a chain holds labels of the wrong shape or type")
        seats = cls.__new__(cls)
        seats.prior, seats.n_clusters, seats.fixed = prior, n_clusters, fixed
        seats._remember()
        if seats.concentration != numbers["concentration"]:
            raise ValueError(f"the state of a chain holds the concentration {numbers['concentration']}")
        seats.arrays = seats._made(*(part.copy() for part in found))
        if not seats.agrees():
            raise ValueError("the state of a chain holds labels that do not agree with its clusters")
        return seats


def _thawed_prior(prior: Prior, numbers: Mapping[str, Any]) -> Prior:
    """The prior at the numbers that a checkpoint has kept; ValueError where they are impossible."""
    found = {name: numbers[name] for name in prior.learned_names}
    for name, value in {"concentration": numbers["concentration"], **found}.items():
        is_count = name in found and prior.law_of(name).is_count
        if type(value) is not (int if is_count else float):
            raise ValueError("the state of a chain holds a number of the wrong type")
        if name in found and not prior.law_of(name).log_density_on_line(value) > -math.inf:
            raise ValueError(f"the state of a chain holds the {name} {value}")
    return prior.with_numbers(found)


@kernel
def _number_by_first_appearance(labels, numbers, out):
    """``by_first_appearance`` of slots, in one pass."""
    n_found = 0
    for i in range(labels.size):
        if numbers[labels[i]] < 0:
            numbers[labels[i]] = n_found
            n_found += 1
        out[i] = numbers[labels[i]]


@inner_kernel
def log_size_weight(size, offset):
    """Factor of the prior for one group: log of (1 + offset) (2 + offset) ... (size - 1 + offset)."""
    return math.lgamma(size + offset) - math.lgamma(1.0 + offset)


@inner_kernel
def retire(active, n_clusters, k):
    """Free slot ``k``: the last slot in use takes its place in the list."""
    for position in range(n_clusters):
        if active[position] == k:
            active[position] = active[n_clusters - 1]
            active[n_clusters - 1] = k
            return
