"""The distribution of the number of clusters, and the seating of rows one after another.

References: Pitman 2006, *Combinatorial stochastic processes*, chapters 1 and 3 (generalised Stirling
numbers of Gibbs-type partitions); Pletscher 2007, section 2.6.5 (the recursion over rows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import gammaln

from .ratios import FloatArray, IntArray, log_gamma_ratio_short

# Upper bound on the probability that is cut off the tail of a distribution.
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
    """Distribution of the number of clusters of n rows where the weight of a new cluster ignores the row count.

    With t clusters and m rows a new cluster opens with probability w / (mass + m), w = new_weights(t). The
    recursion runs on probabilities, and every term is positive. It follows a window of counts; the probability
    of those outside is below 1e-30 at each block.

    Parameters
    ----------
    offset, mass : arrays of shape (m,)
        One entry per prior; m priors are computed together.
    new_weights : callable
        From counts t to weights of shape (m, len(t)).

    Returns
    -------
    array of shape (m, t_max + 1)
    """
    # Counts are on the first axis and priors on the second, so that the inner loops are long either way.
    low = 1
    pmf = np.ones((1, offset.size))
    for start in range(1, n, _BLOCK):
        steps = min(_BLOCK, n - start)
        # Room for every count that this block of rows can reach, so that the inner loop needs no bookkeeping.
        room = min(steps, max_clusters - low - pmf.shape[0] + 1)
        pmf = np.concatenate([pmf, np.zeros((room, offset.size))])
        counts = np.arange(low, low + pmf.shape[0])
        opening = np.ascontiguousarray(new_weights(counts).T)
        sticking = counts[:, None] * offset
        scale = 1.0 / (mass + np.arange(start, start + steps)[:, None])
        moved, stay = np.empty_like(pmf), np.empty_like(pmf)
        for i in range(steps):
            np.multiply(pmf, opening, out=moved)
            np.add(sticking, float(start + i), out=stay)
            pmf *= stay
            pmf[1:] += moved[:-1]
            pmf *= scale[i]
        alive = np.flatnonzero(pmf.max(axis=1) > _DROP)
        low += int(alive[0])
        pmf = pmf[alive[0] : alive[-1] + 1]
    return np.concatenate([np.zeros((low, offset.size)), pmf]).T


def log_generalised_stirling(n: int, offset: float) -> Iterator[float]:
    r"""Yield, for t = 1, 2, ..., n, the log of the sum over partitions of n rows into t clusters of
    :math:`\prod_c \Gamma(n_c + o) / \Gamma(1 + o)`, without the common factor :math:`\Gamma(n + o t)`.

    The recursion S(n+1, t) = (n + o t) S(n, t) + S(n, t-1) becomes a running sum when divided by
    Gamma(n + o t): r(n+1, t) = r(n, t) + r(n, t-1) Gamma(n + o t - o) / Gamma(n + 1 + o t).
    So each t takes one cumulative sum over the rows, and all terms are positive.
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
    """Log of the running sum of exp(logs), in blocks, because the terms may exceed the range of a double."""
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
    """Distribution of the number of clusters of any Gibbs-type prior: V_n(t) times the generalised Stirling number.

    `log_v` is called with blocks of consecutive t. The computation stops where a geometric bound on the remaining
    probability falls below the tail mass. The result is scaled to sum to one, which removes the rounding of log V_n.
    """
    numbers = log_generalised_stirling(n, offset)
    log_pmf: list[float] = [-np.inf]
    while len(log_pmf) <= max_clusters:
        block = np.arange(len(log_pmf), min(len(log_pmf) + _BLOCK, max_clusters + 1), dtype=np.int64)
        log_factors = log_v(block) + gammaln(n + offset * block)
        for log_factor in log_factors:
            log_pmf.append(float(log_factor) + next(numbers))
            if _is_negligible(log_pmf):
                return _normalise(log_pmf)
    return _normalise(log_pmf)


def _is_negligible(log_pmf: list[float]) -> bool:
    last, before = log_pmf[-1], log_pmf[-2]
    if last == -np.inf:
        return before > -np.inf
    if last > np.log(TAIL_MASS) or last >= before:
        return False
    return bool(last - np.log(-np.expm1(last - before)) < np.log(TAIL_MASS) - 3.0)


def _normalise(log_pmf: list[float]) -> FloatArray:
    pmf = np.exp(np.array(log_pmf))
    return np.asarray(pmf / pmf.sum())


def trim(pmf: FloatArray) -> FloatArray:
    """Cut the entries at the end whose total is below the tail mass."""
    beyond = np.cumsum(pmf[::-1])[::-1]
    return pmf[: int(np.flatnonzero(beyond > TAIL_MASS)[-1]) + 1]


def seat(n: int, offset: float, new_weight: Callable[[int, int], float], rng: np.random.Generator) -> IntArray:
    """Seat n rows one after another; a cluster of size m weighs m + offset, a new one `new_weight`.

    The first row of each cluster carries 1 + offset of its weight and each later row 1. So a draw chooses an
    earlier row and copies its label, at a cost that does not depend on the number of clusters.
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
