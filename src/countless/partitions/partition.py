"""A partition of rows: seats and clusters that belong together, with everything derived kept current.

Sweeps, split-merge proposals and conditional modes (the other files of this room) work on a ``Partition``, whoever owns
it: the state of a mixture is one, and a model whose rows are latent keeps one over rows that it draws itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.jit import kernel
from ..core.validate import as_labels
from ..families import verbs
from ..families.base import Cluster, Family
from ..priors.verbs import Prior
from .clusters import Clusters, clear, refresh_slots
from .seats import SPARE_SLOTS, FloatArray, IntArray, Seats, slots_for
from .sums import NO_WEIGHTS, add_by_label


class Partition:
    """Rows at their clusters.

    Parameters
    ----------
    rows : array (row, width)
        As kernels take them, in the units of the arithmetic; a model that draws its rows may write into them.
    family : Family
        In the same units.
    prior : Prior
        Resolved.
    labels : array of int (row,)
    at : float or Prior
        The concentration, or the prior with all its numbers fixed; see ``Seats``.
    log_new : array (row,), optional
        Log prior predictive of each row, where it is known already.
    """

    def __init__(
        self,
        rows: FloatArray,
        family: Family,
        prior: Prior,
        labels: IntArray,
        at: float | Prior,
        log_new: FloatArray | None = None,
    ) -> None:
        self.rows = rows
        self.seats = Seats(prior, labels, at)
        self.clusters = Clusters(family, self.seats.capacity)
        self.log_new = log_prior_predictives(family, self.hyper, rows) if log_new is None else log_new
        self._rebuild()

    @property
    def hyper(self) -> Any:
        """Hyperparameters of the family as kernels receive them."""
        return self.clusters.hyper

    @property
    def n_rows(self) -> int:
        return self.seats.n_items

    @property
    def n_clusters(self) -> int:
        """Number of clusters in use; set by those who run kernels that change it."""
        return self.seats.n_clusters

    @n_clusters.setter
    def n_clusters(self, value: int) -> None:
        self.seats.n_clusters = int(value)

    @property
    def labels(self) -> IntArray:
        """Slot of each row; change it with ``relabel``."""
        return self.seats.labels

    @property
    def concentration(self) -> float:
        return self.seats.concentration

    @property
    def capacity(self) -> int:
        return self.seats.capacity

    def cluster_sizes(self) -> IntArray:
        """Sizes of the clusters in use."""
        return self.seats.cluster_sizes()

    def partition(self) -> IntArray:
        """Labels numbered by first appearance."""
        return self.seats.partition()

    def slots(self) -> IntArray:
        """Slots in use, in the order of ``partition()``."""
        return self.seats.slots()

    # --- room -----------------------------------------------------------------------------------------------------

    def reserve(self, n_clusters: int) -> None:
        """Make sure that as many more clusters can be made, as far as there are rows for them."""
        while self.capacity < min(self.n_rows, self.n_clusters + n_clusters) + SPARE_SLOTS:
            self.grow()

    def grow(self) -> None:
        """Make room for twice as many clusters; slots in use keep their numbers."""
        self.enlarge(min(self.n_rows, 2 * self.capacity) + SPARE_SLOTS)

    def enlarge(self, capacity: int) -> None:
        """Make room for so many slots, if there is less; slots keep their numbers."""
        if capacity > self.capacity:
            self.seats.enlarge(capacity)
            self.clusters.enlarge(capacity)

    def compact(self) -> None:
        """Renumber the slots in use 0, 1, 2, ... so that sweeps need not step over free ones."""
        self.renumber(self.seats.slots_by_use.copy())

    def compact_if_sparse(self) -> None:
        """The same where free slots among those in use have become many."""
        if self.seats.in_use.max() >= 8 + 1.25 * self.n_clusters:
            self.compact()

    def renumber(self, order: IntArray) -> None:
        """Slots order[0], order[1], ... become 0, 1, ...; ``order`` lists every slot."""
        self.seats.renumber(order)
        self.clusters.renumber(order)

    # --- changes ----------------------------------------------------------------------------------------------------

    def relabel(self, labels: Any) -> None:
        """Put the rows into other clusters: any labels, one per row; equal labels share a cluster.

        Sizes, statistics and caches follow. Clusters may come, go and be renumbered; parameters that were drawn for
        clusters are forgotten.
        """
        numbered = as_labels(labels, n_rows=self.n_rows)
        self.enlarge(slots_for(self.n_rows, int(numbered.max()) + 1))
        self.seats.seat(numbered)
        self.clusters.arrays.parameters[:] = np.nan
        self._rebuild()

    def set_concentration(self, value: float) -> None:
        """Use this concentration from now on."""
        self.seats.set_fixed(self.seats.fixed.with_concentration(value))

    def set_prior(self, fixed: Prior) -> None:
        """Use these learned numbers of the prior from now on."""
        self.seats.set_fixed(fixed)

    def set_family(self, family: Family) -> None:
        """Use these hyperparameters from now on."""
        self.clusters.set_family(family)
        self.log_new = log_prior_predictives(family, self.hyper, self.rows)
        self._rebuild()

    def refresh(self) -> None:
        """Bring up to date what depends on hyperparameters that were changed in place; statistics stay."""
        self.reserve(1)
        refresh_slots(self.hyper, self.clusters.arrays, self.seats.in_use)
        free = self.seats.slots_by_use[self.n_clusters]
        self.log_new = np.empty(len(self.rows))
        _score_rows(self.hyper, Cluster._make(self.clusters.arrays[:3]), free, self.rows, self.log_new)

    def rebuild(self) -> float:
        """Recompute statistics and caches from the rows; returns how far the statistics had drifted.

        Raises ValueError where labels were changed by hand and no longer agree with the clusters in use.
        """
        if not self.seats.agrees():
            raise ValueError("labels do not agree with the clusters in use; change labels with state.relabel(labels)")
        return self._rebuild()

    def _rebuild(self) -> float:
        in_use = self.seats.in_use
        before = self.clusters.arrays.statistics[in_use]
        clusters = self.clusters.arrays
        clusters.statistics[:] = 0.0
        add_by_label(self.hyper, self.rows, NO_WEIGHTS, self.labels, clusters.statistics, clusters.work)
        refresh_slots(self.hyper, clusters, in_use)
        after = self.clusters.arrays.statistics[in_use]
        return float(np.max(np.abs(before - after) / (1.0 + np.abs(after)), initial=0.0))

    # --- what it says -----------------------------------------------------------------------------------------------

    def log_density(self) -> float:
        """Log of p(rows | partition) p(partition | numbers of the prior), in the units of the arithmetic.

        The density of learned numbers, on their lines, is part of it.
        """
        slots = np.ascontiguousarray(self.seats.in_use)
        return float(log_evidence(self.hyper, self.clusters.arrays, slots)) + self.seats.log_prior()


def log_prior_predictives(family: Family, hyper: Any, rows: FloatArray) -> FloatArray:
    """Log prior predictive of each row under ``hyper``, hyperparameters of the family."""
    out = np.empty(len(rows))
    _score_rows(hyper, family.allocate(1, hyper), 0, rows, out)
    return out


def thawed_parts(
    partition: Partition, rows: NDArray[Any], log_new: FloatArray, seats: Seats, clusters: Clusters
) -> None:
    """Fill a bare partition with parts that a checkpoint has kept."""
    if not np.isfinite(clusters.arrays.statistics[seats.in_use]).all():
        raise ValueError("the state of a chain holds statistics that are not finite")
    partition.rows, partition.log_new, partition.seats, partition.clusters = rows, log_new, seats, clusters


@kernel
def _score_rows(family, clusters, k, rows, out):
    """Log predictive of each row under slot ``k``, which is made an empty cluster."""
    clear(family, clusters, k)
    for i in range(rows.shape[0]):
        out[i] = verbs.log_predictive(family, clusters.statistics, clusters.cache, k, rows[i], clusters.work)


@kernel
def log_evidence(family, clusters, slots):
    """Log evidence of the rows of all clusters."""
    total = 0.0
    for position in range(slots.size):
        total += verbs.log_marginal(family, clusters.statistics, clusters.cache, slots[position])
    return total
