"""Where EM begins: k-means++ for any family, with its divergence in place of the squared distance.

Seeds are drawn by k-means++, the best of a few draws each; then come a few rounds of hard clustering (Banerjee et al.
2005). Centres are pulled slightly towards the mean of all rows, so that a row with a count is not infinitely far from a
centre that has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.jit import inner_kernel, kernel
from ...families import verbs
from ...families.verbs import implements
from ...partitions.seats import FloatArray
from ...partitions.seeding import Seeds, draw_seeds, scatter_seeds, seed_losses
from ...partitions.sums import add_known_by_label, row_statistics_of
from ..mixture.problem import Problem

# Most rows that seeds are drawn from: this many, or so many for each component. EM itself uses all rows.
ENOUGH_ROWS, ROWS_PER_CENTRE = 2000, 20
# The mean of all rows counts as this many rows of each centre.
PULL = 0.1
# Rounds of hard clustering.
ROUNDS = 10


class PulledCentres(NamedTuple):
    """Rows with their statistics, and the mean statistics of all rows, which centres are pulled towards."""

    family: Any
    rows: FloatArray
    statistics: FloatArray
    mean: FloatArray

    @classmethod
    def of(cls, problem: Problem, weights: FloatArray) -> PulledCentres:
        """All rows of a problem; an empty array of weights counts each once."""
        n, width = problem.n_rows, problem.family.layout().statistics
        statistics, total = np.empty((n, width)), np.zeros((1, width))
        row_statistics_of(problem.hyper, problem.rows, statistics)
        add_known_by_label(statistics, weights, np.zeros(n, dtype=np.int64), total)
        return cls(problem.hyper, problem.rows, statistics, total[0] / total[0, 0])


def kmeans_plus_plus(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    """Statistics of each cluster of a first clustering of (some of) the rows."""
    source, weights = _source(problem, n_components, rng)
    seeds = Seeds.allocate(n_components, len(source.rows))
    scatter_seeds(source, rng, weights, 2 + int(math.log(n_components)), -1.0, seeds)
    return _clustered(source, weights, seeds, ROUNDS)


def random_rows(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    """The same with rows drawn at random as centres, and no rounds of hard clustering."""
    source, weights = _source(problem, n_components, rng)
    seeds = Seeds.allocate(n_components, len(source.rows))
    draw_seeds(source, rng, weights, seeds)
    return _clustered(source, weights, seeds, 0)


SEEDS: dict[str, Callable[[Problem, int, np.random.Generator], FloatArray]] = {
    "kmeans++": kmeans_plus_plus,
    "random": random_rows,
}


def _source(problem: Problem, n_components: int, rng: np.random.Generator) -> tuple[PulledCentres, FloatArray]:
    """The rows that seeds are drawn from, and their weights."""
    n, most = problem.n_rows, max(ENOUGH_ROWS, ROWS_PER_CENTRE * n_components)
    if n > most:
        problem = problem.some(np.sort(rng.choice(n, size=most, replace=False)))
    weights = np.empty(0) if problem.weights is None else problem.weights
    return PulledCentres.of(problem, weights), weights


def _clustered(source: PulledCentres, weights: FloatArray, seeds: Seeds, rounds: int) -> FloatArray:
    sums = np.zeros((len(seeds.rows), source.statistics.shape[1]))
    _cluster(source, weights, seeds, rounds, sums)
    return sums


@implements(seed_losses, PulledCentres)
def _seed_losses(source, i, out):
    centre = np.empty(source.mean.size)
    _pull(source.statistics[i], 1.0, source.mean, centre)
    for other in range(out.size):
        out[other] = max(verbs.divergence(source.family, source.rows[other], centre), 0.0)


@kernel
def _cluster(source, weights, seeds, rounds, sums):
    """Rounds of hard clustering from the labels of ``seeds``; ``sums`` receives the statistics of the clusters."""
    n_components, width = sums.shape
    centres = np.empty((n_components, width))
    for k in range(n_components):
        _pull(source.statistics[seeds.rows[k]], 1.0, source.mean, centres[k])
    add_known_by_label(source.statistics, weights, seeds.labels, sums)
    for _ in range(rounds):
        for k in range(n_components):
            if sums[k, 0] > 0.0:
                _pull(sums[k], sums[k, 0], source.mean, centres[k])
        if not _reassign(source, centres, seeds.labels):
            break
        sums[:] = 0.0
        add_known_by_label(source.statistics, weights, seeds.labels, sums)


@inner_kernel
def _reassign(source, centres, labels):
    """Give each row to the centre of least divergence; returns whether any row moved."""
    moved = False
    for i in range(labels.size):
        least, closest = math.inf, labels[i]
        for k in range(centres.shape[0]):
            value = verbs.divergence(source.family, source.rows[i], centres[k])
            if value < least:
                least, closest = value, k
        moved = moved or closest != labels[i]
        labels[i] = closest
    return moved


@inner_kernel
def _pull(total, count, mean, centre):
    """Centre of ``count`` rows with the statistics ``total``, pulled towards the mean of all rows."""
    for s in range(total.size):
        centre[s] = (total[s] + PULL * mean[s]) / (count + PULL)
