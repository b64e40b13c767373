"""The truncated stick prior over partitions, by sums over all ways to put the blocks of a partition on sticks.

Given sticks v the chance of labels is a product of powers of v_k and 1 - v_k; its mean over independent beta laws is a
product of their mixed moments, here as ratios of rising factorials, written without looking at the library's own.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, poch
from scipy.stats import gamma as gamma_law

from countless.families import Family
from countless.priors import Prior

from .enumeration import log_evidences, partitions

FloatArray = NDArray[np.float64]


def shapes_by_hand(prior: Prior, n_sticks: int) -> list[tuple[float, float]]:
    """Beta laws of the sticks of the three priors that have any (the last one is not drawn)."""
    c = float(prior.concentration)  # type: ignore[arg-type]
    kind = type(prior).__name__
    if kind == "FiniteDirichlet":
        share = c / prior.n_components  # type: ignore[attr-defined]
        return [(share, c - share * (k + 1)) for k in range(n_sticks)]
    discount = prior.discount if kind == "PitmanYor" else 0.0  # type: ignore[attr-defined]
    return [(1.0 - discount, c + discount * (k + 1)) for k in range(n_sticks)]


@cache
def _all_sizes(n_rows: int) -> list[tuple[int, ...]]:
    return [tuple(sorted(np.bincount(labels).tolist())) for labels in partitions(n_rows)]


def log_truncated_priors(prior: Prior, n_rows: int, n_sticks: int) -> FloatArray:
    """Log probability of each partition under ``n_sticks`` sticks, the last of which takes what is left."""
    shapes = shapes_by_hand(prior, n_sticks)[:-1]

    def chance(counts: tuple[int, ...]) -> float:
        return prod(
            poch(a, counts[k]) * poch(b, sum(counts[k + 1 :])) / poch(a + b, sum(counts[k:]))
            for k, (a, b) in enumerate(shapes)
        )

    memory: dict[tuple[int, ...], float] = {}
    for sizes in set(_all_sizes(n_rows)):
        blocks = [*range(len(sizes)), *[-1] * (n_sticks - len(sizes))]
        places = set(permutations(blocks)) if len(sizes) <= n_sticks else set()
        memory[sizes] = sum(chance(tuple(sizes[b] if b >= 0 else 0 for b in place)) for place in places)
    with np.errstate(divide="ignore"):
        return np.log([memory[sizes] for sizes in _all_sizes(n_rows)])


def truncated_posterior(family: Family, X: FloatArray, prior: Prior, n_sticks: int) -> FloatArray:
    """Posterior probability of each partition under the truncated prior."""
    log_joint = log_truncated_priors(prior, len(X), n_sticks) + log_evidences(family, X)
    return np.exp(log_joint - logsumexp(log_joint))


def learned_posterior(family: Family, X: FloatArray, prior: Prior, n_sticks: int) -> tuple[FloatArray, float]:
    """Posterior of the partitions and posterior mean of a learned concentration, by the trapezoid rule in its log."""
    law = prior.concentration
    values = np.exp(np.arange(-8.0, 4.0, 0.1))
    weights = values * gamma_law(law.shape, scale=1.0 / law.rate).pdf(values)  # type: ignore[union-attr]
    evidence = log_evidences(family, X)
    table = np.array([log_truncated_priors(prior.with_concentration(value), len(X), n_sticks) for value in values])
    joint = weights[:, None] * np.exp(table + evidence - evidence.max())
    joint /= joint.sum()
    return joint.sum(axis=0), float(values @ joint.sum(axis=1))
