"""Grow an attribute from one object, and the probability that another one would have grown like this.

Objects are visited in a given order, the first being a member. Each of the others stays out, joins a cluster of those
before it, or begins one, with its probability under the buffet and the restaurant given these alone, times what the
blocks gain. Along one order there is one way to each attribute, so that the probability of what was grown is a product
(Dahl 2005, for partitions). A ``target`` is followed instead of drawn where there is one.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import kernel
from ....core.special import draw_from_logs, log_sum_exp
from .blocks import gain, gather, put, total_value


@kernel
def grow(rng, pairs, blocks, seating, order, target):
    """Grow an attribute along an order; ``target`` has labels to follow, or is empty.

    ``seating.total`` is the b of the buffet here. Returns the number of clusters (-1 where there is no room for them),
    of members, the log probability, and the log evidence of all blocks.
    """
    n = blocks.labels.size
    blocks.labels[:] = -1
    follow = target.size > 0
    slot = np.full(n + 1, -1, dtype=np.int64)
    gather(pairs, blocks, order[0], 0, 0)
    n_members, n_clusters = put(pairs, blocks, order[0], 0, 0, 0)
    if follow:
        slot[target[order[0]]] = 0
    log_probability, logs = 0.0, blocks.log_weights
    for at in range(1, order.size):
        if n_clusters + 1 >= blocks.sizes.size:
            return -1, n_members, 0.0, 0.0
        i = order[at]
        gather(pairs, blocks, i, n_members, n_clusters)
        joins = math.log(n_members) - math.log(n_members + seating.concentration)
        for c in range(n_clusters):
            logs[c] = joins + math.log(blocks.sizes[c]) + gain(pairs, blocks, i, c, n_clusters)
        new = gain(pairs, blocks, i, n_clusters, n_clusters)
        logs[n_clusters] = joins + math.log(seating.concentration) + new
        logs[n_clusters + 1] = math.log(seating.total + at - n_members)
        whole = log_sum_exp(logs, n_clusters + 2)
        if follow:
            c = n_clusters + 1
            if target[i] >= 0:
                if slot[target[i]] < 0:
                    slot[target[i]] = n_clusters
                c = slot[target[i]]
            log_probability += logs[c] - whole
        else:
            values = logs[: n_clusters + 2].copy()
            c = draw_from_logs(rng, logs, n_clusters + 2)
            log_probability += values[c] - whole
        if c <= n_clusters:
            n_members, n_clusters = put(pairs, blocks, i, c, n_members, n_clusters)
    return n_clusters, n_members, log_probability, total_value(pairs, blocks, n_clusters)
