"""Base weights and numbers of the law given a path: means of tables, and the climb to their mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import digamma

from ...partitions.seats import FloatArray
from ...priors.hyperpriors import Hyperprior
from ...transitions import Transitions
from .state import State

ROUNDS, ENOUGH = 50, 1e-12
# Gain below which the climb of weights and numbers is over.
LEAST_GAIN = 1e-10


def mean_weights(fixed: Transitions, counts: FloatArray, begin: FloatArray | None = None) -> tuple[FloatArray, float]:
    """Base weights that agree with the mean numbers of tables of a path with these counts.

    Each round maximises the expected density of their logs given the tables (expectation and maximisation), so that
    that density never falls on the way from ``begin``, and they end at a mode of it.
    """
    n = counts.shape[1]
    shapes = fixed.base_shapes(n)
    if shapes is None:
        return fixed.open_weights(np.random.default_rng(0), 0, 1.0, n)
    weights = np.full(n, 1.0 / (n + 1.0)) if begin is None else begin
    own = np.zeros_like(counts)
    own[1:][np.diag_indices(n)] = fixed.stay
    rest = 0.0
    for _ in range(ROUNDS):
        mass = fixed.concentration * weights
        asked = mass * (digamma(mass + own + counts) - digamma(mass + own))
        total = asked.sum(axis=0) + shapes[0]
        sums = total.sum() + shapes[1]
        before, weights, rest = weights, np.maximum(total / sums, 1e-12), shapes[1] / sums
        if np.abs(weights - before).max() < ENOUGH:
            break
    whole = weights.sum() + rest
    return weights / whole, rest / whole


def log_density_on_line(state: State) -> float:
    """Log density of the path and of the logs of its base weights, with that of learned numbers."""
    fixed, law = state.fixed, state.problem.transitions
    value = fixed.log_rows(state.counts, state.weights) + fixed.log_base(state.weights, state.rest, on_line=True)
    return value + law.log_hyperprior(fixed)


def climb_base(state: State, rounds: int = 20) -> None:
    """Bring base weights and learned numbers of the law to a mode of their joint density given the path."""
    law = state.problem.transitions
    laws = law.laws
    value = log_density_on_line(state)
    for _ in range(rounds):
        before = value
        state.weights, state.rest = mean_weights(state.fixed, state.counts, state.weights)
        for name, prior in laws.items():
            of_rows = name in law.row_numbers

            def height(x: float, n: str = name, of_rows: bool = of_rows) -> float:
                trial = state.fixed.with_numbers({n: x})
                if of_rows:
                    return trial.log_rows(state.counts, state.weights)
                return trial.log_base(state.weights, state.rest, on_line=True)

            state.fixed = state.fixed.with_numbers({name: toward_mode(prior, getattr(state.fixed, name), height)})
        value = log_density_on_line(state)
        if not value > before + LEAST_GAIN:
            break


def toward_mode(prior: Hyperprior, value: float, log_likelihood: Callable[[float], float]) -> float:
    """A value nearer to the mode of density times likelihood: the top of a parabola through three points of the line.

    For those who come back again and again; it never falls.
    """

    def height(at: float) -> float:
        x = prior.from_line(at)
        density = prior.log_density_on_line(x)
        return density + log_likelihood(x) if density > -np.inf else -np.inf

    start, step = prior.to_line(value), 0.4
    left, middle, right = (height(start + by) for by in (-step, 0.0, step))
    bend = left - 2.0 * middle + right
    trial = start + (step if right > left else -step)
    if bend < 0.0:
        trial = start + min(max(0.5 * step * (left - right) / bend, -2.0), 2.0)
    candidates = [(middle, start), (left, start - step), (right, start + step), (height(trial), trial)]
    return prior.from_line(max(candidates)[1])
