"""Geweke's joint test: two ways to draw concentration, partition and rows that must agree.

Marginal-conditional: concentration and partition from the prior, parameters from the prior, rows from the
parameters. Successive-conditional: in turn, the moves under test given the rows, and new rows given the
partition by way of parameters drawn from their posterior. If every step leaves the joint law alone, any
statistic has the same mean under both (Geweke 2004, *Getting it right*, JASA 99).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from countless.chains import Move
from countless.families import Family
from countless.inference import Problem, State
from countless.priors import Prior
from helpers import batch_error, generator

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

N_ROWS = 8
N_DRAWS = 2_500


@dataclass(frozen=True)
class Model:
    """A family with all hyperparameters set, and a prior."""

    family: Family
    prior: Prior

    def draw_partition(self, rng: np.random.Generator) -> tuple[IntArray, Prior]:
        """Labels and the prior with its numbers fixed, from the prior."""
        fixed = self.prior.draw_fixed(rng)
        return fixed.sample(N_ROWS, rng), fixed

    def redraw_rows(self, labels: IntArray, X: FloatArray | None, rng: np.random.Generator) -> FloatArray:
        """Rows of every cluster from parameters drawn given its present rows; without rows, from the prior."""
        rows = []
        for k in range(labels.max() + 1):
            given = None if X is None else np.ascontiguousarray(X[labels == k])
            parameters = self.family.draw_parameters(rng, given)
            rows.append(self.family.draw_rows(parameters, int(np.sum(labels == k)), rng))
        drawn = np.concatenate(rows)
        out = np.empty_like(drawn)
        out[np.argsort(labels, kind="stable")] = drawn
        return out

    def start(self, X: FloatArray, labels: IntArray, fixed: float | Prior) -> State:
        """What the moves work on."""
        return State(Problem.of(X, self.family, self.prior), labels, fixed)

    def describe(self, X: FloatArray, state: State) -> dict[str, float]:
        """Statistics that do not depend on the names of clusters."""
        sizes = state.cluster_sizes()
        numbers = {
            "number of clusters": float(state.n_clusters),
            "sum of squared sizes": float(sizes @ sizes),
            "rows alone": float(np.sum(sizes == 1)),
            "mean": float(X.mean()),
            "mean square": float(np.mean(X**2)),
            "log joint": state.log_joint() / N_ROWS,
        }
        if self.prior.is_learned:
            middle = _middle(self.prior)
            more = state.n_clusters - middle["clusters"]
            for name, value in _lines(self.prior, state.concentration, state.seats.numbers).items():
                numbers |= {name: value, f"{name} * clusters": (value - middle[name]) * more}
        return numbers


def _lines(prior: Prior, concentration: float, others: dict[str, float]) -> dict[str, float]:
    """Learned numbers of a prior, each on a line on which its law is not too skewed."""
    found = {"log concentration": float(np.log(concentration))}
    for name, value in others.items():
        found[name] = float(np.log(value)) if prior.law_of(name).is_count else float(value)
    return found


@cache
def _middle(prior: Prior) -> dict[str, float]:
    """About the means of learned numbers and of the clusters: products of deviations from them have little noise."""
    rng, draws = generator("middle", prior), []
    for _ in range(400):
        fixed = prior.draw_fixed(rng)
        others = {name: getattr(fixed, name) for name in prior.learned_names}
        numbers = _lines(prior, fixed.concentration, others)  # type: ignore[arg-type]
        draws.append({**numbers, "clusters": fixed.sample(N_ROWS, rng).max() + 1.0})
    return {name: float(np.mean([draw[name] for draw in draws])) for name in draws[0]}


def independent(model: Model, rng: np.random.Generator, n_draws: int = N_DRAWS) -> dict[str, FloatArray]:
    """The marginal-conditional simulator."""

    def one() -> dict[str, float]:
        labels, fixed = model.draw_partition(rng)
        X = model.redraw_rows(labels, None, rng)
        return model.describe(X, model.start(X, labels, fixed))

    return collect(one, n_draws)


def successive(
    model: Model, moves: Sequence[Move], rng: np.random.Generator, n_draws: int = N_DRAWS
) -> dict[str, FloatArray]:
    """The successive-conditional simulator; it begins with a draw from the joint law, so needs no warm-up."""
    labels, fixed = model.draw_partition(rng)
    X = model.redraw_rows(labels, None, rng)
    state = model.start(X, labels, fixed)

    def one() -> dict[str, float]:
        nonlocal X, state
        for move in moves:
            move.step(rng, state)
        labels = state.partition()
        X = model.redraw_rows(labels, X, rng)
        state = model.start(X, labels, state.seats.fixed)
        return model.describe(X, state)

    return collect(one, n_draws)


def collect(one: Callable[[], dict[str, float]], n_draws: int = N_DRAWS) -> dict[str, FloatArray]:
    """Statistics of so many draws, by name."""
    draws = [one() for _ in range(n_draws)]
    return {name: np.array([draw[name] for draw in draws]) for name in draws[0]}


def z_scores(right: dict[str, FloatArray], tried: dict[str, FloatArray]) -> dict[str, float]:
    """Differences of means in standard errors, those of a chain by batches."""
    return {
        name: (tried[name].mean() - right[name].mean())
        / float(np.hypot(batch_error(right[name]), batch_error(tried[name])))
        for name in right
    }
