"""Attributes that one object has alone: their number and weights are drawn together, exactly.

Such an attribute touches the pair of the object with itself and nothing else. With k of them the rest e of that pair
has the law N(k m, 1 / q + k v), q being its precision, and k is Poisson with mean a b / (n + b - 1): a table over k,
where von Looz (2013) proposes new attributes by Metropolis and Hastings and never takes one away (6.1.4).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from ..kernels.blocks import FloatArray
from ..state import Attribute, State


class Alone:
    """Draw which attributes each object has alone."""

    name = "alone"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        problem, laws = state.problem, state.problem.laws
        n = problem.n_objects
        own = np.zeros(n, dtype=np.int64)
        kept = []
        for number, attribute in enumerate(state.attributes):
            if number >= state.n_known and attribute.n_members == 1:
                state.take_out(attribute)
                own[int((attribute.labels >= 0).argmax())] += 1
            else:
                kept.append(attribute)
        pairs = state.pairs()
        rest, pull = pairs.scale * np.diag(pairs.rest), pairs.scale * np.diag(pairs.pull)
        rate = state.concentration * laws.breadth / (n + laws.breadth - 1.0)
        counts = _draw_counts(rng, rest, pull, pairs.mean, pairs.variance, rate)
        state.attributes = kept
        for i in np.flatnonzero(counts):
            for weight in _draw_weights(rng, int(counts[i]), rest[i], pull[i], pairs.mean, pairs.variance):
                labels = np.full(n, -1, dtype=np.int64)
                labels[i] = 0
                attribute = Attribute(labels, np.array([[weight]]))
                state.put_in(attribute)
                state.attributes.append(attribute)


def _draw_counts(
    rng: np.random.Generator, rest: FloatArray, pull: FloatArray, mean: float, variance: float, rate: float
) -> FloatArray:
    """Number of attributes that each object has alone."""
    most = int(rate + 10.0 * math.sqrt(rate) + 12.0)
    if (pull > 0.0).any():
        # A weight that is far from zero may need several attributes: beyond this the data cannot outweigh k!.
        most += int(min(60.0, np.max(np.abs(rest / np.where(pull > 0.0, pull, np.inf))) / math.sqrt(variance)))
    k = np.arange(most + 1.0)
    shrink = 1.0 + np.multiply.outer(pull, k * variance)
    shifted = k * mean + np.multiply.outer(rest, k * variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = np.where(k > 0, 0.5 * (shifted**2 / shrink - (k * mean) ** 2) / (k * variance), 0.0)
    logs = gains - 0.5 * np.log(shrink) + k * math.log(rate) - gammaln(k + 1.0)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    edges = np.cumsum(weights, axis=1)
    found: FloatArray = (rng.random(len(rest))[:, None] * edges[:, -1:] >= edges).sum(axis=1)
    return np.minimum(found, most)


def _draw_weights(
    rng: np.random.Generator, count: int, rest: float, pull: float, mean: float, variance: float
) -> FloatArray:
    """Weights of so many attributes whose sum is seen as rest / pull with precision pull."""
    drawn = rng.normal(mean, math.sqrt(variance), count)
    if pull > 0.0:
        seen = rest / pull - drawn.sum() - rng.normal() / math.sqrt(pull)
        drawn += variance / (count * variance + 1.0 / pull) * seen
    return drawn
