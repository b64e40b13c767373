"""Direct assignment: one step after the other is taken out and put back where its conditional sends it.

Raykov et al. 2016, section 6.1, with (6.5) mended, and an extra mass kappa on staying. With counts that leave out step
t, between states p and q, an existing state k has the weight

    (n_pk + a_k + kappa [p = k]) (n_kq + [p = k = q] + a_q + kappa [k = q]) / (n_k. + [p = k] + alpha + kappa)

times the predictive density of the row, with a = alpha beta; a new one has a_rest a_q / (alpha + kappa) times the prior
predictive, and takes its base weight from the rest. The first state of a sequence comes from a row of its own without
the extra mass; a last one has no second factor.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import inner_kernel, kernel
from ....core.special import draw_from_logs
from ....families import verbs
from ....partitions.clusters import clear
from ....partitions.sweep import redraw_missing

# Gains below this are rounding: a greedy sweep would let two equal states chase each other.
MARGIN = 1e-9


@kernel
def sweep(family, rng, rows, log_new, first, path, clusters, n_states, begin, end, greedy):
    """Sweep steps begin ... end - 1; stops before a step where a new state has no room.

    Returns the step that comes next, the number of states and how many steps moved.
    """
    labels, sizes, counts, totals, weights, rest, openings, _, _, log_weights = path
    statistics, cache, work, board, _ = clusters
    n_steps = labels.size
    moved = 0
    n_slots = 0
    for k in range(sizes.size):
        if sizes[k] > 0:
            n_slots = k + 1
            verbs.publish(family, statistics, cache, board, k)
    for t in range(begin, end):
        if n_states + 1 >= sizes.size:
            return t, n_states, moved
        row = rows[t]
        own = labels[t]
        alone = sizes[own] == 1
        p = 0 if first[t] else labels[t - 1] + 1
        q = -1 if t + 1 == n_steps or first[t + 1] else labels[t + 1]
        _pass(counts, totals, p, own, q, -1.0)
        own_weight = weights[own]
        if alone:
            rest[0] += own_weight
            weights[own] = 0.0
            n_states -= 1
        _weigh(path, n_slots, p, q)
        log_stay = -math.inf
        if not alone:
            log_stay = log_weights[own] + verbs.log_predictive_without(family, statistics, cache, own, row, work)
        log_new_state = _log_new(path, q) + log_new[t]
        log_weights[own] = -math.inf
        reference = max(log_stay, log_new_state)
        verbs.add_log_predictives(family, statistics, cache, board, n_slots, row, work, reference, log_weights)
        log_weights[own] = log_stay
        log_weights[n_slots] = log_new_state
        if greedy:
            chosen = int(np.argmax(log_weights[: n_slots + 1]))
            if not log_weights[chosen] > (log_new_state if alone else log_stay) + MARGIN:
                if alone:
                    rest[0] -= own_weight
                    weights[own] = own_weight
                    n_states += 1
                _pass(counts, totals, p, own, q, 1.0)
                continue
        else:
            chosen = draw_from_logs(rng, log_weights, n_slots + 1)
        if alone and chosen == n_slots:
            chosen = own
        k = chosen if chosen < n_slots else _free_slot(sizes)
        if chosen == n_slots or (alone and chosen == own):
            _open(rng, weights, rest, openings, n_states, k)
            n_states += 1
        _pass(counts, totals, p, k, q, 1.0)
        if k == own:
            if verbs.has_missing(family, row):
                redraw_missing(family, rng, clusters, own, row)
            continue
        moved += 1
        if chosen == n_slots:
            clear(family, clusters, k)
            n_slots = max(n_slots, k + 1)
        _move(family, rng, clusters, sizes, row, own, k)
        labels[t] = k
    return end, n_states, moved


@inner_kernel
def _log_new(path, q):
    """Log weight of a new state for a step before ``q`` (-1: none)."""
    value = path.concentration * path.rest[0]
    if q >= 0:
        value *= path.concentration * path.weights[q] / (path.concentration + path.stay)
    return math.log(value) if value > 0.0 else -math.inf


@inner_kernel
def _free_slot(sizes):
    k = 0
    while sizes[k] > 0:
        k += 1
    return k


@inner_kernel
def _weigh(path, n_slots, p, q):
    """Log weight of each state in use for a step between ``p`` (a row of counts) and ``q`` (-1: none)."""
    concentration, stay = path.concentration, path.stay
    counts, weights, log_weights = path.counts, path.weights, path.log_weights
    for k in range(n_slots):
        log_weights[k] = -math.inf
        if weights[k] > 0.0 and path.sizes[k] > 0:
            value = concentration * weights[k] + counts[p, k]
            if p == k + 1:
                value += stay
            if q >= 0:
                onward = concentration * weights[q] + counts[k + 1, q]
                total = concentration + stay + path.totals[k + 1]
                if k == q:
                    onward += stay
                if p == k + 1:
                    total += 1.0
                    if k == q:
                        onward += 1.0
                value *= onward / total
            log_weights[k] = math.log(value)


@inner_kernel
def _move(family, rng, clusters, sizes, row, own, k):
    """Take a row out of one state and put it into another."""
    statistics, cache, work, board = clusters.statistics, clusters.cache, clusters.work, clusters.board
    sizes[own] -= 1
    verbs.remove(family, statistics, cache, own, row, work)
    if sizes[own] > 0:
        verbs.publish(family, statistics, cache, board, own)
    sizes[k] += 1
    if verbs.has_missing(family, row):
        verbs.draw_missing(family, statistics, cache, k, row, rng, work)
    verbs.add(family, statistics, cache, k, row, work)
    verbs.publish(family, statistics, cache, board, k)


@inner_kernel
def _pass(counts, totals, p, k, q, sign):
    """Add or take away the transitions of a step that is in state ``k``."""
    counts[p, k] += sign
    totals[p] += sign
    if q >= 0:
        counts[k + 1, q] += sign
        totals[k + 1] += sign


@inner_kernel
def _open(rng, weights, rest, openings, n_states, k):
    """Give slot ``k`` the base weight of a new state."""
    first, second = openings[n_states, 0], openings[n_states, 1]
    share = second
    if first > 0.0:
        share = 1.0
        if second > 0.0:
            one, other = rng.standard_gamma(first), rng.standard_gamma(second)
            share = max(one / (one + other), 1e-290)
    weights[k] = share * rest[0]
    rest[0] *= 1.0 - share
