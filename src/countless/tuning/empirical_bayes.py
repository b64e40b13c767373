"""Empirical Bayes: hyperparameters that maximise the evidence of the partitions that the engine finds.

Raykov et al. 2016, app. A, item 1 (with a spread: item 3). For an optimiser search and maximisation take turns,
and each raises the log joint of rows, partition and hyperparameters. For a sampler this is Monte Carlo EM (Wei and
Tanner 1990; Casella 2001, *Empirical Bayes Gibbs sampling*): the partitions drawn are averaged over, and later
steps become shorter so that the noise averages out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..chains.draws import Draws
from ..chains.engine import Inference
from ..chains.watch import Watch
from ..core.validate import whole_number
from .base import Tunable, Tuning, register
from .evidence import learned_names, log_normal_density, maximise, positive

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

    def run(self, problem: Tunable, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        """Learn, then run the engine with what was found."""
        names = learned_names(problem.untuned, self.names)
        # The values at the start are learned as well: their draws say so.
        begin = self._tuned(problem, dict.fromkeys(names, 0.0))
        first = engine.pilot().run(begin, rng, watch.unrecorded())
        learn = self._average if first.kind.has_chains else self._climb
        return learn(problem, engine, names, first, rng, watch)

    def _tuned(self, problem: Tunable, log_factors: dict[str, float]) -> Any:
        return problem.tuned(log_factors, log_normal_density(log_factors, self.spread))

    def _climb(
        self,
        problem: Tunable,
        engine: Inference,
        names: tuple[str, ...],
        draws: Draws,
        rng: np.random.Generator,
        watch: Watch,
    ) -> Draws:
        """For optimisers: every step is kept only if it raises the objective."""
        factors, objective = dict.fromkeys(names, 0.0), draws["objective"]
        for _ in range(self.rounds):
            if draws.interrupted:
                break
            found = maximise(problem.evidence(draws, np.array([_best(draws)])), names, factors, self.spread)
            pilot = engine.pilot(draws.best("labels").astype(np.int64))
            trial = pilot.run(self._tuned(problem, found), rng, watch.unrecorded())
            gain = trial["objective"][-1] - objective[-1]
            if gain > 0.0:
                draws, factors = trial, found
                rising = trial["objective"] >= objective[-1]
                objective = np.append(objective, np.maximum.accumulate(trial["objective"][rising]))
            if not gain > LEAST_GAIN:
                break
        if not draws.interrupted:
            full = engine.run(self._tuned(problem, factors), rng, watch)
            if full["objective"][-1] > objective[-1]:
                draws, objective = full, np.append(objective, full["objective"][-1])
            draws = draws.replaced(interrupted=full.interrupted)
        return draws.replaced(objective=objective)

    def _average(
        self,
        problem: Tunable,
        engine: Inference,
        names: tuple[str, ...],
        draws: Draws,
        rng: np.random.Generator,
        watch: Watch,
    ) -> Draws:
        """For samplers: whole steps in the first half of the rounds, then steps of 1/2, 1/3, 1/4 ..."""
        factors = dict.fromkeys(names, 0.0)
        whole = (self.rounds + 1) // 2
        for number in range(self.rounds):
            if draws.interrupted:
                return draws
            n_draws = draws["log_joint"].size
            spaced = np.linspace(0, n_draws - 1, min(n_draws, MOST_PARTITIONS)).astype(np.int64)
            found = maximise(problem.evidence(draws, spaced), names, factors, self.spread)
            step = 1.0 / max(1, number - whole + 2)
            change = {name: step * (found[name] - factors[name]) for name in names}
            factors = {name: factors[name] + change[name] for name in names}
            if max(map(abs, change.values())) < LEAST_CHANGE:
                break
            pilot = engine.pilot(draws.best("labels").astype(np.int64))
            draws = pilot.run(self._tuned(problem, factors), rng, watch.unrecorded())
        return engine.run(self._tuned(problem, factors), rng, watch)


def _best(draws: Draws) -> int:
    """Number of the draw with the largest log joint, over all chains."""
    return int(np.argmax(draws["log_joint"]))
