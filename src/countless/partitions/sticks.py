"""Truncated sticks: weights given labels, and a move that changes the order of the components.

With n_k rows in component k, n_{>k} in all later ones and prior shapes (a_k, b_k), the sticks of a truncated prior are

    v_k | labels ~ Beta(a_k + n_k, b_k + n_{>k}),  k < T,   v_T = 1,   w_k = v_k (1 - v_1) ... (1 - v_{k-1})

(Ishwaran and James 2001, section 5.2). The order of the sticks matters, as earlier ones are larger on average, and
single rows cannot carry a large cluster from a late stick to an early one: ``switch_components`` proposes to swap two
components with all their rows (Papaspiliopoulos and Roberts 2008, section 4), here with the sticks integrated out.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import inner_kernel, kernel
from ..core.special import log_gamma_draw
from .seats import FloatArray, IntArray


def switch_components(rng: np.random.Generator, counts: IntArray, shapes: tuple[FloatArray, FloatArray]) -> IntArray:
    """New order of the components: entry p is the component that goes to stick p.

    Metropolis proposals, four for each occupied component, that leave p(labels) with the sticks integrated out alone.
    """
    order = np.arange(len(counts), dtype=np.int64)
    if len(counts) > 1:
        _switch(rng, np.array(counts, dtype=np.int64), *shapes, order, 4 * int(np.count_nonzero(counts)))
    return order


def draw_log_weights(rng: np.random.Generator, counts: IntArray, shapes: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Log weights of the components given their counts."""
    out = np.empty(len(counts))
    _break_sticks(rng, np.asarray(counts, dtype=np.int64), *shapes, out)
    return out


@kernel
def _break_sticks(rng, counts, a, b, log_weights):
    n_sticks = counts.size
    later = 0.0
    for k in range(n_sticks):
        later += counts[k]
    log_left = 0.0
    for k in range(n_sticks - 1):
        later -= counts[k]
        # A beta as two gammas in logs: neither v nor 1 - v rounds to zero.
        taken = log_gamma_draw(rng, a[k] + counts[k])
        left = log_gamma_draw(rng, b[k] + later)
        largest = max(taken, left)
        whole = largest + math.log(math.exp(taken - largest) + math.exp(left - largest))
        log_weights[k] = log_left + taken - whole
        log_left += left - whole
    log_weights[n_sticks - 1] = log_left


@inner_kernel
def _log_beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@kernel
def _switch(rng, counts, a, b, order, n_proposals):
    """Swap an occupied component with any other: a neighbour half of the time. Changes ``counts`` and ``order``."""
    n_sticks = counts.size
    occupied = np.empty(n_sticks, dtype=np.int64)
    n_occupied = 0
    for k in range(n_sticks):
        if counts[k] > 0:
            occupied[n_occupied] = k
            n_occupied += 1
    later = np.zeros(n_sticks)
    for k in range(n_sticks - 2, -1, -1):
        later[k] = later[k + 1] + counts[k + 1]
    for _ in range(n_proposals):
        here = int(rng.random() * n_occupied)
        one = occupied[here]
        if rng.random() < 0.5:
            other = one + 1 if rng.random() < 0.5 else one - 1
        else:
            other = int(rng.random() * (n_sticks - 1))
            if other >= one:
                other += 1
        log_uniform = math.log(1.0 - rng.random())
        if other < 0 or other >= n_sticks:
            continue
        low, high = min(one, other), max(one, other)
        shift = counts[low] - counts[high]
        log_ratio = 0.0
        for k in range(low, min(high + 1, n_sticks - 1)):
            after = counts[k]
            left = later[k]
            if k == low:
                after = counts[high]
                left += shift
            elif k == high:
                after = counts[low]
            else:
                left += shift
            log_ratio += _log_beta(a[k] + after, b[k] + left) - _log_beta(a[k] + counts[k], b[k] + later[k])
        if log_uniform < log_ratio:
            for k in range(low, high):
                later[k] += shift
            counts[low], counts[high] = counts[high], counts[low]
            order[low], order[high] = order[high], order[low]
            if counts[one] == 0:
                occupied[here] = other
