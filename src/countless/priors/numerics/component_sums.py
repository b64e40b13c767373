"""The coefficients V_n(t) of the mixture of finite mixtures, by sums over the number of components.

Reference: Miller & Harrison 2018, *Mixture models with a prior on the number of components*, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..component_counts import ComponentCount
from .ratios import FloatArray, log_gamma_ratio

# Terms that sum to less than exp(-42) = 6e-19 of the total are left out.
_LOG_CUT = 42.0
_MAX_ELEMENTS = 1 << 20

Terms = Callable[[FloatArray, FloatArray], FloatArray]
LogPmf = Callable[[FloatArray], FloatArray]


def log_component_sums(n_rows: int, counts: FloatArray, gamma: float, log_pmf: LogPmf) -> FloatArray:
    r"""Return :math:`\log \sum_{k \ge t} k_{(t)} / (\gamma k)^{(n)} \, p(k)` for each t of `counts`.

    Write a term as g(k) p(k). k times the derivative of log g falls with k, so g rises to one peak and
    then falls, and is log-concave while it rises; p is log-concave by assumption. Therefore

    - the terms after k fall at least as fast as the ratio r = max(1, g(k)/g(k-1)) p(k+1)/p(k), and their sum
      is at most term(k) r / (1 - r);
    - the terms before a k where both g and the terms still rise sum to at most k - t times term(k).

    Where the terms form one smooth hump of standard deviation s far from its left end, every (s/2)-th of them is
    enough: the relative error is exp(-8 pi^2) (the trapezoidal rule, by Poisson summation). This makes long tables
    cheap.
    """

    def log_g(k: FloatArray, t: FloatArray) -> FloatArray:
        return log_gamma_ratio(k - t + 1.0, t) - log_gamma_ratio(gamma * k, n_rows)

    result, finished = _sum_from_start(log_g, log_pmf, counts)
    if not finished.all():
        result[~finished] = _sum_humps(log_g, log_pmf, counts[~finished])
    return result


def log_direct_sums(n_rows: int, counts: FloatArray, gamma: float, law: ComponentCount) -> FloatArray:
    """The same sums for any law, whose probabilities need not be log-concave, term by term.

    Terms are g(k) p(k) as above. Where g falls, those after k sum to at most g(k) times the tail of the law; for as
    many clusters as rows g rises to gamma^-n, which bounds them as well. At most `law.last` terms are added.
    """

    def log_g(k: FloatArray, t: FloatArray) -> FloatArray:
        return log_gamma_ratio(k - t + 1.0, t) - log_gamma_ratio(gamma * k, n_rows)

    result = np.full(counts.shape, -np.inf)
    for at, t in enumerate(counts):
        first, size = max(float(t), 1.0), 256
        while first <= law.last:
            k = np.arange(first, min(first + size, law.last + 1.0))
            g = log_g(k, np.asarray(t))
            result[at] = np.logaddexp(result[at], np.logaddexp.reduce(g + law.log_pmf(k)))
            falls = k.size > 1 and g[-1] <= g[-2]
            most = g[-1] if falls else (-n_rows * np.log(gamma) if t == n_rows else np.inf)
            if most + law.log_tail(float(k[-1])) < result[at] - _LOG_CUT:
                break
            first, size = first + size, 2 * size
    return result


def expected_occupied(n_rows: int, k: FloatArray, share: FloatArray | float) -> FloatArray:
    """Expected number of components with rows, of k with Dirichlet parameters `share` each."""
    others = share * np.maximum(k - 1.0, 0.5)
    log_empty = log_gamma_ratio(others, share) - log_gamma_ratio(others + n_rows, share)
    return np.where(k == 1.0, 1.0, -k * np.expm1(log_empty))


def mean_over_components(law: ComponentCount, most: float, function: Callable[[FloatArray], FloatArray]) -> float:
    """Mean of a function of the number of components that is at most `most`."""
    total, start, size = 0.0, 1, 1024
    while True:
        k = np.arange(start, min(start + size, law.last + 1), dtype=np.float64)
        total += float(np.exp(law.log_pmf(k)) @ function(k))
        start, size = start + size, min(2 * size, 1 << 20)
        if start > law.last or np.log(most) + law.log_tail(float(k[-1])) < -37.0 + np.log(total):
            return total


def _sum_from_start(log_g: Terms, log_pmf: LogPmf, counts: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Add up to a thousand first terms, which is enough whenever t is far below the number of rows."""
    result, finished = np.full(counts.shape, -np.inf), np.zeros(counts.shape, dtype=bool)
    first = np.maximum(counts, 1.0)
    for begin, end in ((0, 32), (32, 256), (256, 1024)):
        rows = np.flatnonzero(~finished)
        if rows.size * (end - begin) > _MAX_ELEMENTS:
            break
        k = first[rows, None] + np.arange(begin, end, dtype=np.float64)
        g = log_g(k, counts[rows, None])
        log_p = log_pmf(np.append(k, k[:, -1:] + 1.0, axis=1))
        result[rows] = np.logaddexp(result[rows], _log_sum(g + log_p[:, :-1]))
        left = _log_left_over(g[:, -1], g[:, -1] - g[:, -2], log_p[:, -2], log_p[:, -1])
        finished[rows] = left < result[rows] - _LOG_CUT
    return result, finished


def _log_left_over(g: FloatArray, rise: FloatArray, log_p: FloatArray, log_p_next: FloatArray) -> FloatArray:
    """Bound on the log of the sum of all later terms; infinity where no bound holds yet."""
    log_ratio = np.maximum(rise, 0.0) + log_p_next - log_p
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = g + log_p + log_ratio - np.log(-np.expm1(np.minimum(log_ratio, 0.0)))
    return np.where(log_ratio < 0.0, bound, np.inf)


def _sum_humps(log_g: Terms, log_pmf: LogPmf, counts: FloatArray) -> FloatArray:
    """The same sum where many terms matter: find the window that holds them, and thin it where it is smooth."""

    def log_term(k: FloatArray, t: FloatArray) -> FloatArray:
        return log_g(k, t) + log_pmf(k)

    first = np.maximum(counts, 1.0)
    peak = _find_peak(log_term, first, counts)
    height = log_term(peak, counts)

    def right_is_cut(k: FloatArray) -> FloatArray:
        rise = np.where(k > first, log_g(k, counts) - log_g(np.maximum(k - 1.0, first), counts), np.inf)
        left = _log_left_over(log_g(k, counts), rise, log_pmf(k), log_pmf(k + 1.0))
        return np.asarray(left < height - _LOG_CUT)

    def left_is_cut(k: FloatArray) -> FloatArray:
        before = np.maximum(k - 1.0, first)
        rising = (log_g(k, counts) > log_g(before, counts)) & (log_term(k, counts) > log_term(before, counts))
        return np.asarray(rising & (log_term(k, counts) + np.log(k - first + 1.0) < height - _LOG_CUT))

    last = _first_true(right_is_cut, peak)
    start = _last_true(left_is_cut, first, peak)
    # There is only one hump if the probabilities of k components fall from the start of the window.
    falling = log_pmf(start + 1.0) <= log_pmf(start)
    deviation = np.minimum(peak - start, last - peak) / np.sqrt(2.0 * _LOG_CUT)
    smooth = falling & (start - first >= 0.25 * (peak - first)) & (start > first)
    step = np.where(smooth, np.maximum(np.floor(deviation / 2.0), 1.0), 1.0)
    return _sum_windows(log_term, counts, start, last, step) + np.log(step)


def _find_peak(log_term: Terms, first: FloatArray, counts: FloatArray) -> FloatArray:
    """A k near the largest term: the best of a geometric grid, then a ternary search between its neighbours.

    The bounds hold for any k; a better one only shortens the windows.
    """
    grid = np.unique(np.round(1.5 ** np.arange(0, 60))) - 1.0
    best, best_height = first.copy(), np.full(first.shape, -np.inf)
    index = np.zeros(first.shape, dtype=np.int64)
    for i, distance in enumerate(grid):
        height = log_term(first + distance, counts)
        better = height > best_height
        best_height = np.where(better, height, best_height)
        index = np.where(better, i, index)
    low = first + grid[np.maximum(index - 1, 0)]
    high = first + grid[np.minimum(index + 1, grid.size - 1)]
    while np.any(high - low > 2.0):
        third = np.floor((high - low) / 3.0)
        left, right = low + third, high - third
        rises = log_term(left, counts) < log_term(right, counts)
        active = high - low > 2.0
        low, high = np.where(active & rises, left, low), np.where(active & ~rises, right, high)
    best = np.floor((low + high) / 2.0)
    return np.where(log_term(first, counts) > log_term(best, counts), first, best)


def _first_true(predicate: Callable[[FloatArray], FloatArray], start: FloatArray) -> FloatArray:
    """Smallest k >= start where a predicate holds; once true, it stays true."""
    reach = np.ones(start.shape)
    while not np.all(done := predicate(start + reach)):
        reach = np.where(done, reach, 2.0 * reach)
    low, high = start - 1.0, start + reach
    while np.any(high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        true = predicate(np.maximum(middle, start))
        low, high = np.where(true, low, middle), np.where(true, middle, high)
    return np.maximum(high, start)


def _last_true(predicate: Callable[[FloatArray], FloatArray], first: FloatArray, stop: FloatArray) -> FloatArray:
    """Largest k in [first, stop) where a predicate holds, else `first`; once false, it stays false."""
    low, high = first.copy(), stop.copy()
    while np.any(high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        true = predicate(middle)
        low, high = np.where(true, middle, low), np.where(true, high, middle)
    return low


def _sum_windows(
    log_term: Terms,
    counts: FloatArray,
    start: FloatArray,
    last: FloatArray,
    step: FloatArray,
) -> FloatArray:
    """Log of the sum of the terms start, start + step, ..., last of each count, in blocks of bounded memory."""
    result = np.full(counts.shape, -np.inf)
    n_terms = np.floor((last - start) / step).astype(np.int64) + 1
    begin = 0
    while begin < counts.size:
        end = begin + 1
        widest = n_terms[begin]
        while end < counts.size and (end + 1 - begin) * max(widest, n_terms[end]) <= _MAX_ELEMENTS:
            widest = max(widest, n_terms[end])
            end += 1
        rows = slice(begin, end)
        for column in range(0, int(widest), _MAX_ELEMENTS):
            offsets = np.arange(column, min(int(widest), column + _MAX_ELEMENTS), dtype=np.float64)
            k = start[rows, None] + step[rows, None] * offsets
            inside = offsets < n_terms[rows, None]
            logs = np.where(inside, log_term(np.where(inside, k, last[rows, None]), counts[rows, None]), -np.inf)
            result[rows] = np.logaddexp(result[rows], _log_sum(logs))
        begin = end
    return result


def _log_sum(logs: FloatArray) -> FloatArray:
    """Log of the sum of exp(logs) along each row."""
    top = logs.max(axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=1)) + top[:, 0])
