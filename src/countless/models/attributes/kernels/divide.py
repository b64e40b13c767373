"""Divide a cluster of an attribute between two of its objects, one object after the other (Dahl 2005)."""

from __future__ import annotations

import math

from ....core.jit import kernel
from .blocks import gain, gather, open_blocks, put, take


@kernel
def divide(rng, pairs, blocks, n_clusters, order, slots):
    """Divide the cluster of ``order[0]`` and ``order[1]``, all of whose objects are in ``order``.

    The first object begins the one part, the second the other. ``slots`` (0 or 1 for each object) are followed where
    there are any. The labels of ``blocks`` change; returns the log probability.
    """
    n_members = open_blocks(pairs, blocks, n_clusters)
    old = blocks.labels[order[0]]
    for i in order:
        n_members, n_clusters = take(pairs, blocks, i, n_members, n_clusters, True)
    # The empty cluster is the one part, a new one the other.
    gather(pairs, blocks, order[0], n_members, n_clusters)
    n_members, n_clusters = put(pairs, blocks, order[0], old, n_members, n_clusters)
    gather(pairs, blocks, order[1], n_members, n_clusters)
    n_members, n_clusters = put(pairs, blocks, order[1], n_clusters, n_members, n_clusters)
    new = n_clusters - 1
    total = 0.0
    for at in range(2, order.size):
        i = order[at]
        gather(pairs, blocks, i, n_members, n_clusters)
        one = math.log(blocks.sizes[old]) + gain(pairs, blocks, i, old, n_clusters)
        other = math.log(blocks.sizes[new]) + gain(pairs, blocks, i, new, n_clusters)
        largest = max(one, other)
        whole = largest + math.log(math.exp(one - largest) + math.exp(other - largest))
        first = slots[i] == 0 if slots.size else rng.random() < math.exp(one - whole)
        total += (one if first else other) - whole
        n_members, n_clusters = put(pairs, blocks, i, old if first else new, n_members, n_clusters)
    return total
