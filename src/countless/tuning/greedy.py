"""Greedy coordinate restarts: one hyperparameter at a time is changed, and MAP started again.

Raykov et al. 2016, app. A, item 2, which starts from empirical Bayes: the change is kept if the log joint of rows and
partition improves. Steps become shorter where none helps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..chains.draws import Draws
from ..chains.engine import ENGINES, Inference
from ..chains.watch import Watch
from .base import Tunable, Tuning, register
from .evidence import LIMIT, learned_names, log_normal_density, maximise, positive

LEAST_GAIN = 1e-3


@register("greedy")
@dataclass(frozen=True)
class Greedy(Tuning):
    """Multiply or divide one hyperparameter after the other, keeping what raises the log joint of the MAP clustering.

    The search is made by MAP, from the values of empirical Bayes given the first MAP clustering; the engine of the
    fit then runs with what was found.

    Parameters
    ----------
    names : tuple of str, optional
        Hyperparameters to learn; default, all that the family offers in ``tunable()``.
    spread : float
        Standard deviation of a normal prior on the log of what a hyperparameter is multiplied by. Default: none.
    factor : float
        What a hyperparameter is first multiplied or divided by. Where no change helps its square root is tried,
        down to ``smallest``.
    smallest : float
        The smallest factor.

    Examples
    --------
    >>> import countless as cl
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.3]]
    >>> model = cl.DPMixture(inference="map", tune="greedy", random_state=0).fit(X)
    >>> sorted(model.posterior_.hyperparameters)
    ['dof', 'mean_strength', 'scale']
    """

    names: tuple[str, ...] | None = None
    spread: float = math.inf
    factor: float = 4.0
    smallest: float = 1.4

    def __post_init__(self) -> None:
        positive("spread", self.spread)
        if not 1.0 < positive("smallest", self.smallest) <= positive("factor", self.factor) < math.inf:
            raise ValueError(
                f"smallest and factor must be above 1 and in this order, got {self.smallest!r} and {self.factor!r}"
            )

    def run(self, problem: Tunable, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        """Search, then run the engine with what was found."""
        if problem.draws_missing:
            raise ValueError(
                "tune: 'greedy' searches by MAP, which cannot draw the missing cells of correlated columns; choose "
                "'sample' or 'empirical-bayes'"
            )
        names = learned_names(problem.untuned, self.names)
        searcher: Any = engine if isinstance(engine, ENGINES["map"]) else ENGINES["map"]()
        search = _Search(problem, searcher, self.spread, rng, watch.unrecorded())
        search.try_at(dict.fromkeys(names, 0.0), None)
        labels = search.labels()
        evidence = problem.evidence(search.draws, np.array([0]))
        search.try_at(maximise(evidence, names, search.factors, self.spread), labels)
        step = math.log(self.factor)
        while step >= math.log(self.smallest) - 1e-12 and not search.draws.interrupted:
            gained = [search.move(name, step) or search.move(name, -step) for name in names]
            if not any(gained):
                step /= 2.0
        draws = search.draws
        if not draws.interrupted:
            full = engine.run(search.tuned(search.factors), rng, watch)
            optimiser = type(engine) is type(searcher)
            if optimiser and full["objective"][-1] <= search.objective[-1]:
                draws = draws.replaced(interrupted=full.interrupted)
            else:
                search.objective.append(float(np.max(full["log_joint"])))
                draws = full
            if optimiser:
                draws = draws.replaced(objective=np.array(search.objective))
        return draws


class _Search:
    """The best partition and log factors so far, and what their objective was at each improvement."""

    draws: Draws
    factors: dict[str, float]

    def __init__(
        self, problem: Tunable, engine: Inference, spread: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        self._problem, self._engine, self._spread = problem, engine, spread
        self._rng, self._watch = rng, watch
        self.objective: list[float] = []

    def tuned(self, factors: dict[str, float]) -> Any:
        return self._problem.tuned(factors, log_normal_density(factors, self._spread))

    def labels(self) -> Any:
        """Labels of the best partition."""
        return self.draws.best("labels").astype(np.int64)

    def try_at(self, factors: dict[str, float], labels: Any) -> bool:
        """Search from ``labels`` with these log factors; kept, and True, if the log joint gains."""
        draws = self._engine.pilot(labels).run(self.tuned(factors), self._rng, self._watch)
        if self.objective and not draws["objective"][-1] > self.objective[-1] + LEAST_GAIN:
            if draws.interrupted:
                self.draws = self.draws.replaced(interrupted=True)
            return False
        self.draws, self.factors = draws, factors
        self.objective.append(float(draws["objective"][-1]))
        return True

    def move(self, name: str, step: float) -> bool:
        """Change one log factor."""
        value = self.factors[name] + step
        if abs(value) > LIMIT or self.draws.interrupted:
            return False
        return self.try_at({**self.factors, name: value}, self.labels())
