"""The solution with the least expected loss of two similarities: how many attributes a pair shares, and clusters.

For draws with a_ij attributes that objects i and j share, in b_ij of which they are in one cluster, the loss of a
solution with A and B is the sum over pairs of (A - a)^2 + (B - b)^2; its expectation is least where A and B are
nearest to the posterior means. Neither the names of attributes and clusters nor their number matter, so that draws of
any kind can be averaged (the pairwise loss of Dahl, Johnson & Andros 2023, with clusters besides).
"""

from __future__ import annotations

import numpy as np

from ....core.jit import kernel
from ..kernels.blocks import FloatArray, IntArray

# Draws from which searches begin, and from which whole attributes are tried.
BEGINNINGS, POOL = 8, 60
MOST_ROUNDS = 50
LEAST_GAIN = 1e-9


@kernel
def add_similarity(labels, share, shared, together):
    """Add ``share`` for all pairs of objects that have an attribute, and for those in one cluster of it."""
    n = labels.size
    for i in range(n):
        if labels[i] >= 0:
            for j in range(n):
                if labels[j] >= 0:
                    shared[i, j] += share
                    if labels[i] == labels[j]:
                        together[i, j] += share


@kernel
def improve(labels, shared, together):
    """Visit every object and attribute: leave it out or put it into the cluster where the loss is least.

    ``shared`` and ``together`` are those of the solution less their means. Returns the number of changes.
    """
    n_attributes, n = labels.shape
    changes = 0
    costs = np.empty(n + 1)
    for m in range(n_attributes):
        for i in range(n):
            old = labels[m, i]
            if old >= 0:
                move(labels[m], i, old, -1.0, shared, together)
                labels[m, i] = -1
            # The number of a cluster is below that of the objects, so that one is always free.
            costs[:] = np.inf
            base = 0.0
            for j in range(n):
                d = labels[m, j]
                if d >= 0:
                    base += 2.0 * shared[i, j] + 1.0
                    if costs[d] == np.inf:
                        costs[d] = 0.0
                    costs[d] += 2.0 * together[i, j] + 1.0
            stays = 0.0
            if old >= 0:
                stays = base if costs[old] == np.inf else base + costs[old]
            best, least, free = old, stays - 1e-12, False
            if least > 0.0:
                best, least = -1, 0.0
            for c in range(n):
                if costs[c] == np.inf and free:
                    continue
                cost = base if costs[c] == np.inf else base + costs[c]
                free = free or costs[c] == np.inf
                if cost < least - 1e-12:
                    best, least = c, cost
            if best >= 0:
                labels[m, i] = best
                move(labels[m], i, best, 1.0, shared, together)
            changes += best != old
    return changes


@kernel
def move(labels, i, c, sign, shared, together):
    """Add or take away an object of an attribute with its pairs."""
    for j in range(labels.size):
        if labels[j] >= 0 and j != i:
            shared[i, j] += sign
            shared[j, i] += sign
            if labels[j] == c:
                together[i, j] += sign
                together[j, i] += sign


def similarities(solutions: list[IntArray], n_objects: int) -> tuple[FloatArray, FloatArray]:
    """Means over solutions of the attributes and of the clusters that pairs share; the diagonal is 0."""
    shared, together = np.zeros((n_objects, n_objects)), np.zeros((n_objects, n_objects))
    for labels in solutions:
        for line in labels:
            if np.count_nonzero(line >= 0) > 1:
                add_similarity(line, 1.0 / len(solutions), shared, together)
    np.fill_diagonal(shared, 0.0)
    np.fill_diagonal(together, 0.0)
    return shared, together


def least_expected_loss(solutions: list[IntArray]) -> IntArray:
    """Labels (attribute, object), -1 for absence, found by search from the best draws and from none.

    Parameters
    ----------
    solutions : list of arrays (attribute, object)
        Draws, each with any number of attributes.
    """
    n = solutions[0].shape[1]
    means = similarities(solutions, n)
    losses = np.array([expected_loss(labels, means) for labels in solutions])
    order = np.argsort(losses, kind="stable")
    pool = _pool([solutions[at] for at in order[np.linspace(0, len(order) - 1, min(POOL, len(order))).astype(int)]])
    begin = [np.empty((0, n), dtype=np.int64), *(solutions[at] for at in order[:BEGINNINGS])]
    found = [_search(labels, means, pool) for labels in begin]
    return min(found, key=lambda each: expected_loss(each, means))


def expected_loss(labels: IntArray, means: tuple[FloatArray, FloatArray]) -> float:
    """Expected loss of a solution less what no solution can avoid."""
    shared, together = _excess(labels, means)
    return 0.5 * float((shared**2).sum() + (together**2).sum())


def _excess(labels: IntArray, means: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    n = labels.shape[1]
    shared, together = similarities([labels], n) if len(labels) else (np.zeros((n, n)), np.zeros((n, n)))
    return shared - means[0], together - means[1]


def _pool(solutions: list[IntArray]) -> list[IntArray]:
    """Different attributes of some draws."""
    found = {line.tobytes(): line for labels in solutions for line in labels if np.count_nonzero(line >= 0) > 1}
    return list(found.values())


def _search(labels: IntArray, means: tuple[FloatArray, FloatArray], pool: list[IntArray]) -> IntArray:
    """Change objects, drop attributes and add some of the pool, until nothing helps."""
    labels = np.ascontiguousarray(labels, dtype=np.int64).copy()
    for _ in range(MOST_ROUNDS):
        excess = _excess(labels, means)
        for _ in range(MOST_ROUNDS):
            if not len(labels) or not improve(labels, *excess):
                break
        labels = labels[(labels >= 0).sum(axis=1) > 1]
        best, value = None, expected_loss(labels, means) - LEAST_GAIN
        excess = _excess(labels, means)
        for number in range(len(labels)):
            trial = np.delete(labels, number, axis=0)
            loss = expected_loss(trial, means)
            if loss < value:
                best, value = trial, loss
        for line in pool:
            gain = _gain(line, excess)
            if expected_loss(labels, means) + gain < value:
                best, value = np.vstack([labels, line[None]]), expected_loss(labels, means) + gain
        if best is None:
            return labels
        labels = np.ascontiguousarray(best)
    return labels


def _gain(line: IntArray, excess: tuple[FloatArray, FloatArray]) -> float:
    """What the loss gains by one attribute more."""
    inside = np.flatnonzero(line >= 0)
    square = np.ix_(inside, inside)
    off = ~np.eye(len(inside), dtype=np.bool_)
    same = (line[inside][:, None] == line[inside]) & off
    return 0.5 * float((2.0 * excess[0][square] + 1.0)[off].sum() + (2.0 * excess[1][square] + 1.0)[same].sum())
