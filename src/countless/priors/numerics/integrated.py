"""A prior with its learned number integrated out, and that number drawn again given how many clusters there are.

Both by a grid on the line of the number. The sum over the grid is the trapezoidal rule, whose error is negligible for
smooth functions (Trefethen & Weideman 2014); the draw is exact, by rejection from the density that is linear between
the logs at the nodes (Devroye 1986, section VII.2, for piecewise exponential envelopes).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .ratios import FloatArray

if TYPE_CHECKING:
    from ..hyperpriors import Hyperprior
    from ..verbs import Prior

# Distance of nodes on the line, the probability that is left out at each end, and the most numbers of a grid.
STEP, TAIL, MOST_NUMBERS = 0.05, 1e-14, 3_000_000


class Integrated:
    r"""The table of a prior whose one learned number does not move the offset, so that it is in the table alone.

    .. math:: \bar V_n(t) = \int V_n(t \mid \alpha)\, p(\alpha)\, d\alpha

    Parameters
    ----------
    prior : Prior
        Resolved.
    name : str
        The learned field.
    law : Hyperprior
        Its law.
    n_rows, max_clusters : int
        As in ``Prior.table``.

    Attributes
    ----------
    offset : float
    log_v : array
        The logs of the integrals for t = 0 ... max_clusters + 1.
    """

    def __init__(self, prior: Prior, name: str, law: Hyperprior, n_rows: int, max_clusters: int) -> None:
        self._prior, self._name, self._law, self._n_rows = prior, name, law, n_rows
        self._points = grid_of(law)
        parts = [self._fixed(float(point)) for point in self._points]
        self.offset = parts[0].offset
        prior_logs = np.array([law.log_density_on_line(getattr(part, name)) for part in parts])
        self._logs: FloatArray = prior_logs[:, None] + [part.table(n_rows, max_clusters).log_v for part in parts]
        self.log_v: FloatArray = np.logaddexp.reduce(self._logs, axis=0) + math.log(STEP)
        self._envelopes: dict[int, tuple[FloatArray, float]] = {}

    def draw(self, rng: np.random.Generator, n_clusters: int) -> Prior:
        """The prior with its number drawn given the number of clusters: an independent draw, whatever it was before."""
        logs = self._logs[:, n_clusters]
        if n_clusters not in self._envelopes:
            self._envelopes[n_clusters] = _envelope(logs)
        masses, excess = self._envelopes[n_clusters]
        while True:
            cell = min(int(np.searchsorted(masses, rng.random() * masses[-1], side="right")), len(masses) - 1)
            slope = float(logs[cell + 1] - logs[cell])
            share = rng.random()
            at = share if abs(slope) < 1e-6 else math.log1p(share * math.expm1(slope)) / slope
            fixed = self._fixed(float(self._points[cell]) + STEP * at)
            height = fixed.log_v(self._n_rows, n_clusters) + self._law.log_density_on_line(getattr(fixed, self._name))
            if math.log(1.0 - rng.random()) < height - (float(logs[cell]) + slope * at) - excess:
                return fixed

    def _fixed(self, point: float) -> Prior:
        return self._prior._with_law(self._name, self._law.from_line(point))


def grid_of(law: Hyperprior) -> FloatArray:
    """Nodes on the line that cover a law."""
    low, high = (law.to_line(value) for value in law.quantiles(TAIL))
    return np.arange(max(2, math.ceil((high - low) / STEP) + 1), dtype=np.float64) * STEP + low


def _envelope(logs: FloatArray) -> tuple[FloatArray, float]:
    """Cumulative masses of the cells between nodes, and by how much the log density may exceed the line in a cell.

    That is at most an eighth of the second difference for a parabola; twice as much leaves room for the rest.
    """
    heights = logs - logs.max()
    slopes = np.diff(heights)
    level = np.abs(slopes) < 1e-6
    means = np.exp(heights[:-1]) * np.where(level, 1.0, np.expm1(slopes) / np.where(level, 1.0, slopes))
    bends = heights[:-2] - 2.0 * heights[1:-1] + heights[2:]
    return np.cumsum(means), float(np.max(-bends, initial=0.0)) / 4.0
