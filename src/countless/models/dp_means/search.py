"""The search for DP-means: restarts, and the penalty that the data suggest or that fits a number of clusters.

Large tables are searched on a sample first; the whole table then starts from the centres found. References: Kulis and
Jordan 2012; Raykov et al. 2016, section 4 and app. D.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core.random import spawn
from .divergences import FloatArray, IntArray, Measure
from .moves import scatter_seeds
from .partition import MARGIN, Objective, Partition, Table

# Rows that restarts run on; a larger table is sampled.
SAMPLE = 20_000
# Clusters from which joins start; above, seeds with their nearest rows take the place of single rows.
MICRO = 400


def _from_seeds(table: Table, aim: Objective, n_seeds: int, rng: np.random.Generator) -> Partition:
    """Scattered rows as centres, all rows yet to be given to them."""
    seeds, nearest = np.zeros(n_seeds, dtype=np.int64), np.zeros(len(table.rows))
    measure = table.measure
    found = scatter_seeds(measure.hyper, table.rows, table.weights, measure.n_statistics, seeds, nearest, rng)
    sums = np.stack([table.single(i) for i in seeds[:found]])
    return Partition(table, aim, np.full(len(table.rows), -1, dtype=np.int64), sums)


def _from_labels(table: Table, aim: Objective, labels: IntArray) -> Partition:
    part = Partition(table, aim, labels, np.zeros((int(labels.max()) + 1, table.measure.width)))
    part.recount()
    part.note()
    return part


def _from_joins(table: Table, aim: Objective, rng: np.random.Generator) -> Partition:
    """Joined from single rows, or from many small clusters, until J would rise or the number is reached."""
    n_micro = max(MICRO, 2 * (aim.n_clusters or 0))
    if len(table.rows) <= n_micro:
        part = _from_labels(table, aim, np.arange(len(table.rows)))
    else:
        part = _from_seeds(table, Objective(0.0, aim.count_weight), n_micro, rng)
        part.settle(2, 0.0)
        part.aim = aim
    part.trace.clear()
    part.join(np.inf if aim.fixed else aim.penalty * (1 - MARGIN), aim.n_clusters or 1)
    return part


def _start(table: Table, aim: Objective, number: int, best: Partition | None, rng: np.random.Generator) -> Partition:
    """Where restart ``number`` begins; later ones vary the number of clusters around that of the best so far."""
    if not aim.fixed and (number == 1 or not aim.splits):
        return _from_labels(table, aim, np.zeros(len(table.rows), dtype=np.int64))
    if number == 0:
        return _from_joins(table, aim, rng)
    n_seeds = aim.n_clusters or round((best.n_clusters if best else 1) * rng.uniform(0.6, 1.5))
    return _from_seeds(table, aim, min(max(n_seeds, 1), len(table.rows)), rng)


def search(
    table: Table, aim: Objective, rng: np.random.Generator, restarts: int, max_iter: int = 300, tol: float = 1e-6
) -> Partition:
    """The partition of least J over restarts from different places, on all rows."""
    arena, n = table, len(table.rows)
    if n > SAMPLE:
        index = np.sort(rng.choice(n, SAMPLE, replace=False))
        # Halves and joins are weighed by all rows they stand for; a single far row only stands for itself.
        stands_for = table.total / float(table.weights[index].sum())
        arena = table.take(index, stands_for if aim.splits or aim.fixed else 1.0)
    share = table.total / arena.total

    def value(part: Partition) -> float:
        """J as it will be on all rows."""
        return part.value() + (share - 1.0) * (part.value() - aim.penalty * part.n_clusters)

    best: Partition | None = None
    for number, stream in enumerate(spawn(rng, restarts)):
        part = _start(arena, aim, number, best, stream)
        part.descend(stream, max_iter, tol, True if number == 0 or aim.splits else stream)
        part.recount()
        if best is None or value(part) < value(best) - MARGIN * abs(value(best)):
            best = part
    assert best is not None
    if arena is not table:
        best = Partition(table, aim, np.full(n, -1, dtype=np.int64), best.sums)
        best.descend(rng, max_iter, tol)
        best.recount()
    best.note()
    return best


def penalty_window(part: Partition, rng: np.random.Generator) -> tuple[float, float]:
    """Penalties for which neither halving a cluster nor joining a pair lowers J: what the best halves found save, and
    what the cheapest pair costs (infinite where there is one cluster). Raykov et al. search this by bisection (app. D),
    which finds nothing where another run of DP-means jumps over the number."""
    upper = part.tree(np.inf, part.n_clusters - 1)[1]
    found = [halves.saved for halves in part.halves(rng, 0.0, tries=3)] if part.aim.splits else part.detachments()
    return max(found, default=0.0), (float(upper[0]) if len(upper) else np.inf)


def middle(window: tuple[float, float]) -> float:
    """A penalty within the window, midway on a logarithmic scale."""
    low, high = window
    if np.isinf(high):
        return 2 * low if low > 0 else 1.0
    # Kept counts can favour a join at any penalty; then there is no logarithm.
    return float(np.sqrt(low * high)) if min(low, high) > 0 else (low + high) / 2 or 1.0


# Rows that the suggestion of a penalty looks at, reference tables, the largest number it considers, and how much wider
# than that of one cluster's rows the window must be.
LOOK, REFERENCES, MOST, WIDER = 500, 4, 50, 1.5


def suggest_penalty(table: Table, rng: np.random.Generator, splits: bool = True) -> float:
    """A penalty from the data: the middle of the widest window.

    A sample is joined pair by pair. Each number of clusters is right for the penalties between the cost of the join
    before it and after it; the number whose window is widest, on a logarithmic scale and compared with the windows of
    rows drawn from one cluster, is the one that depends least on the penalty. Where no window is 1.5 times as wide as
    that of one cluster's rows, the penalty is put just above what halving everything would save. Where clusters only
    open at single far rows the penalty is twice the largest divergence of a row from the centre of its cluster.
    """
    index = np.sort(rng.choice(len(table.rows), min(LOOK, len(table.rows)), replace=False))
    part = table.take(index, table.total / float(table.weights[index].sum()))
    heights = _heights(part)
    if len(heights) == 0:
        return 1.0
    widths = _log_windows(heights)
    reference = [_log_windows(_heights(_one_cluster(part, stream))) for stream in spawn(rng, REFERENCES)]
    wider = widths - np.mean(reference, axis=0)
    n_clusters = 2 + int(np.argmax(wider)) if wider.max(initial=0.0) > np.log(WIDER) else 1
    if not splits:
        chosen = _from_labels(part, Objective(), np.arange(len(part.rows)))
        chosen.join(np.inf, n_clusters)
        return 2 * float(chosen.farthest()[0].max()) * float(table.weights[index].sum()) / table.total or 1.0
    high = heights[-(n_clusters - 1)] if n_clusters > 1 else np.inf
    return middle((float(heights[-n_clusters]), float(high)))


def _heights(table: Table) -> FloatArray:
    """What each join costs, from single rows to one cluster."""
    singles = _from_labels(table, Objective(), np.arange(len(table.rows)))
    return np.maximum.accumulate(singles.tree(np.inf, 1)[1])


def _log_windows(heights: FloatArray) -> FloatArray:
    """Width of the window of 2, 3, ... clusters."""
    tops = np.log(np.maximum(heights[::-1], 1e-12 * heights[-1] + 1e-300))[: max(1, min(MOST, len(heights) // 3))]
    return tops[:-1] - tops[1:]


def _one_cluster(table: Table, rng: np.random.Generator) -> Table:
    """As many rows, drawn from one cluster: of the family, or Gaussian with the covariance of the rows."""
    measure, rows = table.measure, table.rows
    if measure.family is None:
        centred = rows - rows.mean(axis=0)
        drawn = rng.standard_normal((len(rows), len(rows))) @ centred / np.sqrt(len(rows))
    else:
        drawn = measure.local(measure.family.sample(len(rows), rng, X=measure.restored(rows)))
    return Table(measure, np.ascontiguousarray(drawn), table.weights)


# Rows up to which equal ones are counted as one with more weight.
COLLAPSE = 5000


def distinct_rows(
    measure: Measure, rows: FloatArray, weights: FloatArray, n_clusters: int | None = None
) -> tuple[Table, IntArray]:
    """The table to search, small ones with equal rows taken together, and where each row of the user's stands in it.

    Raises where more clusters are asked for than there are different rows.
    """
    first = np.unique(rows[:COLLAPSE], axis=0)
    if n_clusters is not None and n_clusters > len(first):
        n_distinct = len(first if len(rows) <= COLLAPSE else np.unique(rows, axis=0))
        if n_clusters > n_distinct:
            raise ValueError(
                f"n_clusters is {n_clusters}, but X has {n_distinct} different rows (of positive weight); "
                f"ask for at most {n_distinct}"
            )
    if len(rows) > COLLAPSE:
        return Table(measure, measure.local(rows), weights), np.arange(len(rows))
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    place = place.reshape(-1)
    return Table(measure, measure.local(distinct), np.bincount(place, weights).astype(np.float64)), place


class Solution(NamedTuple):
    """A partition with the penalty and the weight of the counts under which it was found."""

    partition: Partition
    penalty: float
    count_weight: float


def solve(
    table: Table,
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
    differences of log densities, and for squared distance 2 s^2, s^2 the mean square per column within the clusters
    that are found without counts.
    """
    if penalty is None and n_clusters is None:
        penalty = suggest_penalty(table, rng, splits)
    aim = Objective(penalty or 0.0, count_weight or 0.0, n_clusters, splits)
    if count_weight is None:
        aim = replace(aim, count_weight=1.0)
        if table.measure.family is None:
            plain = search(table, replace(aim, count_weight=0.0), rng, restarts, max_iter, tol)
            aim = replace(aim, count_weight=2 * plain.within / (table.total * table.measure.n_columns))
    found = search(table, aim, rng, restarts, max_iter, tol)
    if n_clusters is not None:
        penalty = middle(penalty_window(found, rng))
        # The number did not change on the way, so that the penalty only shifts J.
        found.trace = [value + penalty * n_clusters for value in found.trace]
        found.aim = replace(aim, penalty=penalty)
    assert penalty is not None
    return Solution(found, penalty, aim.count_weight)
