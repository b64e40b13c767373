"""Which penalty: the one that the data suggest, or one that fits a given number of clusters.

Reference: Raykov et al. 2016, app. D.
"""

from __future__ import annotations

import numpy as np

from ...core.random import spawn
from .clustering import HardClustering, Objective
from .descent import detachments, halves, join, joins
from .divergences import FloatArray
from .rows import WeightedRows

# For the suggested penalty: rows looked at, reference tables, the largest number of clusters considered, and how much
# wider than in the reference tables the window of a number of clusters must be.
LOOK, REFERENCES, MOST, WIDER = 500, 4, 50, 1.5


def penalty_window(clustering: HardClustering, rng: np.random.Generator) -> tuple[float, float]:
    """Penalties for which neither halving a cluster nor joining a pair lowers J.

    They lie between what the best halves found save and what the cheapest pair costs (infinite for one cluster). Raykov
    et al. find them by bisection, which fails where runs of DP-means jump over the number.
    """
    upper = joins(clustering, np.inf, clustering.n_clusters - 1).heights
    if clustering.objective.splits:
        found = [half.saved for half in halves(clustering, rng, 0.0, tries=3)]
    else:
        found = detachments(clustering)
    return max(found, default=0.0), (float(upper[0]) if len(upper) else np.inf)


def middle(window: tuple[float, float]) -> float:
    """A penalty within the window, midway on a logarithmic scale."""
    low, high = window
    if np.isinf(high):
        return 2 * low if low > 0 else 1.0
    # Kept counts can favour a join at any penalty; then there is no logarithm.
    return float(np.sqrt(low * high)) if min(low, high) > 0 else (low + high) / 2 or 1.0


def suggest_penalty(data: WeightedRows, rng: np.random.Generator, splits: bool = True) -> float:
    """A penalty from the data: the middle of the widest window.

    A sample is joined pair by pair. Each number of clusters is best for the penalties between the costs of the joins
    before and after it. The number that depends least on the penalty is the one whose window is widest, on a
    logarithmic scale and compared with windows of rows drawn from one cluster. Where no window is 1.5 times as wide as
    those, the penalty is just above what halving all rows would save. Where clusters open only at single far rows, the
    penalty is twice the largest divergence of a row from the centre of its cluster.
    """
    index = np.sort(rng.choice(len(data), min(LOOK, len(data)), replace=False))
    stands_for = data.total / float(data.weights[index].sum())
    sample = data.take(index, stands_for)
    heights = join_heights(sample)
    if len(heights) == 0:
        return 1.0
    widths = _log_windows(heights)
    reference = [_log_windows(join_heights(_one_cluster(sample, stream))) for stream in spawn(rng, REFERENCES)]
    wider = widths - np.mean(reference, axis=0)
    n_clusters = 2 + int(np.argmax(wider)) if wider.max(initial=0.0) > np.log(WIDER) else 1
    if not splits:
        clustering = HardClustering.of_labels(sample, Objective(), np.arange(len(sample)))
        join(clustering, np.inf, n_clusters)
        return 2 * float(clustering.own_pass().far.max()) / stands_for or 1.0
    high = heights[-(n_clusters - 1)] if n_clusters > 1 else np.inf
    return middle((float(heights[-n_clusters]), float(high)))


def join_heights(data: WeightedRows) -> FloatArray:
    """What each join costs, from single rows to one cluster; never falling."""
    singles = HardClustering.of_labels(data, Objective(), np.arange(len(data)))
    return np.maximum.accumulate(joins(singles, np.inf, 1).heights)


def _log_windows(heights: FloatArray) -> FloatArray:
    """Width of the window of 2, 3, ... clusters."""
    tops = np.log(np.maximum(heights[::-1], 1e-12 * heights[-1] + 1e-300))[: max(1, min(MOST, len(heights) // 3))]
    return tops[:-1] - tops[1:]


def _one_cluster(data: WeightedRows, rng: np.random.Generator) -> WeightedRows:
    """As many rows, drawn from one cluster: of the family, or Gaussian with the covariance of the rows."""
    measure, rows = data.measure, data.rows
    if measure.family is None:
        centred = rows - rows.mean(axis=0)
        drawn = rng.standard_normal((len(rows), len(rows))) @ centred / np.sqrt(len(rows))
    else:
        drawn = measure.local(measure.family.sample(len(rows), rng, X=measure.restored(rows)))
    return WeightedRows(measure, np.ascontiguousarray(drawn), data.weights)
