"""Raftery and Lewis: how long a chain must run for a quantile, from the chain itself.

Raftery and Lewis (1992), *How many iterations in the Gibbs sampler?*, and their program ``gibbsit``; the reference in
use today is ``raftery.diag`` of the R package coda, which this follows step by step.

Let u be the q-quantile of the draws x_t, and Z_t = 1 where x_t <= u, else 0. How precisely P(x <= u) is known is how
precisely the mean of Z is known. Z is not a Markov chain, but every k-th of its values is nearly one: k is the smallest
thinning at which BIC prefers a chain of first order to one of second order, that is, where

    G^2 = 2 sum_abc n_abc log(n_abc n_.b. / (n_ab. n_.bc)) < 2 log(number of triples),

n_abc being counts of Z_t = a, Z_t+k = b, Z_t+2k = c (the second order has two parameters more). That chain of two
states has transition probabilities alpha = P(0 -> 1) and beta = P(1 -> 0), stationary P(1) = alpha / (alpha + beta),
and its second eigenvalue is lambda = 1 - alpha - beta. After m steps P(Z = j) is within

    max(alpha, beta) |lambda|^m / (alpha + beta)

of stationary; for this to be at most eps, m = log(eps (alpha + beta) / max(alpha, beta)) / log |lambda|: the burn-in is
M = m k. The mean of n values has, for large n, the variance

    alpha beta (2 - alpha - beta) / ((alpha + beta)^3 n),

and a normal interval of half width r and probability s, with z = Phi^-1((1 + s) / 2), asks for

    n = z^2 alpha beta (2 - alpha - beta) / ((alpha + beta)^3 r^2).

In all N = M + n k draws. Independent draws (alpha = q, beta = 1 - q) need N_min = z^2 q (1 - q) / r^2, 3746 for
q = 0.025, r = 0.005, s = 0.95; the dependence factor is I = N / N_min.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

# Triples of thinned values that a test of the order is made with, at least.
FEWEST_TRIPLES = 20


class RafteryLewis(NamedTuple):
    """Length of run that a quantile needs.

    Attributes
    ----------
    thin : int
        k, the thinning that makes the chain of two states first order.
    burn_in : float
        M, draws to drop from each chain. Infinite where the chains never cross the quantile.
    total : float
        N, draws that one chain needs, burn-in included. Infinite as well where they never cross.
    minimum : int
        N_min, what independent draws would need.
    dependence : float
        I = N / N_min; above 5 says that the chain moves slowly, starts badly, or hardly visits the quantile.
    reached : float
        Half width, at the same probability, that the draws at hand give to P(x <= quantile).
    available : int
        Draws at hand, over all chains.
    is_constant : bool
        Whether all draws are on one side of the quantile: nothing to estimate, and nothing to learn from.
    """

    thin: int
    burn_in: float
    total: float
    minimum: int
    dependence: float
    reached: float
    available: int
    is_constant: bool = False

    @property
    def is_enough(self) -> bool:
        """Whether the draws at hand reach the precision asked for."""
        return self.is_constant or self.available >= self.total

    def __str__(self) -> str:
        if self.is_constant:
            return "the same in all draws"
        if not math.isfinite(self.total):
            return "the chains do not cross the quantile: more draws needed, how many cannot be told"
        told = f"{self.total:.0f} draws (burn-in {self.burn_in:.0f}, {self.dependence:.1f} times independent draws)"
        return f"{told}; {self.available} at hand" + ("" if self.is_enough else ", more draws needed")


def raftery_lewis(
    draws: ArrayLike,
    quantile: float = 0.025,
    precision: float = 0.005,
    probability: float = 0.95,
    tolerance: float = 0.001,
) -> RafteryLewis:
    """Draws needed to know P(x <= quantile of x) within ``precision`` with ``probability``.

    Chains too short for that precision still say how slowly they move; with one chain of at least ``minimum`` draws
    the answer is that of coda's ``raftery.diag``. Several chains share one quantile and one count of transitions.

    Parameters
    ----------
    draws : array (draw,) or (chain, draw)
    quantile, precision, probability : float
        q, r and s.
    tolerance : float
        eps, how close to its stationary law a chain must be after the burn-in.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.posterior.raftery import raftery_lewis
    >>> found = raftery_lewis(np.random.default_rng(0).normal(size=5000))
    >>> found.minimum
    3746
    >>> found.dependence < 1.2
    True
    """
    for name, value in (("quantile", quantile), ("probability", probability)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
    for name, value in (("precision", precision), ("tolerance", tolerance)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must be above 0 and below 1, got {value!r}")
    values = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    if values.ndim != 2 or values.shape[1] < 3 or not np.isfinite(values).all():
        raise ValueError(f"draws must be finite numbers, (draw,) or (chain, draw), 3 draws or more; got {values.shape}")
    z = float(ndtri(0.5 * (1.0 + probability)))
    minimum = math.ceil(quantile * (1.0 - quantile) * z**2 / precision**2)
    below = values <= np.quantile(values, quantile)
    if below.all():
        return RafteryLewis(1, 0.0, math.nan, minimum, math.nan, math.nan, values.size, is_constant=True)
    thin = _first_order_thinning(below)
    alpha, beta = transitions(below[:, ::thin])
    burn_in, spread = two_states(alpha, beta, tolerance)
    keep = math.ceil(z**2 * spread / precision**2) * thin if math.isfinite(spread) else math.inf
    total = burn_in * thin + keep
    reached = z * math.sqrt(spread * thin / values.size)
    return RafteryLewis(thin, burn_in * thin, total, minimum, total / minimum, reached, values.size)


def two_states(alpha: float, beta: float, tolerance: float = 0.001) -> tuple[float, float]:
    """Steps until a chain of two states forgets its start, and n times the variance of the mean of n of its states.

    Examples
    --------
    >>> from countless.posterior.raftery import two_states
    >>> two_states(0.1, 0.9)
    (1.0, 0.09000000000000001)
    """
    if alpha <= 0.0 or beta <= 0.0:
        return math.inf, math.inf
    total = alpha + beta
    spread = alpha * beta * (2.0 - total) / total**3
    memory = abs(1.0 - total)
    if memory < 1e-12:
        return 1.0, spread
    if memory >= 1.0:
        return math.inf, spread
    return float(math.ceil(math.log(tolerance * total / max(alpha, beta)) / math.log(memory))), spread


def transitions(states: NDArray[np.bool_]) -> tuple[float, float]:
    """P(0 -> 1) and P(1 -> 0), by counting over all chains (chain, draw); 0 for a state that is never left."""
    now, then = states[:, :-1], states[:, 1:]
    up, down = int(np.sum(~now & then)), int(np.sum(now & ~then))
    zeros, ones = int(np.sum(~now)), int(np.sum(now))
    return up / max(zeros, 1), down / max(ones, 1)


def _first_order_thinning(below: NDArray[np.bool_]) -> int:
    """Smallest thinning that BIC holds to be of first order; the largest that leaves something to test otherwise."""
    n_chains, n_draws = below.shape
    thin = 1
    while True:
        states = below[:, ::thin].astype(np.int64)
        triples = states[:, :-2] * 4 + states[:, 1:-1] * 2 + states[:, 2:]
        counts = np.bincount(triples.reshape(-1), minlength=8).reshape(2, 2, 2)
        if second_order_statistic(counts) < 2.0 * math.log(max(triples.size, 2)):
            return thin
        if n_chains * (-(-n_draws // (thin + 1)) - 2) < FEWEST_TRIPLES:
            return thin
        thin += 1


def second_order_statistic(counts: NDArray[np.int64]) -> float:
    """G^2 of a chain of first order against one of second order, from counts of triples (2, 2, 2)."""
    first = counts.sum(axis=2, keepdims=True) * counts.sum(axis=0, keepdims=True)
    middle = counts.sum(axis=(0, 2), keepdims=True)
    seen = counts > 0
    fitted = np.where(seen, first / np.maximum(middle, 1), 1.0)
    return float(2.0 * np.sum(counts * np.log(np.where(seen, counts, 1) / np.where(seen, fitted, 1.0)) * seen))
