"""Hyperparameters of the block model given both partitions: drawn by slice sampling, or climbed to their mode.

Given the partitions the parameters of blocks are integrated out, so that the density of the offsets is the evidence of
all blocks and clusters times their law (``families.learnable``). There are few of them: one to four numbers, each
evaluation costs the evidences of all blocks, and never a pass over the cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....partitions.hyperparameters import FARTHEST
from ....partitions.seats import FloatArray

MOST_STEPS = 8
# Numbers that are drawn in one step, a random choice where there are more.
MOST_NUMBERS = 4
# A climb ends where a round gains less.
LEAST_GAIN, MOST_ROUNDS = 1e-3, 6


def log_density(state: Any) -> Callable[[FloatArray], float]:
    """Log density of offsets given the partitions of a state, up to a constant."""
    law, problem, evidence = state.problem.law, state.problem, state.evidence()

    def of(offsets: FloatArray) -> float:
        if np.any(np.abs(offsets) > FARTHEST * law.deviations):
            return -math.inf
        value = evidence(problem.model.hyper_at(law, offsets))
        value += problem.log_outside(offsets) + law.log_density(offsets)
        return value if math.isfinite(value) else -math.inf

    return of


class LearnHyperparameters:
    """Draw the learned hyperparameters of the block model, one after the other, and once all strengths together."""

    name = "hyperparameters"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        law = state.problem.law
        if not (law.spreads > 0.0).any():
            return
        of = log_density(state)
        offsets = state.offsets.copy()
        lines = directions(law)
        chosen = rng.choice(len(lines), MOST_NUMBERS, replace=False) if len(lines) > MOST_NUMBERS else range(len(lines))
        for at in chosen:
            direction, width = lines[at]
            offsets = _slice(rng, of, offsets, direction, width)
        state.set_offsets(offsets)


def directions(law: Any) -> list[tuple[FloatArray, float]]:
    """Lines along which offsets move, and how far they usually do."""
    found = []
    for at in np.flatnonzero(law.spreads > 0.0):
        direction = np.zeros(len(law.spreads))
        direction[at] = 1.0
        found.append((direction, float(law.deviations[at])))
    if law.strengths.sum() > 1:
        found.append((law.strengths.astype(np.float64), law.common))
    return found


def _slice(
    rng: np.random.Generator,
    of: Callable[[FloatArray], float],
    offsets: FloatArray,
    direction: FloatArray,
    width: float,
) -> FloatArray:
    """One step of slice sampling along a line (Neal 2003, section 4): out by steps, then in by shrinking."""
    level = of(offsets) + math.log(1.0 - rng.random())
    left = -width * rng.random()
    right = left + width
    down = int(MOST_STEPS * rng.random())
    up = MOST_STEPS - 1 - down
    while down > 0 and of(offsets + left * direction) > level:
        left, down = left - width, down - 1
    while up > 0 and of(offsets + right * direction) > level:
        right, up = right + width, up - 1
    while right - left > 1e-12:
        step = left + (right - left) * rng.random()
        trial = offsets + step * direction
        if of(trial) >= level:
            return trial
        left, right = (step, right) if step < 0.0 else (left, step)
    return offsets


def climb_hyperparameters(state: Any) -> float:
    """Raise the density of the offsets until it stands still; returns by how much."""
    law = state.problem.law
    if not (law.spreads > 0.0).any():
        return 0.0
    offsets, gain = climb_lines(law, log_density(state), state.offsets)
    state.set_offsets(offsets)
    return gain


def climb_lines(law: Any, of: Callable[[FloatArray], float], offsets: FloatArray) -> tuple[FloatArray, float]:
    """Raise a function of the offsets, one line after the other; the offsets, and by how much."""
    lines = directions(law)
    offsets, start = offsets.copy(), of(offsets)
    value, steps = start, [0.5 * width for _, width in lines]
    for _ in range(MOST_ROUNDS):
        before = value
        for at, (direction, width) in enumerate(lines):
            move, gained = _ascend(of, offsets, direction, steps[at], value)
            offsets, value = offsets + move * direction, value + gained
            steps[at] = max(min(steps[at], 2.0 * abs(move)), 0.05 * width)
        if value - before < LEAST_GAIN:
            break
    return offsets, value - start


def _ascend(
    of: Callable[[FloatArray], float], offsets: FloatArray, direction: FloatArray, step: float, middle: float
) -> tuple[float, float]:
    """To the top of the parabola through three points of a line, if it is higher than they are: the move, the gain."""
    first, last = of(offsets - step * direction), of(offsets + step * direction)
    bend = first - 2.0 * middle + last
    trial = step if last > first else -step
    if bend < 0.0 and math.isfinite(bend):
        trial = min(max(0.5 * step * (first - last) / bend, -4.0 * step), 4.0 * step)
    value = of(offsets + trial * direction)
    best = max((value, trial), (first, -step), (last, step))
    return (best[1], best[0] - middle) if best[0] > middle else (0.0, 0.0)
