"""Numbers given attributes: both concentrations, the variances of weights and of the noise, the bias."""

from __future__ import annotations

import math

import numpy as np

from ....priors import Gamma
from ..state import State


class Numbers:
    """Draw every number that is learned."""

    name = "numbers"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        draw_bias(rng, state)
        draw_noise(rng, state)
        draw_weight_variance(rng, state)
        draw_concentration(rng, state)
        draw_cluster_concentration(rng, state)


def draw_bias(rng: np.random.Generator, state: State) -> None:
    """From its normal law given all weights."""
    problem, laws, pairs = state.problem, state.problem.laws, state.pairs()
    precision = 1.0 / laws.bias_variance + pairs.scale * problem.over_pairs(pairs.pull)
    total = pairs.scale * (problem.over_pairs(pairs.rest) + state.bias * problem.over_pairs(pairs.pull))
    state.set_bias(rng.normal((laws.bias_mean / laws.bias_variance + total) / precision, precision**-0.5))


def draw_noise(rng: np.random.Generator, state: State) -> None:
    """From its inverse gamma law given the rest of each pair."""
    law = state.problem.laws.noise
    if state.problem.binary or not isinstance(law, Gamma):
        return
    squares = state.heat * state.problem.over_pairs(state.rest * state.rest)
    shape = law.shape + 0.5 * state.heat * state.problem.n_pairs
    state.noise = (law.rate + 0.5 * squares) / rng.gamma(shape)


def draw_weight_variance(rng: np.random.Generator, state: State) -> None:
    """From its inverse gamma law given all weights."""
    law = state.problem.laws.weight_variance
    if not isinstance(law, Gamma):
        return
    weights = state.all_weights() - state.problem.laws.weight_mean
    state.weight_variance = (law.rate + 0.5 * float(weights @ weights)) / rng.gamma(law.shape + 0.5 * len(weights))


def draw_concentration(rng: np.random.Generator, state: State) -> None:
    """From its gamma law given the number of attributes (von Looz 2013, 4.2.8, as corrected)."""
    law = state.problem.laws.concentration
    if isinstance(law, Gamma):
        rate = law.rate + state.problem.laws.dishes(state.problem.n_objects)
        state.concentration = max(rng.gamma(law.shape + len(state.free)) / rate, 1e-300)


def draw_cluster_concentration(rng: np.random.Generator, state: State) -> None:
    """By a slice on its log given the clusters of every attribute."""
    law = state.problem.laws.cluster_concentration
    if not isinstance(law, Gamma):
        return
    sizes = [each.sizes() for each in state.free]
    members = np.array([part.sum() for part in sizes], dtype=np.float64)
    clusters = sum(len(part) for part in sizes)

    def of(value: float) -> float:
        total = clusters * math.log(value)
        return total + sum(math.lgamma(value) - math.lgamma(value + m) for m in members)

    state.cluster_concentration = law.step(rng, state.cluster_concentration, of)
