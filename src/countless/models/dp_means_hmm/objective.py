r"""The two small-variance objectives of an infinite hidden Markov model, exact for any path.

    J = sum_t |x_t - m_z(t)|^2 - w sum_{t >= 2} log(N_{z(t-1) z(t)} / N_{z(t-1)}) + p1 sum_p K_p + p2 K

with K states, K_p distinct transitions out of state p. With w = 0 it is (6.8) of Raykov et al. 2016 (Jiang, Kulis and
Jordan 2012), else (6.9) (Roychowdhury, Jiang and Kulis 2013).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.jit import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Penalties(NamedTuple):
    """What states, transitions and unlikely transitions cost: p2, p1 and w."""

    state: float
    transition: float
    weight: float


class Series(NamedTuple):
    """Rows of sequences, and which of them begin one."""

    rows: FloatArray
    first: BoolArray

    def counts(self, labels: IntArray) -> FloatArray:
        """Numbers of transitions (state, state)."""
        k = int(labels.max()) + 1
        on = np.flatnonzero(~self.first)
        cells = np.bincount(labels[on - 1] * k + labels[on], minlength=k * k)
        return cells.reshape(k, k).astype(np.float64)

    def centres(self, labels: IntArray) -> FloatArray:
        """Means of the states."""
        sizes = np.bincount(labels)
        sums = np.stack([np.bincount(labels, weights=column) for column in self.rows.T], axis=1)
        return np.asarray(sums / sizes[:, None])

    def objective(self, labels: IntArray, penalties: Penalties) -> float:
        """J of a path whose states are numbered 0, 1, 2, ..."""
        spread = float(((self.rows - self.centres(labels)[labels]) ** 2).sum())
        counts = self.counts(labels)
        return spread + self.transition_cost(counts, penalties) + penalties.state * len(counts)

    @staticmethod
    def transition_cost(counts: FloatArray, penalties: Penalties) -> float:
        """What transitions add to J."""
        used = counts > 0
        out = np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)
        logs = np.log(counts[used] / out[used])
        return float(-penalties.weight * (counts[used] @ logs) + penalties.transition * used.sum())


def compacted(labels: IntArray) -> IntArray:
    """States numbered 0, 1, 2, ... without gaps."""
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)


@kernel
def cheapest_path(costs, first, steps, labels):
    """The path of least total cost by dynamic programming: ``costs`` (step, state) and ``steps`` (state, state)."""
    n, k = costs.shape
    came = np.zeros((n, k), dtype=np.int32)
    value = np.zeros(k)
    after = np.zeros(k)
    for t in range(n):
        if first[t]:
            for b in range(k):
                value[b] = costs[t, b]
        else:
            for b in range(k):
                after[b] = np.inf
            for a in range(k):
                for b in range(k):
                    trial = value[a] + steps[a, b]
                    if trial < after[b]:
                        after[b] = trial
                        came[t, b] = a
            for b in range(k):
                value[b] = after[b] + costs[t, b]
        labels[t] = np.argmin(value)
    for back in range(1, n):
        t = n - 1 - back
        if not first[t + 1]:
            labels[t] = came[t + 1, labels[t + 1]]
