"""MAP: the solution with the largest probability, bias and weights integrated out, by chains that cool down."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....chains.draws import OPTIMUM, Draws
from ....chains.engine import Inference, register
from ....chains.jobs import Monitor, run_jobs
from ....chains.watch import Watch
from ....core.validate import whole_number
from ..moves.combine import adopt, joint_law, too_many
from ..moves.exchange import log_rate
from ..problem import Problem
from ..state import State
from .gibbs import AttributesGibbs

# The factor of the log likelihood, at the beginning and at the end.
LEAST, COLDEST = 0.02, 4.0


@register("attributes-map")
@dataclass(frozen=True)
class AttributesMAP(Inference):
    """The most probable attributes and clusters that chains meet which give the data more and more weight.

    For real values bias and weights are integrated out, so that solutions with few and with many weights can be
    compared; for links they are at the draw.

    Parameters
    ----------
    restarts : int
        Independent chains; the best solution of all is returned.
    rounds : int
        Rounds of each.
    n_threads : int, optional
        Threads for the chains; default, one per core. The result does not depend on it.

    Examples
    --------
    >>> import countless as cl
    >>> truth = cl.datasets.make_latent_attributes(20, random_state=0)
    >>> engine = cl.inference.AttributesMAP(restarts=2, rounds=40)
    >>> cl.LatentAttributes(inference=engine, random_state=0).fit(truth.R).posterior_.kind.name
    'optimum'
    """

    restarts: int = 4
    rounds: int = 200
    n_threads: int | None = None

    serves: ClassVar[str] = "attributes"

    def __post_init__(self) -> None:
        whole_number("restarts", self.restarts, 1)
        whole_number("rounds", self.rounds, 1)

    def run(self, problem: Problem, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Search from every start and keep the best."""

        def one_search(number: int, stream: np.random.Generator, monitor: Monitor) -> tuple[State, list[float]] | None:
            return None if monitor.stopping.is_set() else self._search(problem, number, stream, monitor)

        total = self.restarts * self.rounds
        searches, interrupted = run_jobs(
            one_search, self.restarts, total, rng, watch or Watch(), self.n_threads, "MAP search"
        )
        done = [search for search in searches if search is not None]
        if not done:
            raise KeyboardInterrupt("stopped before the first search was over")
        state, objective = max(done, key=lambda search: search[1][-1])
        arrays = {
            field.name: value if field.per else value[None, None]
            for field in problem.fields
            for value in [np.asarray(state.draw().get(field.name, 0))]
            if not field.once
        }
        arrays["objective"] = np.array(objective)
        return Draws(arrays, problem.fields, problem.axes, OPTIMUM, interrupted)

    def _search(
        self, problem: Problem, number: int, rng: np.random.Generator, monitor: Monitor
    ) -> tuple[State, list[float]]:
        """One chain; the best of its states in the second half, and the objective as it rose."""
        state = problem.start("dispersed", number, rng)
        moves = AttributesGibbs().moves()
        best, objective = state.copy(), [log_objective(state)]
        for round_ in range(self.rounds):
            if monitor.stopping.is_set():
                break
            share = (round_ + 1.0) / self.rounds
            if not problem.binary:
                state.heat = math.exp(math.log(0.02) * max(0.0, 1.0 - 3.0 * share)) * COLDEST ** max(
                    0.0, 2.0 * share - 1.0
                )
            for move in moves:
                move.step(rng, state)
            if share >= 0.3:
                heat, state.heat = state.heat, 1.0
                value = log_objective(state)
                if value > objective[-1]:
                    best = state.copy()
                    objective.append(value)
                state.heat = heat
            monitor.advance(f"{best.status()}, log joint {objective[-1]:,.1f}")
        best.heat = 1.0
        if not problem.binary and not too_many(best, best.attributes):
            _settle(best)
        return best, objective


def log_objective(state: State) -> float:
    """Log probability of matrix, attributes and numbers, bias and weights integrated out where that can be done."""
    if state.problem.binary or too_many(state, state.attributes):
        return state.log_joint()
    problem, laws = state.problem, state.problem.laws
    squares = problem.over_pairs(problem.filled * problem.filled)
    value = joint_law(state, state.attributes).log_evidence
    value -= 0.5 * (squares / state.noise + problem.n_pairs * math.log(2.0 * math.pi * state.noise))
    names = ("concentration", "cluster_concentration", "weight_variance", "noise")
    value += sum(laws.log_density(name, getattr(state, name)) for name in names)
    value -= state.concentration * laws.dishes(problem.n_objects)
    return value + sum(log_rate(state, each.labels) for each in state.free)


class _Mean:
    """A stream whose normal numbers are all zero: draws are means."""

    @staticmethod
    def standard_normal(size: int) -> Any:
        return np.zeros(size)


def _settle(state: State) -> None:
    """Bias and weights at their mean given attributes."""
    adopt(state, state.attributes, joint_law(state, state.attributes), _Mean())  # type: ignore[arg-type]
