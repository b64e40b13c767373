"""The law of the number of clusters, and the seating of rows one after another.

References: Pitman 2006, *Combinatorial stochastic processes*, chapters 1 and 3 (generalised Stirling
numbers of Gibbs-type partitions); Pletscher 2007, section 2.6.5 (the recursion over rows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import gammaln

from ._math import FloatArray, IntArray, log_gamma_ratio_short

# What is cut off a law of counts has less mass than this.
TAIL_MASS = 1e-13
_DROP = 1e-30
_BLOCK = 64


def chain_pmf(
    n: int,
    offset: FloatArray,
    mass: FloatArray,
    new_weights: Callable[[IntArray], FloatArray],
    max_clusters: int,
) -> FloatArray:
    """Law of the number of clusters of n rows when the weight of a new cluster ignores the row count.

    With t clusters and m rows a new cluster opens with probability w / (mass + m), w = new_weights(t). The
    recursion runs in probability space, every term positive; a window follows the mass, and what it leaves
    out at each block is below 1e-30.

    Parameters
    ----------
    offset, mass : arrays of shape (m,)
        One entry per prior; m priors are followed side by side.
    new_weights : callable
        From counts t to weights of shape (m, len(t)).

    Returns
    -------
    array of shape (m, t_max + 1)
    """
    # Counts run along the first axis, priors along the second: the inner loops are long either way.
    low = 1
    law = np.ones((1, offset.size))
    for start in range(1, n, _BLOCK):
        steps = min(_BLOCK, n - start)
        # All the room that this block of rows can need, so that the inner loop has no bookkeeping.
        room = min(steps, max_clusters - low - law.shape[0] + 1)
        law = np.concatenate([law, np.zeros((room, offset.size))])
        counts = np.arange(low, low + law.shape[0])
        opening = np.ascontiguousarray(new_weights(counts).T)
        sticking = counts[:, None] * offset
        scale = 1.0 / (mass + np.arange(start, start + steps)[:, None])
        moved, stay = np.empty_like(law), np.empty_like(law)
        for i in range(steps):
            np.multiply(law, opening, out=moved)
            np.add(sticking, float(start + i), out=stay)
            law *= stay
            law[1:] += moved[:-1]
            law *= scale[i]
        alive = np.flatnonzero(law.max(axis=1) > _DROP)
        low += int(alive[0])
        law = law[alive[0] : alive[-1] + 1]
    return np.concatenate([np.zeros((low, offset.size)), law]).T


def log_generalised_stirling(n: int, offset: float) -> Iterator[float]:
    r"""Yield, for t = 1, 2, ..., n, the log of the sum over partitions of n rows into t clusters of
    :math:`\prod_c \Gamma(n_c + o) / \Gamma(1 + o)`, without the common factor :math:`\Gamma(n + o t)`.

    The plain recursion S(n+1, t) = (n + o t) S(n, t) + S(n, t-1) becomes a running sum once
    Gamma(n + o t) is divided out: r(n+1, t) = r(n, t) + r(n, t-1) Gamma(n + o t - o) / Gamma(n + 1 + o t).
    So one pass over t, each a cumulative sum over the rows, and all terms are positive.
    """
    # Entry j belongs to t + j rows.
    log_r = np.full(n, -float(gammaln(1.0 + offset)))
    yield float(log_r[-1])
    for t in range(2, n + 1):
        rows = np.arange(t - 1, n, dtype=np.float64)
        ratio = log_gamma_ratio_short(rows + offset * (t - 1), 1.0 + offset)
        log_r = _log_cumulative_sum(log_r[:-1] - ratio)
        yield float(log_r[-1])


def _log_cumulative_sum(logs: FloatArray) -> FloatArray:
    """Log of the running sum of exp(logs): in blocks, because the terms may span more than a double can."""
    width = 16
    n = logs.size
    n_blocks = -(-n // width)
    padded = np.full(n_blocks * width, -np.inf)
    padded[:n] = logs
    blocks = padded.reshape(n_blocks, width)
    top = blocks.max(axis=1, keepdims=True)
    within = np.cumsum(np.exp(blocks - top), axis=1)
    totals = np.logaddexp.accumulate(np.log(within[:, -1]) + top[:, 0])
    before = np.concatenate([[-np.inf], totals[:-1]])[:, None]
    peak = np.maximum(top, before)
    running = np.log(within * np.exp(top - peak) + np.exp(before - peak)) + peak
    return np.asarray(running.ravel()[:n])


def stirling_pmf(n: int, offset: float, log_v: Callable[[IntArray], FloatArray], max_clusters: int) -> FloatArray:
    """Law of the number of clusters of any Gibbs-type prior: V_n(t) times the generalised Stirling number.

    `log_v` is asked for blocks of consecutive t; the sum stops where a geometric bound on what is left falls
    below the tail mass. The result is scaled to sum to one, which takes off the rounding of log V_n.
    """
    numbers = log_generalised_stirling(n, offset)
    log_law: list[float] = [-np.inf]
    while len(log_law) <= max_clusters:
        block = np.arange(len(log_law), min(len(log_law) + _BLOCK, max_clusters + 1), dtype=np.int64)
        log_factors = log_v(block) + gammaln(n + offset * block)
        for log_factor in log_factors:
            log_law.append(float(log_factor) + next(numbers))
            if _is_negligible(log_law):
                return _normalise(log_law)
    return _normalise(log_law)


def _is_negligible(log_law: list[float]) -> bool:
    last, before = log_law[-1], log_law[-2]
    if last == -np.inf:
        return before > -np.inf
    if last > np.log(TAIL_MASS) or last >= before:
        return False
    return bool(last - np.log(-np.expm1(last - before)) < np.log(TAIL_MASS) - 3.0)


def _normalise(log_law: list[float]) -> FloatArray:
    law = np.exp(np.array(log_law))
    return np.asarray(law / law.sum())


def trim(law: FloatArray) -> FloatArray:
    """Cut the entries at the end whose total is below the tail mass."""
    beyond = np.cumsum(law[::-1])[::-1]
    return law[: int(np.flatnonzero(beyond > TAIL_MASS)[-1]) + 1]


def seat(n: int, offset: float, new_weight: Callable[[int, int], float], rng: np.random.Generator) -> IntArray:
    """Seat n rows one after another; a cluster of size m weighs m + offset, a new one `new_weight`.

    The first row of each cluster stands for 1 + offset of its weight and each later one for 1, so that
    choosing an earlier row and copying its label costs the same however many clusters there are.
    """
    labels = np.zeros(n, dtype=np.int64)
    later_rows: list[int] = []
    n_clusters = 0
    for i, uniform in enumerate(rng.random(n).tolist()):
        opening = new_weight(i, n_clusters)
        n_later = i - n_clusters
        point = uniform * (i + offset * n_clusters + opening) - opening
        if point < 0.0 or i == 0:
            labels[i] = n_clusters
            n_clusters += 1
            continue
        if point < n_later:
            label = later_rows[int(point)]
        else:
            label = min(int((point - n_later) / (1.0 + offset)), n_clusters - 1)
        labels[i] = label
        later_rows.append(label)
    return labels
