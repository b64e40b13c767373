"""One pass over the items of one side: each goes where its conditional sends it, or (greedy) where it is largest.

Item i joins cluster k with probability proportional to (n_k + o) p(X | i in k) / p(X | i in none), or a new one with
V(t + 1) / V(t) times the same. One kernel serves rows, columns and tied sides, and every block model.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import kernel
from ....core.special import draw_from_logs
from ....partitions.seats import retire
from .view import log_joined, put, take

# Gains below this are rounding: a greedy sweep would let two equal states chase each other.
MARGIN = 1e-9


@kernel
def sweep(model, rng, view, seats, n_clusters, order, first, greedy):
    """Sweep ``order[first:]``; stops early, before an item, where a new cluster has no room.

    Returns the place that comes next, the number of clusters and how many items moved.
    """
    active, log_weights, offset, log_v = seats.active, seats.log_weights, seats.offset, seats.log_v
    moved = 0
    for at in range(first, order.size):
        if n_clusters == view.sizes.size:
            return at, n_clusters, moved
        i = order[at]
        own = view.labels[i]
        alone = take(model, view, i, n_clusters)
        if alone:
            retire(active, n_clusters, own)
            n_clusters -= 1
        best, stay = n_clusters, n_clusters
        for p in range(n_clusters):
            k = active[p]
            if k == own:
                stay = p
            log_weights[p] = math.log(view.sizes[k] + offset) + log_joined(model, view, i, k, n_clusters)
        log_weights[n_clusters] = log_v[n_clusters + 1] - log_v[n_clusters]
        if log_weights[n_clusters] > -math.inf:
            log_weights[n_clusters] += log_joined(model, view, i, active[n_clusters], n_clusters)
        if greedy:
            best = np.argmax(log_weights[: n_clusters + 1])
            if not log_weights[best] > log_weights[stay] + MARGIN:
                best = stay
        else:
            best = draw_from_logs(rng, log_weights, n_clusters + 1)
        k = active[best]
        if best == n_clusters:
            n_clusters += 1
        moved += best != stay
        put(model, view, i, k, n_clusters)
    return order.size, n_clusters, moved
