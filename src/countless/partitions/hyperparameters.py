"""Hyperparameters of the family given the clusters: drawn, or climbed to their mode, one number after the other.

Given the partition the parameters of the clusters are integrated out, so that the density of the offsets of the learned
hyperparameters (``families.learnable``) is the product of the evidences of the clusters and of normal laws:

    log p(offsets | partition, rows) = sum over clusters of the log evidence + log normal density + constant

A family says what of an evidence depends on which number, so that a column costs what its own cells cost. Draws are by
slice sampling (Neal 2003, *Slice sampling*, section 4). Strengths, which have a part in common (``Law``), are
also moved together, by one shift of them all: one after the other they would hold each other back.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inner_kernel, kernel
from ..families import verbs
from ..families.learnable import Law
from .clusters import ClusterArrays
from .seats import FloatArray, IntArray

# One number is drawn for so many rows, for each part of the family: the cost stays a fraction of that of a sweep.
ROWS_PER_NUMBER = 400
FEWEST_NUMBERS = 4
# Chance that strengths are shifted together as well: that takes the whole evidence of every cluster a few times.
SHIFT_CHANCE = 0.25
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
    shift = bool(law.strengths.any()) and rng.random() < SHIFT_CHANCE
    _draw(hyper, base, rng, clusters, slots, law.arrays, chosen, shift, offsets, given_parameters)


def climb_offsets(
    hyper: Any, base: Any, clusters: ClusterArrays, slots: IntArray, law: Law, offsets: FloatArray
) -> float:
    """Raise the density of the offsets until it stands still; returns by how much. ``hyper`` and ``offsets`` follow."""
    steps = np.append(0.5 * law.spreads, 0.5)  # the last one is that of the shift
    total = 0.0
    for _ in range(MOST_ROUNDS):
        gain = float(_climb(hyper, base, clusters, slots, law.arrays, steps, offsets))
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


class Line(NamedTuple):
    """What is moved, one number or (``number`` -1) all strengths together, and its law given all else."""

    number: int
    part: int
    of_part: int
    mean: float
    spread: float


@inner_kernel
def _line_of_number(spreads, strengths, common, offsets, at, j, c):
    """A strength has a normal law given the others, whose weighted mean says where their common part may be."""
    if not strengths[at]:
        return Line(at, j, c, 0.0, spreads[at])
    total, others = 0.0, 0.0
    for i in range(spreads.size):
        if strengths[i]:
            weight = 1.0 / (spreads[i] * spreads[i])
            total += weight
            if i != at:
                others += weight * offsets[i]
    weight = 1.0 / (spreads[at] * spreads[at])
    pull = common * common * weight / (1.0 + common * common * total)
    precision = weight * (1.0 - pull)
    return Line(at, j, c, pull * others / precision, math.sqrt(1.0 / precision))


@inner_kernel
def _line_of_shift(spreads, strengths, common, offsets):
    """A shift of all strengths by the same amount."""
    total, weighted = 0.0, 0.0
    for i in range(spreads.size):
        if strengths[i]:
            weight = 1.0 / (spreads[i] * spreads[i])
            total += weight
            weighted += weight * offsets[i]
    return Line(-1, 0, 0, -weighted / total, math.sqrt(1.0 / total + common * common))


@inner_kernel
def _set(hyper, base, strengths, offsets, line, value):
    """Put the hyperparameters where the line has this value; offsets stay as they are."""
    if line.number >= 0:
        verbs.set_learned(hyper, base, line.part, line.of_part, value)
        return
    at = 0
    for j in range(verbs.n_parts(hyper)):
        for c in range(verbs.n_learned(hyper, j)):
            if strengths[at]:
                verbs.set_learned(hyper, base, j, c, offsets[at] + value)
            at += 1


@inner_kernel
def _log_density(hyper, base, clusters, slots, strengths, offsets, line, value, given_parameters):
    """Log density along a line, up to a constant; the hyperparameters stay there."""
    z = (value - line.mean) / line.spread
    if abs(z) > FARTHEST:
        return -math.inf
    _set(hyper, base, strengths, offsets, line, value)
    statistics, cache, work = clusters.statistics, clusters.cache, clusters.work
    total = -0.5 * z * z
    if line.number >= 0 and not given_parameters:
        total += verbs.learned_evidences(hyper, statistics, cache, slots, line.part, line.of_part, work)
        return total if math.isfinite(total) else -math.inf
    for position in range(slots.size):
        k = slots[position]
        if given_parameters:
            total += verbs.log_prior(hyper, clusters.parameters, k)
        else:
            verbs.refresh(hyper, statistics, cache, k, work)
            total += verbs.log_marginal(hyper, statistics, cache, k)
    return total if math.isfinite(total) else -math.inf


@inner_kernel
def _keep(hyper, base, strengths, offsets, line, value):
    """Move the offsets to where the line has this value, and the hyperparameters with them."""
    _set(hyper, base, strengths, offsets, line, value)
    if line.number >= 0:
        offsets[line.number] = value
        return
    for at in range(strengths.size):
        if strengths[at]:
            offsets[at] += value


@kernel
def _draw(hyper, base, rng, clusters, slots, law, chosen, shift, offsets, given_parameters):
    spreads, strengths, common = law
    at, next_one = 0, 0
    for j in range(verbs.n_parts(hyper)):
        for c in range(verbs.n_learned(hyper, j)):
            if next_one < chosen.size and chosen[next_one] == at:
                next_one += 1
                line = _line_of_number(spreads, strengths, common, offsets, at, j, c)
                value = _slice(hyper, base, rng, clusters, slots, strengths, offsets, line, given_parameters)
                _keep(hyper, base, strengths, offsets, line, value)
            at += 1
    if shift:
        line = _line_of_shift(spreads, strengths, common, offsets)
        value = _slice(hyper, base, rng, clusters, slots, strengths, offsets, line, given_parameters)
        _keep(hyper, base, strengths, offsets, line, value)


@inner_kernel
def _slice(hyper, base, rng, clusters, slots, strengths, offsets, line, given_parameters):
    """One step of slice sampling: out by steps of the prior's spread, then in by shrinking."""
    value = offsets[line.number] if line.number >= 0 else 0.0
    spread = line.spread
    level = _log_density(hyper, base, clusters, slots, strengths, offsets, line, value, given_parameters)
    level += math.log(1.0 - rng.random())
    left = value - spread * rng.random()
    right = left + spread
    down = int(MOST_STEPS * rng.random())
    up = MOST_STEPS - 1 - down
    while (
        down > 0
        and _log_density(hyper, base, clusters, slots, strengths, offsets, line, left, given_parameters) > level
    ):
        left -= spread
        down -= 1
    while (
        up > 0 and _log_density(hyper, base, clusters, slots, strengths, offsets, line, right, given_parameters) > level
    ):
        right += spread
        up -= 1
    while True:
        trial = left + (right - left) * rng.random()
        if _log_density(hyper, base, clusters, slots, strengths, offsets, line, trial, given_parameters) >= level:
            return trial
        if trial < value:
            left = trial
        else:
            right = trial
        if right - left < 1e-12:
            return value


@kernel
def _climb(hyper, base, clusters, slots, law, steps, offsets):
    """One step of each number, and one shift of the strengths; returns what they gain."""
    spreads, strengths, common = law
    gain = 0.0
    at = 0
    for j in range(verbs.n_parts(hyper)):
        for c in range(verbs.n_learned(hyper, j)):
            if spreads[at] > 0.0:
                line = _line_of_number(spreads, strengths, common, offsets, at, j, c)
                gain += _ascend(hyper, base, clusters, slots, strengths, steps, offsets, line, at)
            at += 1
    if strengths.any():
        line = _line_of_shift(spreads, strengths, common, offsets)
        gain += _ascend(hyper, base, clusters, slots, strengths, steps, offsets, line, at)
    return gain


@inner_kernel
def _ascend(hyper, base, clusters, slots, strengths, steps, offsets, line, at):
    """To the top of the parabola through three points of a line, if it is higher than they are; returns the gain."""
    start, step = offsets[line.number] if line.number >= 0 else 0.0, steps[at]
    middle = _log_density(hyper, base, clusters, slots, strengths, offsets, line, start, False)
    first = _log_density(hyper, base, clusters, slots, strengths, offsets, line, start - step, False)
    last = _log_density(hyper, base, clusters, slots, strengths, offsets, line, start + step, False)
    bend = first - 2.0 * middle + last
    trial = start + (step if last > first else -step)
    if bend < 0.0:
        trial = start + min(max(0.5 * step * (first - last) / bend, -4.0 * step), 4.0 * step)
    value = _log_density(hyper, base, clusters, slots, strengths, offsets, line, trial, False)
    best, gain = start, 0.0
    if value > middle:
        best, gain = trial, value - middle
    # A step as long as the last move is about as long as the next one ought to be.
    steps[at] = max(min(step, 2.0 * abs(best - start)), 0.05 * line.spread)
    _keep(hyper, base, strengths, offsets, line, best)
    return gain
