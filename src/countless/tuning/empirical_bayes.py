"""Empirical Bayes: hyperparameters that maximise the evidence of the partitions that the engine finds.

Raykov et al. 2016, app. A, item 1 (with a spread: item 3). For an optimiser search and maximisation take turns,
and each raises the log joint of rows, partition and hyperparameters. For a sampler this is Monte Carlo EM (Wei and
Tanner 1990; Casella 2001, *Empirical Bayes Gibbs sampling*): the partitions drawn are averaged over, and later
steps become shorter so that the noise averages out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.validate import whole_number
from ..inference import Draws, Inference, Problem
from ..models.mixture.moves.hyperparameters import Evidence, learned_names, log_normal_density, maximise, positive
from .base import Tuning, best_labels, register, with_factors

# Partitions that an evidence is averaged over.
MOST_PARTITIONS = 40
# Gains of the log joint, and changes of log factors, that end the alternation.
LEAST_GAIN, LEAST_CHANGE = 1e-3, 0.02


@register("empirical-bayes")
@dataclass(frozen=True)
class EmpiricalBayes(Tuning):
    """Set hyperparameters where the evidence of the clustering is largest.

    The clustering is found again for the new values and so on, until the log joint stands still (optimisers) or
    for ``rounds`` rounds (samplers, as Monte Carlo EM before the warm-up). The engine then runs in full.

    Parameters
    ----------
    names : tuple of str, optional
        Hyperparameters to learn; default, all that the family offers in ``tunable()``.
    spread : float
        Standard deviation of a normal prior on the log of what a hyperparameter is multiplied by. Default: none,
        infinite; then factors stay between 1 / 10,000 and 10,000.
    rounds : int
        Most rounds.

    Examples
    --------
    >>> import countless as cl
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.3]]
    >>> model = cl.DPMixture(inference="map", tune="empirical-bayes", random_state=0).fit(X)
    >>> fixed = cl.DPMixture(inference="map", random_state=0).fit(X)
    >>> bool(model.posterior_.log_joint[0, 0] > fixed.posterior_.log_joint[0, 0])
    True
    """

    names: tuple[str, ...] | None = None
    spread: float = math.inf
    rounds: int = 20

    def __post_init__(self) -> None:
        positive("spread", self.spread)
        whole_number("rounds", self.rounds, 1)

    def run(self, problem: Problem, engine: Inference, rng: np.random.Generator, progress: bool | None = None) -> Draws:
        """Learn, then run the engine with what was found."""
        names = learned_names(problem.untuned, self.names)
        first = engine.pilot().run(problem, rng, progress)
        learn = self._climb if first.objective.size else self._average
        return learn(problem, engine, names, first, rng, progress)

    def _tuned(self, problem: Problem, log_factors: dict[str, float]) -> Problem:
        return problem.tuned(log_factors, log_normal_density(log_factors, self.spread))

    def _climb(
        self,
        problem: Problem,
        engine: Inference,
        names: tuple[str, ...],
        draws: Draws,
        rng: np.random.Generator,
        progress: bool | None,
    ) -> Draws:
        """For optimisers: every step is kept only if it raises the objective."""
        factors = dict.fromkeys(names, 0.0)
        # The density at the start belongs to the objective as well.
        objective = draws.objective + log_normal_density(factors, self.spread)
        for _ in range(self.rounds):
            if draws.interrupted:
                break
            labels = best_labels(draws)
            found = maximise(Evidence(problem, labels[None]), names, factors, self.spread)
            trial = engine.pilot(labels).run(self._tuned(problem, found), rng, progress)
            gain = trial.objective[-1] - objective[-1]
            if gain > 0.0:
                draws, factors = trial, found
                rising = trial.objective >= objective[-1]
                objective = np.append(objective, np.maximum.accumulate(trial.objective[rising]))
            if not gain > LEAST_GAIN:
                break
        if not draws.interrupted:
            full = engine.run(self._tuned(problem, factors), rng, progress)
            if full.objective[-1] > objective[-1]:
                draws, objective = full, np.append(objective, full.objective[-1])
            draws = draws._replace(interrupted=full.interrupted)
        return with_factors(draws._replace(objective=objective), factors)

    def _average(
        self,
        problem: Problem,
        engine: Inference,
        names: tuple[str, ...],
        draws: Draws,
        rng: np.random.Generator,
        progress: bool | None,
    ) -> Draws:
        """For samplers: whole steps in the first half of the rounds, then steps of 1/2, 1/3, 1/4 ..."""
        factors = dict.fromkeys(names, 0.0)
        whole = (self.rounds + 1) // 2
        for number in range(self.rounds):
            if draws.interrupted:
                return with_factors(draws, factors)
            flat = draws.labels.reshape(-1, problem.n_rows)
            spaced = np.linspace(0, len(flat) - 1, min(len(flat), MOST_PARTITIONS)).astype(np.int64)
            found = maximise(Evidence(problem, flat[spaced]), names, factors, self.spread)
            step = 1.0 / max(1, number - whole + 2)
            change = {name: step * (found[name] - factors[name]) for name in names}
            factors = {name: factors[name] + change[name] for name in names}
            if max(map(abs, change.values())) < LEAST_CHANGE:
                break
            draws = engine.pilot(best_labels(draws)).run(self._tuned(problem, factors), rng, progress)
        return with_factors(engine.run(self._tuned(problem, factors), rng, progress), factors)
