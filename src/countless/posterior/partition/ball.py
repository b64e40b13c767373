"""Credible balls around a partition: how far the posterior extends from the consensus, and what lies at the edge.

Wade and Ghahramani 2018, *Bayesian cluster analysis: point estimation and credible balls*, Bayesian Analysis 13,
section 3.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.validate import as_labels, by_first_appearance, by_size, choose
from .draws import FloatArray, IntArray
from .similarity import LOSSES, losses

# The losses that are metrics: a ball needs the triangle inequality.
METRICS = {name: LOSSES[name] for name in ("binder", "vi")}
# Equal distances may differ by rounding error.
_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class CredibleBall:
    """The smallest ball around a partition that holds a given share of the draws, and the partitions at its edge.

    Attributes
    ----------
    center : array of int (row,)
    radius : float
        At least a share ``level`` of the draws is at most this far from the centre.
    level : float
    distances : array (draw,)
        Distance of each draw from the centre.
    vertical_upper : array of int (partition, row)
        Of the draws in the ball with the fewest clusters, those farthest from the centre.
    vertical_lower : array of int (partition, row)
        Of the draws in the ball with the most clusters, those farthest from the centre.
    horizontal : array of int (partition, row)
        Draws in the ball that are farthest from the centre.
    loss : {"vi", "binder"}
        The distance: variation of information in nats, or Binder's loss.

    Each bound lists all distinct draws that attain it; labels are numbered by first appearance.

    References
    ----------
    Wade and Ghahramani 2018, *Bayesian cluster analysis: point estimation and credible balls*, Bayesian Analysis 13,
    559-626, section 3.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> ball = model.posterior_.credible_ball(0.9)
    >>> ball.center.tolist(), bool(ball.probability >= 0.9)
    ([0, 0, 0, 1, 1, 1], True)
    >>> ball.vertical_upper.shape[1], ball.contains([0, 0, 0, 1, 1, 1])
    (6, True)
    """

    center: IntArray
    radius: float
    level: float
    distances: FloatArray
    vertical_upper: IntArray
    vertical_lower: IntArray
    horizontal: IntArray
    loss: str = "vi"

    @property
    def probability(self) -> float:
        """Share of the draws in the ball: at least ``level``."""
        return float(np.mean(self.distances <= self.radius + _SLACK))

    def contains(self, labels: Any) -> bool:
        """Whether a partition of the rows is in the ball."""
        other = as_labels(labels, n_rows=len(self.center))
        return bool(losses(self.center[None], other[None], METRICS[self.loss])[0, 0] <= self.radius + _SLACK)


def credible_ball(draws: NDArray[Any], center: Any, level: float = 0.95, loss: str = "vi") -> CredibleBall:
    """The credible ball of ``level`` around ``center``, from draws (draw, row).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.posterior.partition.ball import credible_ball
    >>> draws = np.array([[0, 0, 0, 1]] * 8 + [[0, 0, 1, 1], [0, 1, 2, 3]])
    >>> ball = credible_ball(draws, draws[0], 0.9)
    >>> round(ball.radius, 3), ball.horizontal.tolist(), ball.vertical_lower.tolist()
    (0.824, [[0, 0, 1, 1], [0, 1, 2, 3]], [[0, 1, 2, 3]])
    """
    metric = choose("loss", loss, METRICS)
    if isinstance(level, bool) or not isinstance(level, numbers.Real) or not 0.0 < level <= 1.0:
        raise ValueError(f"level must be a number above 0 and at most 1, got {level!r}")
    middle = by_size(as_labels(center, n_rows=draws.shape[1]))
    distances = losses(middle[None], draws, metric)[0]
    needed = int(np.ceil(level * len(draws) - 1e-9))
    radius = float(np.partition(distances, needed - 1)[needed - 1])
    inside = np.flatnonzero(distances <= radius + _SLACK)
    n_clusters = draws[inside].max(axis=1)

    def farthest(those: IntArray) -> IntArray:
        edge = distances[those].max() - _SLACK
        found = np.array([by_first_appearance(draw) for draw in draws[those[distances[those] >= edge]]])
        return np.unique(found, axis=0)

    return CredibleBall(
        middle,
        radius,
        float(level),
        distances,
        farthest(inside[n_clusters == n_clusters.min()]),
        farthest(inside[n_clusters == n_clusters.max()]),
        farthest(inside),
        loss,
    )
