"""What a pass does with one block of rows: pure functions from statistics, weights and natural parameters to sums.

The log density of a row under a component is the inner product of the row's statistics with the natural parameter of
the component. So for one block of rows

    scores = statistics @ natural',    normalise (or draw),    sums = weights' @ statistics.

Nothing here knows which rows they are, where they are kept or who adds up the blocks: threads of this process do now,
workers on other machines can.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.jit import kernel
from ..core.special import NEGLIGIBLE
from ..partitions.sums import add_known_by_label

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Weights are mostly zero where clusters are apart; then the second product visits those above zero only.
SPARSE_BELOW = 0.2


class Soft(NamedTuple):
    """What a pass with probabilities leaves behind.

    ``sums`` are the weighted statistics of each component (K, S), ``log_total`` is the sum over rows of the log of
    the summed exponentials of their scores, and ``without[k]`` is what ``log_total`` would lose without k.
    """

    sums: FloatArray
    log_total: float
    without: FloatArray

    def plus(self, other: Soft) -> Soft:
        """Both together."""
        return Soft(self.sums + other.sums, self.log_total + other.log_total, self.without + other.without)


class Hard(NamedTuple):
    """What a pass with one component per row leaves behind."""

    sums: FloatArray
    labels: IntArray


def soften(
    statistics: FloatArray, weights: FloatArray, natural: FloatArray, deletions: bool, sums: FloatArray
) -> tuple[float, FloatArray]:
    """Add to ``sums`` the statistics of a block, weighted by the probabilities of the components.

    Returns the log total, and (with ``deletions``) what it would lose without each component.
    """
    scores = statistics @ natural.T
    without = np.zeros(len(natural))
    log_total, n_positive = _soften(scores, weights, deletions, without)
    if n_positive < SPARSE_BELOW * scores.size:
        _add_positive(scores, statistics, sums)
    else:
        sums += scores.T @ statistics
    return log_total, without


def assign(
    statistics: FloatArray,
    weights: FloatArray,
    natural: FloatArray,
    uniforms: FloatArray,
    labels: IntArray,
    sums: FloatArray,
) -> None:
    """One component for each row of a block: drawn where there are ``uniforms``, else the best; add up ``sums``."""
    _choose(statistics @ natural.T, uniforms, labels)
    add_known_by_label(statistics, weights, labels, sums)


def draw_many(statistics: FloatArray, natural: FloatArray, rng: np.random.Generator, labels: NDArray[Any]) -> None:
    """Components drawn independently for each row of a block; ``labels`` has shape (draw, row)."""
    _draw_many(statistics @ natural.T, rng, labels)


@kernel
def _soften(scores, weights, deletions, without):
    """Scores become probabilities times the weight of the row; returns the weighted log totals and a count.

    The count is that of the probabilities above zero; those that are negligible beside the largest become zero.
    """
    n, n_components = scores.shape
    log_total = 0.0
    n_positive = 0
    for i in range(n):
        top = 0
        for k in range(1, n_components):
            if scores[i, k] > scores[i, top]:
                top = k
        largest = scores[i, top]
        second = -math.inf
        others = 0.0
        for k in range(n_components):
            difference = scores[i, k] - largest
            if k != top:
                second = max(second, difference)
            if difference > NEGLIGIBLE:
                scores[i, k] = math.exp(difference)
                if k != top:
                    others += scores[i, k]
            else:
                scores[i, k] = 0.0
        total = 1.0 + others
        log_row = math.log(total)
        weight = weights[i] if weights.size else 1.0
        log_total += weight * (largest + log_row)
        factor = weight / total
        for k in range(n_components):
            value = scores[i, k]
            if value > 0.0:
                n_positive += 1
                if deletions:
                    if k == top:
                        without[k] += weight * ((math.log(others) if others > 0.0 else second) - log_row)
                    else:
                        without[k] += weight * math.log1p(-value / total)
                scores[i, k] = value * factor
    return log_total, n_positive


@kernel
def _choose(scores, uniforms, labels):
    """A component for each row: drawn where there are uniforms, else the best; scores are overwritten."""
    n, n_components = scores.shape
    for i in range(n):
        top = 0
        for k in range(1, n_components):
            if scores[i, k] > scores[i, top]:
                top = k
        labels[i] = top
        if uniforms.size:
            largest = scores[i, top]
            total = 0.0
            for k in range(n_components):
                difference = scores[i, k] - largest
                if difference > NEGLIGIBLE:
                    total += math.exp(difference)
                scores[i, k] = total
            threshold = uniforms[i] * total
            for k in range(n_components):
                if threshold < scores[i, k]:
                    labels[i] = k
                    break


@kernel
def _draw_many(scores, rng, labels):
    n, n_components = scores.shape
    for i in range(n):
        largest = -math.inf
        for k in range(n_components):
            largest = max(largest, scores[i, k])
        total = 0.0
        for k in range(n_components):
            difference = scores[i, k] - largest
            if difference > NEGLIGIBLE:
                total += math.exp(difference)
            scores[i, k] = total
        for draw in range(labels.shape[0]):
            threshold = rng.random() * total
            k = 0
            while k < n_components - 1 and threshold >= scores[i, k]:
                k += 1
            labels[draw, i] = k


@kernel
def _add_positive(probabilities, statistics, sums):
    n, n_components = probabilities.shape
    width = statistics.shape[1]
    for i in range(n):
        for k in range(n_components):
            share = probabilities[i, k]
            if share > 0.0:
                for s in range(width):
                    sums[k, s] += share * statistics[i, s]
