"""Hyperparameters of the family, learned: their evidence given partitions, its maximum, and a move that draws them.

A family names the hyperparameters that may be learned; each is multiplied by the exponential of a log factor
(``Family.with_tuned``). Log factors have independent normal laws around zero, that is, around the values that
were given or set from the data. Given the partition the rest of the model is out of the way:

    log p(log factors | partition, rows) = sum over clusters of the log evidence + log normal density + constant

Raykov et al. 2016, app. A; Rasmussen 2000, *The infinite Gaussian mixture model*, for drawing them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....core.jit import kernel
from ....core.validate import by_first_appearance
from ....families import Family, verbs
from ....priors.concentration import slice_step
from ..state import FloatArray, Problem, State

# Standard deviation of a log factor: two in three within a factor of ten of where it started, either way.
SPREAD = math.log(10.0)
# Largest log factor of an optimiser: evidences may rise for ever, e.g. as all clusters become alike.
LIMIT = math.log(1e4)


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
            raise ValueError(f"names: {name!r} is no hyperparameter of this family; choose among {listed}")
    if not wanted:
        raise ValueError("names must name at least one hyperparameter, or be None for all of them")
    return wanted


def positive(name: str, value: Any) -> float:
    """A number above zero; infinity is one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value > 0:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
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
    problem : Problem
    partitions : array (partition, row)
        Labels of the rows.

    Log factors are relative to the family of the problem as it was before any tuning. Where the statistics of a
    row do not depend on the hyperparameters, the rows are visited once only.
    """

    def __init__(self, problem: Problem, partitions: NDArray[Any]) -> None:
        self._base = problem.untuned
        self._rows, self._weights = problem.rows, problem.weights
        numbered = [by_first_appearance(labels) for labels in partitions]
        starts = np.cumsum([0, *(int(labels.max()) + 1 for labels in numbered)])
        self._labels = np.stack([labels + start for labels, start in zip(numbered, starts, strict=False)])
        self._clusters = self._base.allocate(int(starts[-1]))
        self._visit(problem.untuned.prepare())

    def _visit(self, hyper: Any) -> None:
        weights = np.ones(len(self._rows)) if self._weights is None else self._weights
        _add_up(hyper, self._rows, weights, self._labels, self._clusters.statistics, self._clusters.work)

    def __call__(self, log_factors: Mapping[str, float]) -> float:
        """Mean log evidence; minus infinity where it is no number."""
        family = self._base.with_tuned(log_factors)
        hyper = family.prepare()
        if not family.statistics_stay:
            self._visit(hyper)
        value = float(_log_evidence(hyper, *self._clusters)) / len(self._labels)
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


@dataclass(frozen=True)
class HyperparameterUpdate:
    """Draw the log factors of hyperparameters given the partition, one after the other, by slice sampling.

    Parameters
    ----------
    names : sequence of str, optional
        Hyperparameters to learn; default, all that the family offers.
    spread : float
        Standard deviation of the normal prior of a log factor.

    References
    ----------
    Neal 2003, *Slice sampling*.
    """

    name: ClassVar[str] = "hyperparameters"

    names: tuple[str, ...] | None = None
    spread: float = SPREAD

    def __post_init__(self) -> None:
        if not positive("spread", self.spread) < math.inf:
            raise ValueError(
                "spread must be finite where hyperparameters are drawn: without it the posterior is improper"
            )

    def step(self, rng: np.random.Generator, state: State, problem: Problem) -> Problem:
        """Update ``state`` in place and return the problem with the family that goes with it."""
        names = self.names or learned_names(problem.untuned, None)
        evidence = Evidence(problem, state.partition()[None])
        factors = {name: problem.log_factors.get(name, 0.0) for name in names}
        for name in names:

            def log_target(value: float, name: str = name) -> float:
                trial = {**factors, name: value}
                return evidence(trial) + log_normal_density(trial, self.spread)

            factors[name] = slice_step(log_target, factors[name], rng)
        tuned = problem.tuned(factors, log_normal_density(factors, self.spread))
        state.rebuild(tuned)
        return tuned


@kernel
def _add_up(family, rows, weights, labels, statistics, work):
    """Statistics of all clusters of all partitions; labels of different partitions are different."""
    width = statistics.shape[1]
    for k in range(statistics.shape[0]):
        for s in range(width):
            statistics[k, s] = 0.0
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
