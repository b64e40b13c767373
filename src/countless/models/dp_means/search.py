"""The search for the least J: restarts from different places, for a given or suggested penalty or a number of clusters.

Large tables are searched on a sample first; the search of all rows then starts from the centres found. References:
Kulis and Jordan 2012; Raykov et al. 2016, section 4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core.random import spawn
from .clustering import MARGIN, HardClustering, Objective
from .descent import descend, join
from .penalty import middle, penalty_window, suggest_penalty
from .rows import WeightedRows
from .settle import settle

# Rows that restarts run on; of a larger table they see a sample.
SAMPLE = 20_000
# Most clusters that joins start from: beyond, seeds with their nearest rows take the place of single rows.
MICRO = 400


class Solution(NamedTuple):
    """A clustering with the penalty and the weight of the counts under which it was found."""

    clustering: HardClustering
    penalty: float
    count_weight: float


def solve(
    data: WeightedRows,
    rng: np.random.Generator,
    penalty: float | None = None,
    n_clusters: int | None = None,
    count_weight: float | None = 0.0,
    splits: bool = True,
    restarts: int = 4,
    max_iter: int = 300,
    tol: float = 1e-6,
) -> Solution:
    """Search for a given penalty, one that the data suggest, or a given number of clusters.

    ``count_weight`` None stands for the weight that makes J a likelihood: 1 for a family, whose divergences are
    differences of log densities; for squared distance 2 s², where s² is the mean square per column within the clusters
    that are found without counts.
    """
    if penalty is None and n_clusters is None:
        penalty = suggest_penalty(data, rng, splits)
    objective = Objective(penalty or 0.0, count_weight or 0.0, n_clusters, splits)
    if count_weight is None:
        objective = replace(objective, count_weight=1.0)
        if data.measure.family is None:
            uncounted = search(data, replace(objective, count_weight=0.0), rng, restarts, max_iter, tol)
            objective = replace(objective, count_weight=2 * uncounted.within / (data.total * data.measure.n_columns))
    found = search(data, objective, rng, restarts, max_iter, tol)
    if n_clusters is not None:
        penalty = middle(penalty_window(found, rng))
        # The number did not change on the way, so that the penalty only shifts J.
        found.trace = [value + penalty * n_clusters for value in found.trace]
        found.objective = replace(objective, penalty=penalty)
    assert penalty is not None
    return Solution(found, penalty, objective.count_weight)


def search(
    data: WeightedRows,
    objective: Objective,
    rng: np.random.Generator,
    restarts: int,
    max_iter: int = 300,
    tol: float = 1e-6,
) -> HardClustering:
    """The clustering of least J over restarts from different places, on all rows."""
    arena = data
    if len(data) > SAMPLE:
        index = np.sort(rng.choice(len(data), SAMPLE, replace=False))
        # Halves and joins are weighed by all rows that they stand for; a single far row only stands for itself.
        stands_for = data.total / float(data.weights[index].sum())
        arena = data.take(index, stands_for if objective.splits or objective.fixed else 1.0)
    share = data.total / arena.total

    def value(clustering: HardClustering) -> float:
        """J as it will be on all rows."""
        return clustering.value() + (share - 1.0) * (clustering.value() - objective.penalty * clustering.n_clusters)

    best: HardClustering | None = None
    for number, stream in enumerate(spawn(rng, restarts)):
        clustering = _start(arena, objective, number, best, stream)
        descend(clustering, stream, max_iter, tol, True if number == 0 or objective.splits else stream)
        clustering.recount()
        if best is None or value(clustering) < value(best) - MARGIN * abs(value(best)):
            best = clustering
    assert best is not None
    if arena is not data:
        best = HardClustering.of_sums(data, objective, best.sums)
        descend(best, rng, max_iter, tol)
        best.recount()
    best.note()
    return best


def _start(
    data: WeightedRows, objective: Objective, number: int, best: HardClustering | None, rng: np.random.Generator
) -> HardClustering:
    """Where restart ``number`` begins; later ones vary the number of clusters around that of the best so far."""
    if not objective.fixed and (number == 1 or not objective.splits):
        return HardClustering.of_labels(data, objective, np.zeros(len(data), dtype=np.int64))
    if number == 0:
        return _from_joins(data, objective, rng)
    n_seeds = objective.n_clusters or round((best.n_clusters if best else 1) * rng.uniform(0.6, 1.5))
    return HardClustering.of_seeds(data, objective, min(max(n_seeds, 1), len(data)), rng)


def _from_joins(data: WeightedRows, objective: Objective, rng: np.random.Generator) -> HardClustering:
    """Joined from single rows, or from many small clusters, until J would rise or the number is reached."""
    n_micro = max(MICRO, 2 * (objective.n_clusters or 0))
    if len(data) <= n_micro:
        clustering = HardClustering.of_labels(data, objective, np.arange(len(data)))
    else:
        clustering = HardClustering.of_seeds(data, Objective(0.0, objective.count_weight), n_micro, rng)
        settle(clustering, 2, 0.0)
        clustering.objective = objective
    clustering.trace.clear()
    join(clustering, np.inf if objective.fixed else objective.penalty * (1 - MARGIN), objective.n_clusters or 1)
    return clustering
