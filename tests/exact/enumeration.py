"""The exact posterior over all partitions of seven rows, from evidences of blocks in plain Python.

Nothing here touches an engine: the prior is asked for the probability of a partition and the family for the
evidence of the rows of each block; the two are multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from countless.families import Family
from countless.priors import Prior

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def _grow(labels: tuple[int, ...], n_clusters: int, n: int) -> Iterator[tuple[int, ...]]:
    if len(labels) == n:
        yield labels
        return
    for label in range(n_clusters + 1):
        yield from _grow((*labels, label), max(n_clusters, label + 1), n)


@cache
def partitions(n: int) -> IntArray:
    """Every set partition of n rows, one per line, as labels numbered by first appearance."""
    return np.array(list(_grow((), 0, n)), dtype=np.int64)


def _codes(labels: IntArray) -> IntArray:
    """One number per partition, the same for every naming of its clusters."""
    n = labels.shape[1]
    pairs = [labels[:, i] == labels[:, j] for i, j in combinations(range(n), 2)]
    return np.stack(pairs, axis=1) @ (1 << np.arange(len(pairs)))


@cache
def _code_order(n: int) -> tuple[IntArray, IntArray]:
    codes = _codes(partitions(n))
    order = np.argsort(codes)
    return codes[order], order


def frequencies(labels: IntArray) -> FloatArray:
    """Share of each partition, in the order of ``partitions``, among draws of labels (draw, row)."""
    n = labels.shape[1]
    codes, order = _code_order(n)
    at = np.searchsorted(codes, _codes(labels))
    counts = np.zeros(len(order))
    np.add.at(counts, order[at], 1.0)
    return counts / len(labels)


@cache
def _blocks(n: int) -> tuple[list[list[int]], IntArray]:
    """Every set of rows, and for each partition the numbers of its blocks among them, filled up with -1."""
    sets = [rows for size in range(1, n + 1) for rows in combinations(range(n), size)]
    number = {rows: at for at, rows in enumerate(sets)}
    table = np.full((len(partitions(n)), n), -1)
    for at, labels in enumerate(partitions(n)):
        for k in range(labels.max() + 1):
            table[at, k] = number[tuple(np.flatnonzero(labels == k).tolist())]
    return [list(rows) for rows in sets], table


def log_evidences(family: Family, X: FloatArray) -> FloatArray:
    """Log evidence of the rows of each partition: the sum over its blocks."""
    sets, table = _blocks(len(X))
    evidences = np.array([*(family.log_marginal(X[rows]) for rows in sets), 0.0])  # the last one is that of no rows
    return evidences[table].sum(axis=1)


@cache
def log_priors(prior: Prior, n: int) -> FloatArray:
    """Log prior probability of each partition; a learned concentration is integrated out."""
    sizes = [tuple(sorted(np.bincount(labels).tolist())) for labels in partitions(n)]
    values = {shape: prior.log_prob_sizes(shape) for shape in set(sizes)}
    return np.array([values[shape] for shape in sizes])


def exact_posterior(family: Family, X: FloatArray, prior: Prior) -> FloatArray:
    """Posterior probability of each partition."""
    log_joint = log_priors(prior, len(X)) + log_evidences(family, X)
    return np.exp(log_joint - logsumexp(log_joint))


def total_variation(p: FloatArray, q: FloatArray) -> float:
    """Half the sum of absolute differences."""
    return 0.5 * float(np.abs(p - q).sum())


def expected_total_variation(p: FloatArray, n_draws: int, rng: np.random.Generator) -> float:
    """Total variation that ``n_draws`` independent draws show on average: the mean over 50 samples."""
    samples = rng.multinomial(n_draws, p, size=50) / n_draws
    return float(np.mean([total_variation(sample, p) for sample in samples]))
