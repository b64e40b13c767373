"""A further cluster of an attribute, grown from one of the objects that lack it, one object after the other."""

from __future__ import annotations

import math

from ....core.jit import kernel
from .blocks import gain, gather, open_blocks, put


@kernel
def join(rng, pairs, blocks, n_clusters, total, order, target):
    """Begin a cluster with ``order[0]``; every other object of ``order`` joins it or stays out.

    ``target`` has labels to follow, or is empty. The labels of ``blocks`` change; returns the log probability.
    """
    n_members = open_blocks(pairs, blocks, n_clusters)
    new = n_clusters
    gather(pairs, blocks, order[0], n_members, n_clusters)
    n_members, n_clusters = put(pairs, blocks, order[0], new, n_members, n_clusters)
    log_probability = 0.0
    for at in range(1, order.size):
        i = order[at]
        gather(pairs, blocks, i, n_members, n_clusters)
        # Odds of the buffet, and of this cluster among those of the attribute.
        odds = math.log(blocks.sizes[new]) - math.log(total - n_members)
        odds += gain(pairs, blocks, i, new, n_clusters)
        away = math.log1p(math.exp(-abs(odds))) + max(odds, 0.0)
        joins = target[i] == new if target.size else rng.random() < math.exp(odds - away)
        log_probability += (odds if joins else 0.0) - away
        if joins:
            n_members, n_clusters = put(pairs, blocks, i, new, n_members, n_clusters)
    return log_probability
