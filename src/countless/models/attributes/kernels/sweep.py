"""A pass over the objects for one attribute: each leaves it, stays out, or joins a cluster, its weights integrated out.

Object i has an attribute of m others with probability m / (n + b - 1) in the buffet (b is 1 with one parameter), and is
then in a cluster of s with s / (m + c), or in a new one with c / (m + c). Each is multiplied by the evidence of the
blocks that it changes (von Looz 2013, algorithms 3 and 4; both branches carry their prior weight). An object that has
an attribute alone is left to ``moves.alone``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ....core.jit import inner_kernel, kernel
from ....core.special import draw_from_logs
from .blocks import draw_weights, gain, gather, open_blocks, put, take


class Seating(NamedTuple):
    """How objects come to an attribute and to its clusters.

    Attributes
    ----------
    total : float
        n + b - 1 for an attribute of the buffet; for one that is known the count that its absence starts from, or a
        negative number where every object has it.
    concentration : float
        Of the clusters.
    known : bool
        Whether its clusters are given: none comes or goes, and each counts as one object more.
    """

    total: float
    concentration: float
    known: bool


@inner_kernel
def weigh(pairs, blocks, seating, i, n_objects, n_members, n_clusters):
    """Log weights of the clusters of the attribute, of a new one, and of absence, for an object that is no member."""
    gather(pairs, blocks, i, n_members, n_clusters)
    logs = blocks.log_weights
    if seating.known:
        for c in range(n_clusters):
            logs[c] = math.log(blocks.sizes[c] + 1.0) + gain(pairs, blocks, i, c, n_clusters)
        logs[n_clusters] = -math.inf
        absent = n_objects - 1 - n_members + seating.total
        logs[n_clusters + 1] = math.log(absent) if seating.total >= 0.0 else -math.inf
        return
    joins = math.log(n_members) - math.log(n_members + seating.concentration)
    for c in range(n_clusters):
        logs[c] = joins + math.log(blocks.sizes[c]) + gain(pairs, blocks, i, c, n_clusters)
    new = gain(pairs, blocks, i, n_clusters, n_clusters)
    logs[n_clusters] = joins + math.log(seating.concentration) + new
    logs[n_clusters + 1] = math.log(seating.total - n_members)


@kernel
def sweep(rng, pairs, blocks, seating, n_clusters, order, first):
    """Visit ``order[first:]``; stops before an object where a new cluster has no room.

    Returns the place that comes next and the number of clusters.
    """
    n_members = open_blocks(pairs, blocks, n_clusters)
    for at in range(first, order.size):
        if n_clusters + 1 >= blocks.sizes.size:
            return at, n_clusters
        i = order[at]
        if blocks.labels[i] >= 0:
            if n_members == 1 and not seating.known:
                continue
            n_members, n_clusters = take(pairs, blocks, i, n_members, n_clusters, seating.known)
        weigh(pairs, blocks, seating, i, blocks.labels.size, n_members, n_clusters)
        c = draw_from_logs(rng, blocks.log_weights, n_clusters + 2)
        if c <= n_clusters:
            n_members, n_clusters = put(pairs, blocks, i, c, n_members, n_clusters)
    return order.size, n_clusters


@kernel
def redraw(rng, pairs, blocks, n_clusters, weights):
    """Draw the weights of an attribute given its labels."""
    open_blocks(pairs, blocks, n_clusters)
    draw_weights(rng, pairs, blocks, n_clusters, weights)
