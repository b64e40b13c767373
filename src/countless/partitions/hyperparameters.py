"""Hyperparameters of the family given the clusters: drawn, or climbed to their mode, one number after the other.

Given the partition the parameters of the clusters are integrated out, so that the density of the offsets of the learned
hyperparameters (``families.learnable``) is the product of the evidences of the clusters and of normal laws:

    log p(offsets | partition, rows) = sum over clusters of the log evidence + log normal density + constant

A family says what of an evidence depends on which number, so that a column costs what its own cells cost. Draws are by
slice sampling (Neal 2003, *Slice sampling*, section 4).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.jit import inner_kernel, kernel
from ..families import verbs
from ..families.learnable import Law
from .clusters import ClusterArrays
from .seats import FloatArray, IntArray

# One number is drawn for so many rows, for each part of the family: the cost stays a fraction of that of a sweep.
ROWS_PER_NUMBER = 400
FEWEST_NUMBERS = 4
# Steps out of the interval that a slice sampler begins with.
MOST_STEPS = 10
# Largest offset, in standard deviations: beyond it evidences are all rounding.
FARTHEST = 12.0
# Rounds of an ascent, and the gain below which it ends.
MOST_ROUNDS, LEAST_GAIN = 8, 1e-3


def install(hyper: Any, base: Any, law: Law, offsets: FloatArray) -> None:
    """Set all learned hyperparameters of ``hyper``, in place, to those of ``base`` plus offsets."""
    _install(hyper, base, law.spreads, offsets)


def n_numbers(hyper: Any, n_rows: int) -> int:
    """How many numbers are drawn after each sweep over so many rows."""
    return max(FEWEST_NUMBERS, n_rows * int(verbs.n_parts(hyper)) // ROWS_PER_NUMBER)


def draw_offsets(
    rng: np.random.Generator,
    hyper: Any,
    base: Any,
    clusters: ClusterArrays,
    slots: IntArray,
    law: Law,
    offsets: FloatArray,
    count: int,
    given_parameters: bool = False,
) -> None:
    """Draw ``count`` of the offsets, chosen at random, each given all others; ``hyper`` and ``offsets`` follow.

    Parameters of the clusters are integrated out, or given. Caches must be refreshed afterwards.
    """
    learned = np.flatnonzero(law.spreads > 0)
    chosen = learned if len(learned) <= count else np.sort(rng.choice(learned, count, replace=False))
    _draw(hyper, base, rng, clusters, slots, law.spreads, chosen, offsets, given_parameters)


def climb_offsets(
    hyper: Any, base: Any, clusters: ClusterArrays, slots: IntArray, law: Law, offsets: FloatArray
) -> float:
    """Raise the density of the offsets until it stands still; returns by how much. ``hyper`` and ``offsets`` follow."""
    steps = 0.5 * law.spreads
    total = 0.0
    for _ in range(MOST_ROUNDS):
        gain = float(_climb(hyper, base, clusters, slots, law.spreads, steps, offsets))
        total += gain
        if gain < LEAST_GAIN:
            break
    return total


@kernel
def _install(hyper, base, spreads, offsets):
    at = 0
    for j in range(verbs.n_parts(hyper)):
        for c in range(verbs.n_learned(hyper, j)):
            if spreads[at] > 0.0:
                verbs.set_learned(hyper, base, j, c, offsets[at])
            at += 1


@inner_kernel
def _log_density(hyper, base, clusters, slots, spread, j, c, value, given_parameters):
    """Log density of one offset given all others, up to a constant; the hyperparameter stays at this offset."""
    z = value / spread
    if abs(z) > FARTHEST:
        return -math.inf
    verbs.set_learned(hyper, base, j, c, value)
    total = -0.5 * z * z
    for position in range(slots.size):
        k = slots[position]
        if given_parameters:
            total += verbs.log_prior(hyper, clusters.parameters, k)
        else:
            total += verbs.learned_evidence(hyper, clusters.statistics, clusters.cache, k, j, c, clusters.work)
    return total if math.isfinite(total) else -math.inf


@kernel
def _draw(hyper, base, rng, clusters, slots, spreads, chosen, offsets, given_parameters):
    at, next_one = 0, 0
    for j in range(verbs.n_parts(hyper)):
        for c in range(verbs.n_learned(hyper, j)):
            if next_one < chosen.size and chosen[next_one] == at:
                next_one += 1
                offsets[at] = _slice(
                    hyper, base, rng, clusters, slots, spreads[at], j, c, offsets[at], given_parameters
                )
                verbs.set_learned(hyper, base, j, c, offsets[at])
            at += 1


@inner_kernel
def _slice(hyper, base, rng, clusters, slots, spread, j, c, value, given_parameters):
    """One step of slice sampling: out by steps of the prior's spread, then in by shrinking."""
    level = _log_density(hyper, base, clusters, slots, spread, j, c, value, given_parameters)
    level += math.log(1.0 - rng.random())
    left = value - spread * rng.random()
    right = left + spread
    down = int(MOST_STEPS * rng.random())
    up = MOST_STEPS - 1 - down
    while down > 0 and _log_density(hyper, base, clusters, slots, spread, j, c, left, given_parameters) > level:
        left -= spread
        down -= 1
    while up > 0 and _log_density(hyper, base, clusters, slots, spread, j, c, right, given_parameters) > level:
        right += spread
        up -= 1
    while True:
        trial = left + (right - left) * rng.random()
        if _log_density(hyper, base, clusters, slots, spread, j, c, trial, given_parameters) >= level:
            return trial
        if trial < value:
            left = trial
        else:
            right = trial
        if right - left < 1e-12:
            return value


@kernel
def _climb(hyper, base, clusters, slots, spreads, steps, offsets):
    """One step of each number: to the top of the parabola through three points, if it is higher than they are."""
    gain = 0.0
    at = 0
    for j in range(verbs.n_parts(hyper)):
        for c in range(verbs.n_learned(hyper, j)):
            if spreads[at] > 0.0:
                best, step = offsets[at], steps[at]
                middle = _log_density(hyper, base, clusters, slots, spreads[at], j, c, best, False)
                first = _log_density(hyper, base, clusters, slots, spreads[at], j, c, best - step, False)
                last = _log_density(hyper, base, clusters, slots, spreads[at], j, c, best + step, False)
                bend = first - 2.0 * middle + last
                trial = best + (step if last > first else -step)
                if bend < 0.0:
                    trial = best + min(max(0.5 * step * (first - last) / bend, -4.0 * step), 4.0 * step)
                value = _log_density(hyper, base, clusters, slots, spreads[at], j, c, trial, False)
                if value > middle:
                    gain += value - middle
                    best = trial
                # A step as long as the last move is about as long as the next one ought to be.
                steps[at] = max(min(step, 2.0 * abs(best - offsets[at])), 0.05 * spreads[at])
                offsets[at] = best
                verbs.set_learned(hyper, base, j, c, best)
            at += 1
    return gain
