"""Passes over all rows until nothing moves: rows go to their best centre, then centres move to the means of their rows.

The mean is the best centre for any Bregman divergence, so that J never rises. On the way far rows may open clusters.
"""

from __future__ import annotations

import numpy as np

from .assignment import Centres
from .clustering import HardClustering
from .divergences import FloatArray, IntArray
from .rows import count_offsets

# Who may open clusters: nobody (False), the farthest rows (True), or rows drawn with this generator by their excess.
Opening = np.random.Generator | bool


def settle(clustering: HardClustering, max_iter: int, tol: float, opening: Opening = False) -> None:
    """Pass over the rows until none moves, or J falls by no more than ``tol`` times itself."""
    data, measure, objective = clustering.data, clustering.data.measure, clustering.objective
    labels = clustering.labels
    lower, slack, opened = np.zeros(len(data)), np.zeros(clustering.n_clusters), 0
    first = bool(labels[0] < 0)
    # Counts starve small clusters; where their number is fixed, a pass that empties one is taken back.
    careful = objective.fixed and objective.count_weight > 0.0
    means = clustering.means()
    for _ in range(max_iter):
        before = clustering.value()
        # Seeds have no counts yet.
        offsets = count_offsets(clustering.sums, 0.0 if first else objective.count_weight)
        former_labels = labels.copy() if careful and not first else labels
        done = data.assign(Centres(means, offsets, slack, opened), labels, lower)
        clustering.n_iter += 1
        sums = done.change if first else clustering.sums + done.change
        kept = sums[:, -1] > 0.5
        if former_labels is not labels and not kept.all():
            labels[:] = former_labels
            break
        clustering.sums = sums
        far, far_row = done.far, done.far_row
        if not kept.all():
            clustering.close(kept)
            far, far_row, means = far[kept], far_row[kept], means[kept]
        n_former = clustering.n_clusters
        clustering.within = done.cost - float(measure.drifts(clustering.means(), means) @ clustering.sums[:, 0])
        opened = _refill(clustering, far, far_row) if opening is False else _open(clustering, far, far_row, opening)
        # The bound of a row that opened a cluster leaves out the centre that it came from.
        lower[far_row[labels[far_row] >= n_former]] = 0.0
        former, means = means, clustering.means()
        drift = np.zeros(clustering.n_clusters)
        drift[:n_former] = measure.drifts(means[:n_former], former)
        slack = _slack(np.sqrt(np.maximum(drift, 0.0)))
        clustering.note()
        fall = before - clustering.trace[-1]
        if not opened and (done.moved == 0 or (not first and fall <= tol * abs(before))):
            break
        first = False


def _open(clustering: HardClustering, far: FloatArray, far_row: IntArray, opening: Opening) -> int:
    """Rows that lie farther than the penalty open clusters, at most one for every four clusters at a time."""
    penalty = clustering.objective.penalty
    excess = np.maximum(far - penalty, 0.0)
    excess[clustering.sums[:, -1] < 1.5] = 0.0
    n_candidates = min(int(np.count_nonzero(excess)), max(1, clustering.n_clusters // 4))
    if n_candidates == 0:
        return 0
    if isinstance(opening, np.random.Generator):
        chosen = opening.choice(len(far), n_candidates, replace=False, p=excess / excess.sum())
    else:
        chosen = np.argsort(-excess, kind="stable")[:n_candidates]
    return sum(_detach(clustering, int(k), int(far_row[k]), penalty) for k in chosen)


def _refill(clustering: HardClustering, far: FloatArray, far_row: IntArray) -> int:
    """Where the number is fixed, far rows open clusters in the place of those that lost all their rows."""
    missing = (clustering.objective.n_clusters or 0) - clustering.n_clusters
    if missing <= 0:
        return 0
    order = np.argsort(-np.where(clustering.sums[:, -1] > 1.5, far, -1.0), kind="stable")[:missing]
    opened = sum(_detach(clustering, int(k), int(far_row[k]), -np.inf) for k in order)
    if not 0 < opened < missing:
        return opened
    again = clustering.own_pass()
    return opened + _refill(clustering, again.far, again.far_row)


def _detach(clustering: HardClustering, k: int, i: int, worth: float) -> bool:
    """Make row i of cluster k a cluster of its own if that saves more than ``worth``."""
    if clustering.sums[k, -1] < 1.5 or clustering.labels[i] != k:
        return False
    return clustering.divide(k, clustering.without(k, i), np.array([i]), worth)


def _slack(shift: FloatArray) -> FloatArray:
    """How much nearer another centre may have come to the rows of each cluster: the largest shift of another."""
    slack = np.full(len(shift), shift.max())
    k = int(np.argmax(shift))
    slack[k] = np.delete(shift, k).max(initial=0.0)
    return slack
