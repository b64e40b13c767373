"""Sets of draws of seven rows, of several kinds; and all partitions of seven rows with their exact expected losses."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import xlogy

from by_hand import posterior_of
from countless.core.validate import by_first_appearance
from countless.families import SphericalGaussian
from countless.models.mixture.posterior import MixturePosterior
from countless.priors import CRP
from exact.enumeration import exact_posterior, partitions

EVERY = partitions(7)
NUMBER = {tuple(labels): number for number, labels in enumerate(EVERY.tolist())}
MEMBERS = np.array([labels[:, None] == np.arange(7) for labels in EVERY], dtype=np.int64)


def draws_of_seven(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Draws (draw, row)."""
    match kind:
        case "posterior of a mixture":
            X = rng.normal(size=(7, 1)) + rng.choice([-1.5, 0.0, 1.5], size=(7, 1))
            family = SphericalGaussian(variance=1.0, mean=[0.0], mean_variance=4.0).resolve(X)
            return EVERY[rng.choice(len(EVERY), 100, p=exact_posterior(family, X, CRP(1.0).resolve(7)))]
        case "few partitions":
            return EVERY[rng.choice(len(EVERY), 100, p=rng.dirichlet(np.full(len(EVERY), 0.02)))]
        case "a noisy partition":
            labels = np.repeat(EVERY[rng.integers(len(EVERY))][None], 60, axis=0)
            noisy = rng.random(labels.shape) < 0.3
            labels[noisy] = rng.integers(7, size=noisy.sum())
        case "rows that waver":
            labels = (rng.random((60, 7)) < rng.random(7)).astype(np.int64)
        case "five draws at random":
            labels = EVERY[rng.choice(len(EVERY), 5)]
    return np.array([by_first_appearance(draw) for draw in labels])


@cache
def problem(kind: str, number: int) -> np.ndarray:
    """One of many sets of draws of a kind."""
    return draws_of_seven(kind, np.random.default_rng([number, KINDS.index(kind)]))


def posterior(labels: np.ndarray) -> MixturePosterior:
    """A posterior that is nothing but draws (draw, row) of one chain."""
    return posterior_of(labels[None])


KINDS = ("posterior of a mixture", "few partitions", "a noisy partition", "rows that waver", "five draws at random")


def exact_losses(loss: str, draws: np.ndarray, weight: float = 1.0) -> np.ndarray:
    """Expected loss of each partition of seven rows."""
    return _between_all(loss, weight)[:, [NUMBER[tuple(draw)] for draw in draws.tolist()]].mean(axis=1)


@cache
def _between_all(loss: str, weight: float) -> np.ndarray:
    """Loss of each partition of seven rows against each, by the textbook formulas."""
    parts = [_between(loss, weight, MEMBERS[start : start + 100]) for start in range(0, len(EVERY), 100)]
    return np.concatenate(parts)


def _between(loss: str, weight: float, candidates: np.ndarray) -> np.ndarray:
    tables = np.einsum("cik,mil->cmkl", candidates, MEMBERS)
    sizes, other = tables.sum(axis=3), tables.sum(axis=2)
    if loss == "vi":
        joint = -xlogy(tables / 7, tables / 7).sum(axis=(2, 3))
        entropies = [-xlogy(margin / 7, margin / 7).sum(axis=2) for margin in (sizes, other)]
        # The estimate given the draw: how it separates what the draw has together. The draw given the estimate.
        return weight * (joint - entropies[1]) + (2.0 - weight) * (joint - entropies[0])
    both, mine, others = ((n * (n - 1) // 2).reshape(*n.shape[:2], -1).sum(axis=2) for n in (tables, sizes, other))
    if loss == "binder":
        separated, joined = others - both, mine - both
        return 2.0 * (weight * separated + (2.0 - weight) * joined) / 49.0
    chance = mine * others / 21.0
    spread = (mine + others) / 2 - chance
    return 1.0 - np.where(spread == 0, 1.0, (both - chance) / np.where(spread == 0, 1.0, spread))
