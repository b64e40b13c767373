"""Hyperparameters of the family: their evidence given partitions, and where it is largest.

A family names the hyperparameters that may be learned; each is multiplied by the exponential of a log factor
(``Family.with_tuned``). Log factors have independent normal laws around zero, that is, around the values that
were given or set from the data. Given the partition the rest of the model is out of the way:

    log p(log factors | partition, rows) = sum over clusters of the log evidence + log normal density + constant

Raykov et al. 2016, app. A; Rasmussen 2000, *The infinite Gaussian mixture model*, for drawing them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.jit import kernel
from ..core.validate import by_first_appearance
from ..families import verbs
from ..families.base import Family

FloatArray = NDArray[np.float64]

# Standard deviation of a log factor: two in three within a factor of ten of where it started, either way.
SPREAD = math.log(10.0)
# Largest log factor of an optimiser: evidences may rise without end, e.g. as all clusters become alike.
LIMIT = math.log(1e4)
# Largest log factor that is ever drawn: beyond it evidences are all rounding.
LARGEST = math.log(1e12)


def learned_names(family: Family, names: Sequence[str] | None) -> tuple[str, ...]:
    """The hyperparameters to learn: all that the family offers, or those asked for."""
    offered = family.tunable()
    if not offered:
        raise ValueError(f"family: {type(family).__name__} has no hyperparameters that can be learned")
    if names is None:
        return tuple(offered)
    wanted = (names,) if isinstance(names, str) else tuple(names)
    for name in wanted:
        if name not in offered:
            listed = ", ".join(map(repr, offered))
            raise ValueError(f"names: {name!r} is not a hyperparameter of this family; choose among {listed}")
    if not wanted:
        raise ValueError("names must name at least one hyperparameter, or be None for all of them")
    return wanted


def positive(name: str, value: Any) -> float:
    """A number above zero, or infinity."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value > 0:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return float(value)


def finite_spread(value: Any) -> float:
    """A standard deviation of log factors that are drawn."""
    if not positive("spread", value) < math.inf:
        raise ValueError("spread must be finite where hyperparameters are drawn: without it the posterior is improper")
    return float(value)


def log_normal_density(log_factors: Mapping[str, float], spread: float) -> float:
    """Log density of log factors under independent normal laws; zero where the spread is infinite."""
    if spread == math.inf:
        return 0.0
    squares = sum(value * value for value in log_factors.values())
    return -0.5 * squares / spread**2 - len(log_factors) * (math.log(spread) + 0.5 * math.log(2.0 * math.pi))


class Evidence:
    """Log evidence of the rows, the mean over some partitions, as a function of log factors.

    Parameters
    ----------
    family : Family
        Before any tuning: log factors are relative to it.
    parts : list of (rows, partitions)
        Rows as kernels take them, and partitions (partition, row) of them. Rows differ from part to part where missing
        cells were drawn.
    weights : array (row,), optional
        How often each row counts.

    Where the statistics of a row do not depend on the hyperparameters, the rows are visited once only.
    """

    def __init__(
        self, family: Family, parts: Sequence[tuple[FloatArray, NDArray[Any]]], weights: FloatArray | None = None
    ) -> None:
        self._family = family
        self._weights = np.ones(len(parts[0][0])) if weights is None else weights
        self._parts = []
        self._n_partitions, n_clusters = 0, 0
        for rows, partitions in parts:
            labels = np.empty(partitions.shape, dtype=np.int64)
            for place, partition in zip(labels, partitions, strict=True):
                numbered = by_first_appearance(partition)
                place[:] = numbered + n_clusters
                n_clusters += int(numbered.max()) + 1
            self._parts.append((rows, labels))
            self._n_partitions += len(labels)
        self._clusters = family.allocate(n_clusters)
        self._visit(family.prepare())

    def _visit(self, hyper: Any) -> None:
        self._clusters.statistics[:] = 0.0
        for rows, labels in self._parts:
            _add_up(hyper, rows, self._weights, labels, self._clusters.statistics, self._clusters.work)

    def __call__(self, log_factors: Mapping[str, float]) -> float:
        """Mean log evidence; minus infinity where it is not a number."""
        family = self._family.with_tuned(log_factors)
        hyper = family.prepare()
        if not family.statistics_stay:
            self._visit(hyper)
        value = float(_log_evidence(hyper, *self._clusters)) / self._n_partitions
        return value if math.isfinite(value) else -math.inf


def maximise(
    evidence: Evidence, names: Sequence[str], start: Mapping[str, float], spread: float = math.inf
) -> dict[str, float]:
    """Log factors where evidence times prior is largest within the limits; never worse than ``start``."""
    from scipy.optimize import minimize

    def fall(point: FloatArray) -> float:
        factors = dict(zip(names, point.tolist(), strict=True))
        value = evidence(factors) + log_normal_density(factors, spread)
        return -value if value > -math.inf else 1e300

    begin = np.clip([start.get(name, 0.0) for name in names], -LIMIT, LIMIT)
    best, lowest = begin, fall(begin)
    # Ridges, as between a scale and its degrees of freedom, are followed from two sides.
    for point in (begin, np.zeros(len(names))):
        found = minimize(fall, point, method="L-BFGS-B", bounds=[(-LIMIT, LIMIT)] * len(names))
        if found.fun < lowest:
            best, lowest = found.x, float(found.fun)
    return dict(zip(names, best.tolist(), strict=True))


@kernel
def _add_up(family, rows, weights, labels, statistics, work):
    """Add the statistics of all clusters of some partitions; labels of different partitions are different."""
    width = statistics.shape[1]
    for i in range(rows.shape[0]):
        verbs.row_statistics(family, rows[i], work)
        for m in range(labels.shape[0]):
            k = labels[m, i]
            for s in range(width):
                statistics[k, s] += weights[i] * work[s]


@kernel
def _log_evidence(family, statistics, cache, work):
    total = 0.0
    for k in range(statistics.shape[0]):
        verbs.refresh(family, statistics, cache, k, work)
        total += verbs.log_marginal(family, statistics, cache, k)
    return total
