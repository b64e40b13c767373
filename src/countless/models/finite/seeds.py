"""Where EM begins: k-means++ for any family, with its divergence in the place of the squared distance.

Arthur and Vassilvitskii (2007): a row becomes a centre with probability proportional to its divergence from the
centres so far, here the best of a few such draws; then a few rounds of hard clustering (Banerjee et al. 2005). A centre
is pulled slightly towards the mean of all rows, so that one that never saw a count is not infinitely far from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...core.jit import kernel
from ...families import verbs
from ..mixture.state import FloatArray, Problem

# Rows that centres are sought among, at least; and for each centre. EM itself goes over all of them.
ENOUGH_ROWS, ROWS_PER_CENTRE = 2000, 20
# Rows that the mean of all is worth in a centre.
PULL = 0.1
# Rounds of hard clustering.
ROUNDS = 10


def kmeans_plus_plus(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    """Statistics of each cluster of a first clustering of (some of) the rows."""
    return _seed(problem, n_components, rng, tries=2 + int(math.log(n_components)), rounds=ROUNDS)


def random_rows(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    """The same with centres that are rows drawn at random, and no rounds."""
    return _seed(problem, n_components, rng, tries=0, rounds=0)


SEEDS: dict[str, Callable[[Problem, int, np.random.Generator], FloatArray]] = {
    "kmeans++": kmeans_plus_plus,
    "random": random_rows,
}


def _seed(problem: Problem, n_components: int, rng: np.random.Generator, tries: int, rounds: int) -> FloatArray:
    n, most = problem.n_rows, max(ENOUGH_ROWS, ROWS_PER_CENTRE * n_components)
    if n > most:
        problem = problem.some(np.sort(rng.choice(n, size=most, replace=False)))
        n = most
    width = problem.family.layout().statistics
    weights = np.ones(n) if problem.weights is None else problem.weights
    statistics = np.empty((n, width))
    _statistics(problem.hyper, problem.rows, statistics)
    sums = np.zeros((n_components, width))
    work = np.zeros(width)
    _cluster(problem.hyper, rng, problem.rows, statistics, weights, tries, rounds, sums, work)
    return sums


@kernel
def _statistics(family, rows, out):
    for i in range(rows.shape[0]):
        verbs.row_statistics(family, rows[i], out[i])


@kernel
def _cluster(family, rng, rows, statistics, weights, tries, rounds, sums, work):
    """Seed and cluster; ``sums`` receives the weighted statistics of the clusters."""
    n, width = statistics.shape
    n_components = sums.shape[0]
    whole = np.zeros(width)
    heavy = 0.0
    for i in range(n):
        heavy += weights[i]
        for s in range(width):
            whole[s] += weights[i] * statistics[i, s]
    for s in range(width):
        whole[s] /= heavy
    centres = np.empty((n_components, width))
    nearest = np.full(n, math.inf)
    labels = np.zeros(n, dtype=np.int64)
    trial = np.empty(n)
    best = np.empty(n)
    for k in range(n_components):
        least = math.inf
        chosen = 0
        for attempt in range(max(tries, 1)):
            i = _pick(rng, weights, nearest, k == 0 or tries == 0)
            _pull(statistics[i], 1.0, whole, centres[k])
            potential = 0.0
            for other in range(n):
                trial[other] = min(nearest[other], max(verbs.divergence(family, rows[other], centres[k]), 0.0))
                potential += weights[other] * trial[other]
            if potential < least or attempt == 0:
                least = potential
                chosen = i
                best[:] = trial
        _pull(statistics[chosen], 1.0, whole, centres[k])
        for other in range(n):
            if best[other] < nearest[other]:
                nearest[other] = best[other]
                labels[other] = k
        # A row that is the same as an earlier one still begins its own cluster.
        labels[chosen] = k
    for _ in range(rounds):
        _add_up(statistics, labels, weights, sums)
        for k in range(n_components):
            if sums[k, 0] > 0.0:
                _pull(sums[k], sums[k, 0], whole, centres[k])
        moved = 0
        for i in range(n):
            least = math.inf
            closest = labels[i]
            for k in range(n_components):
                value = verbs.divergence(family, rows[i], centres[k])
                if value < least:
                    least = value
                    closest = k
            moved += closest != labels[i]
            labels[i] = closest
        if moved == 0:
            break
    _add_up(statistics, labels, weights, sums)


@kernel
def _pick(rng, weights, nearest, anywhere):
    """A row with probability proportional to its weight, times its divergence unless ``anywhere``."""
    total = 0.0
    if not anywhere:
        for i in range(weights.size):
            total += weights[i] * nearest[i]
    use = total > 0.0
    if not use:
        total = weights.sum()
    threshold = rng.random() * total
    last = 0
    for i in range(weights.size):
        share = weights[i] * nearest[i] if use else weights[i]
        if share > 0.0:
            last = i
            threshold -= share
            if threshold < 0.0:
                return i
    return last


@kernel
def _pull(total, count, whole, centre):
    for s in range(total.size):
        centre[s] = (total[s] + PULL * whole[s]) / (count + PULL)


@kernel
def _add_up(statistics, labels, weights, sums):
    sums[:] = 0.0
    for i in range(labels.size):
        for s in range(statistics.shape[1]):
            sums[labels[i], s] += weights[i] * statistics[i, s]
