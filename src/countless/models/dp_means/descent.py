"""Steps that lower J by more than passes can: single rows exchanged, pairs joined, clusters halved; and all in turn.

Each step is taken only where it lowers J. Where the number of clusters is fixed, one cluster is halved and two others
are joined at the same time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .assignment import Centres
from .clustering import MARGIN, HardClustering
from .divergences import FloatArray, IntArray
from .moves import agglomerate, bisect, exchange
from .settle import Opening, settle

# Rows times clusters up to which single rows are exchanged, and the most sweeps over them.
EXCHANGE_LIMIT, EXCHANGE_SWEEPS = 100_000, 20
# Rows on which halves are sought, and rounds of two means. What such a sample saves, carried over to the whole cluster,
# is within a few per cent: where it is below this share of what is needed, the halves are not tried on all rows.
HALVED_ROWS, HALVING_ROUNDS, HOPELESS = 2000, 10, 0.8


class Halves(NamedTuple):
    """A cluster in two: what that saves, without the penalty, the sums of both halves, and the rows of the second."""

    saved: float
    cluster: int
    pair: FloatArray
    second: IntArray


class Joins(NamedTuple):
    """Joins of the cheapest pairs: where each cluster ends, the cost of each join, and the sums after them."""

    parent: IntArray
    heights: FloatArray
    sums: FloatArray


def descend(
    clustering: HardClustering, rng: np.random.Generator, max_iter: int, tol: float, opening: Opening = True
) -> None:
    """All steps in turn until none lowers J."""
    objective = clustering.objective
    while clustering.n_iter < max_iter:
        settle(clustering, max_iter - clustering.n_iter, tol, False if objective.fixed else opening)
        changed = exchange_rows(clustering, rng)
        if objective.fixed:
            changed |= swap(clustering, rng)
        else:
            changed |= join(clustering, objective.penalty * (1 - MARGIN), 1)
            if objective.splits:
                changed |= split(clustering, rng)
        if not changed:
            break


def exchange_rows(clustering: HardClustering, rng: np.random.Generator) -> bool:
    """Move single rows until none lowers J; returns whether J fell."""
    data, objective = clustering.data, clustering.objective
    price = objective.price(data.total)
    before = clustering.value()
    for _ in range(EXCHANGE_SWEEPS):
        n_clusters = clustering.n_clusters
        if len(data) * n_clusters > EXCHANGE_LIMIT:
            break
        spare = 0 if objective.fixed else min(len(data), n_clusters + 16)
        sums = np.concatenate([clustering.sums, np.zeros((spare, data.measure.width))])
        order = rng.permutation(len(data))
        used, moved = exchange(
            data.measure.divergence, data.rows, data.weights, clustering.labels, sums, n_clusters, price, order
        )
        clustering.sums = sums[:used]
        clustering.close(clustering.sums[:, -1] > 0.5)
        clustering.n_iter += 1
        if moved == 0:
            break
        clustering.recount()
        clustering.note()
    return clustering.value() < before - MARGIN * abs(before)


def joins(clustering: HardClustering, limit: float, target: int) -> Joins:
    """Join the cheapest pairs while they cost less than ``limit`` and more than ``target`` clusters are left.

    The clustering is not changed.
    """
    sums = clustering.sums.copy()
    parent, heights = np.zeros(len(sums), dtype=np.int64), np.zeros(len(sums))
    price = clustering.objective.price(clustering.data.total)
    n_joins = agglomerate(clustering.data.measure.divergence, sums, price, float(limit), target, parent, heights)
    return Joins(parent, heights[:n_joins], sums)


def join(clustering: HardClustering, limit: float, target: int) -> bool:
    """Make these joins; returns whether there are any."""
    parent, heights, sums = joins(clustering, limit, target)
    if len(heights) == 0:
        return False
    before = clustering.count_cost(clustering.sums[:, 0])
    roots = np.unique(parent)
    clustering.labels[:] = np.searchsorted(roots, parent)[clustering.labels]
    clustering.sums = np.ascontiguousarray(sums[roots])
    clustering.within += float(heights.sum()) + before - clustering.count_cost(clustering.sums[:, 0])
    clustering.note()
    return True


def halves(clustering: HardClustering, rng: np.random.Generator, worth: float, tries: int = 2) -> list[Halves]:
    """The best halves found of each cluster, largest saving first.

    Clusters whose halves are certain to save less than ``worth`` are left out.
    """
    n_clusters = clustering.n_clusters
    # Few distinct labels: as small integers they are sorted by counting.
    labels = clustering.labels.astype(np.int16) if n_clusters < 2**15 else clustering.labels
    order = np.argsort(labels, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=n_clusters))])
    found = []
    for k in range(n_clusters):
        members = order[bounds[k] : bounds[k + 1]]
        best = max((_halve(clustering, k, members, rng, worth) for _ in range(tries)), key=lambda half: half.saved)
        if best.saved > 0:
            found.append(best)
    return sorted(found, key=lambda half: (-half.saved, half.cluster))


def _halve(clustering: HardClustering, k: int, members: IntArray, rng: np.random.Generator, worth: float) -> Halves:
    """Halves of cluster k from random seeds, first of a sample of its rows; they save 0 where there are none."""
    data, measure = clustering.data, clustering.data.measure
    pair = np.zeros((2, measure.width))
    none = Halves(0.0, k, pair, members[:0])
    if len(members) < 2:
        return none
    sampled = len(members) > HALVED_ROWS
    part = data.take(np.sort(rng.choice(members, HALVED_ROWS, replace=False)) if sampled else members)
    side = np.zeros(len(part), dtype=np.int64)
    saved = bisect(measure.divergence, rng, part.rows, part.weights, HALVING_ROUNDS, side, pair)
    if saved == 0.0:
        return none
    if sampled:
        carried_over = saved * clustering.sums[k, 0] / part.total
        if carried_over < HOPELESS * worth and clustering.objective.count_weight == 0.0:
            return none
        side = np.full(len(members), -1, dtype=np.int64)
        pair = data.take(members).assign(Centres(pair / pair[:, :1], np.zeros(2), np.zeros(2), 0), side).change
        if (pair[:, -1] < 0.5).any():
            return none
    return Halves(clustering.saving(k, pair), k, pair, members[side == 1])


def split(clustering: HardClustering, rng: np.random.Generator) -> bool:
    """Halve every cluster whose halves lower J; returns whether there is one."""
    penalty = clustering.objective.penalty
    done = [clustering.divide(k, pair, second, penalty) for _, k, pair, second in halves(clustering, rng, penalty)]
    clustering.note()
    return any(done)


def swap(clustering: HardClustering, rng: np.random.Generator) -> bool:
    """Halve one cluster and join two others if that lowers J; returns whether it was done."""
    n = clustering.n_clusters
    if n < 3:
        return False
    parent, heights, _ = joins(clustering, np.inf, n - 1)
    taken = int(np.flatnonzero(parent != np.arange(n))[0])
    a, b = sorted((taken, int(parent[taken])))
    needed = heights[0] * (1 + MARGIN) + MARGIN * abs(clustering.value())
    for saved, k, pair, second in halves(clustering, rng, heights[0]):
        if k not in (a, b) and saved > needed:
            clustering.divide(k, pair, second, -np.inf)
            clustering.within += clustering.data.measure.union_cost(clustering.sums[[a, b]])
            # The new cluster, number n, takes the place of b.
            clustering.sums[a] += clustering.sums[b]
            clustering.sums[b] = clustering.sums[n]
            clustering.sums = np.ascontiguousarray(clustering.sums[:n])
            clustering.labels[clustering.labels == b] = a
            clustering.labels[clustering.labels == n] = b
            clustering.note()
            return True
    return False


def detachments(clustering: HardClustering) -> list[float]:
    """What it saves, without the penalty, to make the farthest row of each cluster a cluster of its own."""
    return [
        clustering.saving(k, clustering.without(k, i))
        for k, i in enumerate(clustering.own_pass().far_row)
        if clustering.sums[k, -1] > 1.5
    ]
