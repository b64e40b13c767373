"""Seeds by k-means++: rows drawn one by one, each in proportion to what it still loses.

Arthur and Vassilvitskii (2007), for any loss: those who need seeds have a NamedTuple with what the loss is made of, and
implement the verb ``seed_losses`` for it (a divergence, or how much log predictive density a row lacks).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.jit import inner_kernel, kernel
from ..families.verbs import required
from .sums import weight_of


class Seeds(NamedTuple):
    """Seeds and what they leave behind.

    Attributes
    ----------
    rows : array of int (seed,)
        The rows that were chosen, in order.
    losses : array (row,)
        Smallest loss of each row.
    labels : array of int (row,)
        The seed with that loss, the first of equals; a row that was chosen has the number of its own seed.
    """

    rows: NDArray[np.int64]
    losses: NDArray[np.float64]
    labels: NDArray[np.int64]

    @classmethod
    def allocate(cls, n_seeds: int, n_rows: int) -> Seeds:
        """Room for so many seeds; no row has a seed yet."""
        return cls(np.zeros(n_seeds, dtype=np.int64), np.full(n_rows, np.inf), np.zeros(n_rows, dtype=np.int64))


@required
def seed_losses(source, i, out):
    """Write into ``out`` what each row loses when row ``i`` is its seed; losses below zero count as zero in draws."""


@inner_kernel
def draw_index(rng, shares):
    """An index drawn in proportion to ``shares``; -1, and no random number used, where all of them are zero."""
    total = 0.0
    for i in range(shares.size):
        total += shares[i]
    if not total > 0.0:
        return -1
    threshold = rng.random() * total
    last = -1
    for i in range(shares.size):
        if shares[i] > 0.0:
            last = i
            threshold -= shares[i]
            if threshold < 0.0:
                break
    return last


@inner_kernel
def take_seed(chosen, losses, number, seeds):
    """Make row ``chosen`` seed ``number``, with its ``losses``; returns the largest loss that is left."""
    seeds.rows[number] = chosen
    largest = 0.0
    for i in range(losses.size):
        if losses[i] < seeds.losses[i]:
            seeds.losses[i] = losses[i]
            seeds.labels[i] = number
        largest = max(largest, seeds.losses[i])
    # A row that equals an earlier seed still begins its own cluster.
    seeds.labels[chosen] = number
    return largest


@kernel
def draw_seeds(source, rng, weights, seeds):
    """Seeds drawn in proportion to the weights of the rows alone; a row can be drawn twice."""
    n = seeds.losses.size
    shares = np.empty(n)
    losses = np.empty(n)
    for i in range(n):
        shares[i] = weight_of(weights, i)
    for number in range(seeds.rows.size):
        chosen = draw_index(rng, shares)
        seed_losses(source, chosen, losses)
        take_seed(chosen, losses, number, seeds)


@kernel
def scatter_seeds(source, rng, weights, tries, enough, seeds):
    """Seeds by k-means++; returns how many were chosen.

    The first is drawn in proportion to the weights, each later one in proportion to weight times loss. Of ``tries``
    draws the one that leaves the least weighted total is kept. The search ends early when no row loses more than
    ``enough``. If that is negative it never does, and once no row loses anything rows are drawn by weight again.
    """
    n = seeds.losses.size
    shares = np.empty(n)
    losses = np.empty(n)
    best = np.empty(n)
    for i in range(n):
        shares[i] = weight_of(weights, i)
    for number in range(seeds.rows.size):
        chosen, least = -1, math.inf
        for attempt in range(tries):
            candidate = draw_index(rng, shares)
            seed_losses(source, candidate, losses)
            total = 0.0
            for i in range(n):
                total += weight_of(weights, i) * max(min(seeds.losses[i], losses[i]), 0.0)
            if attempt == 0 or total < least:
                chosen, least = candidate, total
                best[:] = losses
        if not take_seed(chosen, best, number, seeds) > enough:
            return number + 1
        left = 0.0
        for i in range(n):
            shares[i] = weight_of(weights, i) * max(seeds.losses[i], 0.0)
            left += shares[i]
        if not left > 0.0:
            for i in range(n):
                shares[i] = weight_of(weights, i)
    return seeds.rows.size
