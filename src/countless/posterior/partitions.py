"""Partitions compared and summarised: co-clustering, expected variation of information, a consensus.

Wade and Ghahramani (2018), Bayesian cluster analysis: point estimation and credible balls; the search by
sweeps over the rows follows Dahl, Johnson and Mueller (2022). With f(n) = n log n,

    N VI(a, b) = sum_i f(n_i.) + sum_j f(n_.j) - 2 sum_ij f(n_ij),    n_ij the contingency table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from .._validate import by_first_appearance

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Table look-ups spent on choosing a draw, and on each sweep of the search.
BUDGET = 2e9


def similarity(labels: NDArray[Any]) -> FloatArray:
    """Share of the draws in which two rows are in one cluster; ``labels`` is draws x rows."""
    out = np.empty((labels.shape[1],) * 2)
    _share_together(np.ascontiguousarray(labels.T, dtype=np.int32), out)
    return out


def expected_vi(candidates: NDArray[Any], draws: NDArray[Any]) -> FloatArray:
    """Mean variation of information (nats) of each candidate partition to the draws; both are draws x rows."""
    a = np.ascontiguousarray(candidates, dtype=np.int64)
    b = np.ascontiguousarray(draws, dtype=np.int64)
    out = np.empty(len(a))
    _expected_vi(a, b, int(a.max()) + 1, int(b.max()) + 1, _n_log_n(a.shape[1]), out)
    return out


def consensus(labels: NDArray[Any], max_sweeps: int = 20) -> IntArray:
    """Partition of small expected variation of information to the draws (draws x rows).

    The best draw, then rows moved between its clusters as long as the expected loss falls: never worse than
    the draw, and free of its single misplaced rows. New clusters are not opened: the loss would gather rows
    that waver between two clusters in one of their own. Where draws are many, an evenly spaced subset stands
    for them.
    """
    n_draws, n_rows = labels.shape
    if n_draws == 1:
        return by_first_appearance(labels[0])
    within = max(2, int(np.sqrt(BUDGET / max(n_rows, 1))))
    subset = np.unique(np.linspace(0, n_draws - 1, min(n_draws, within, 250)).astype(np.int64))
    draws = np.ascontiguousarray(labels[subset], dtype=np.int64)
    best = by_first_appearance(draws[np.argmin(expected_vi(draws, draws))])
    n_log_n = _n_log_n(n_rows)
    room = int(best.max()) + 1
    if room * len(draws) * (int(draws.max()) + 1) < 2e8:
        _improve_vi(best, np.ascontiguousarray(draws.T), int(draws.max()) + 1, room, n_log_n, max_sweeps)
    return by_first_appearance(best)


def _n_log_n(n: int) -> FloatArray:
    counts = np.arange(n + 2, dtype=np.float64)
    return counts * np.log(np.maximum(counts, 1.0))


@kernel
def _share_together(labels, out):
    """``labels`` is rows x draws, so that a pair of rows is compared along contiguous memory."""
    n_rows, n_draws = labels.shape
    for i in range(n_rows):
        out[i, i] = 1.0
        for j in range(i):
            count = 0
            for m in range(n_draws):
                count += labels[i, m] == labels[j, m]
            out[i, j] = out[j, i] = count / n_draws


@kernel
def _expected_vi(candidates, draws, k_a, k_b, n_log_n, out):
    n_rows = draws.shape[1]
    table = np.zeros((k_a, k_b), dtype=np.int64)
    sizes_a = np.zeros(k_a, dtype=np.int64)
    sizes_b = np.zeros(k_b, dtype=np.int64)
    for c in range(candidates.shape[0]):
        total = 0.0
        for m in range(draws.shape[0]):
            table[:] = 0
            sizes_a[:] = 0
            sizes_b[:] = 0
            for i in range(n_rows):
                a, b = candidates[c, i], draws[m, i]
                table[a, b] += 1
                sizes_a[a] += 1
                sizes_b[b] += 1
            for a in range(k_a):
                if sizes_a[a] > 0:
                    total += n_log_n[sizes_a[a]]
                    for b in range(k_b):
                        total -= 2.0 * n_log_n[table[a, b]]
            for b in range(k_b):
                total += n_log_n[sizes_b[b]]
        out[c] = total / (draws.shape[0] * n_rows)


@kernel
def _improve_vi(best, draws, k_b, room, n_log_n, max_sweeps):
    """Move single rows between the ``room`` clusters of ``best`` as long as that lowers the expected loss."""
    n_rows, n_draws = draws.shape
    table = np.zeros((n_draws, k_b, room), dtype=np.int64)
    sizes = np.zeros(room, dtype=np.int64)
    for i in range(n_rows):
        sizes[best[i]] += 1
        for m in range(n_draws):
            table[m, draws[i, m], best[i]] += 1
    loss = np.empty(room)
    for _ in range(max_sweeps):
        moved = 0
        for i in range(n_rows):
            own = best[i]
            sizes[own] -= 1
            for k in range(room):
                loss[k] = n_draws * (n_log_n[sizes[k] + 1] - n_log_n[sizes[k]])
            for m in range(n_draws):
                b = draws[i, m]
                table[m, b, own] -= 1
                for k in range(room):
                    n = table[m, b, k]
                    loss[k] -= 2.0 * (n_log_n[n + 1] - n_log_n[n])
            chosen = own
            for k in range(room):
                if loss[k] < loss[chosen] - 1e-9 * n_draws:
                    chosen = k
            sizes[chosen] += 1
            for m in range(n_draws):
                table[m, draws[i, m], chosen] += 1
            if chosen != own:
                best[i] = chosen
                moved += 1
        if moved == 0:
            break
