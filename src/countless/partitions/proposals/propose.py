"""Proposals one after the other, of both kinds in turn."""

from __future__ import annotations

import numpy as np

from ...core.jit import kernel
from ..partition import Partition
from .carve import carve_or_absorb
from .split_merge import split_or_merge


def propose_splits_and_merges(rng: np.random.Generator, state: Partition, n_halves: int, n_parts: int) -> None:
    """Make so many proposals to split a cluster in halves or to join two, and so many to carve or to absorb one."""
    if state.n_rows < 2:
        return
    state.reserve(n_halves + n_parts)
    members = np.empty(state.n_rows, dtype=np.int64)
    state.n_clusters = _propose(
        state.hyper,
        rng,
        state.rows,
        state.seats.arrays,
        state.clusters.arrays,
        state.n_clusters,
        members,
        n_halves,
        n_parts,
    )


@kernel
def _propose(family, rng, rows, seats, clusters, n_clusters, members, n_halves, n_parts):
    """Returns the number of clusters."""
    for number in range(max(n_halves, n_parts)):
        if number < n_halves:
            n_clusters += split_or_merge(family, rng, rows, seats, clusters, n_clusters, members)
        if number < n_parts:
            n_clusters += carve_or_absorb(family, rng, rows, seats, clusters, n_clusters, members)
    return n_clusters
