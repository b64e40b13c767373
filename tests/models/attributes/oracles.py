"""The exact posterior over attributes with clusters of three objects, written down from the generative process.

Every attribute is a set of objects with a partition: 14 of them for three objects. A state is a multiset of these. The
matrix is jointly normal given a state, with bias and weights integrated out: its covariance is a sum of one block for
each. Nothing here touches the library's kernels.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np
from scipy.special import gammaln
from scipy.stats import multivariate_normal

from exact.enumeration import partitions

OBJECTS, MOST = 3, 4


def canonical(labels):
    """Labels with -1 for absence, clusters by first appearance, as a tuple."""
    number = {}
    return tuple(-1 if label < 0 else number.setdefault(int(label), len(number)) for label in labels)


def all_attributes(n=OBJECTS):
    """Every set of objects with every partition of it."""
    found = []
    for code in range(1, 2**n):
        members = [i for i in range(n) if code >> i & 1]
        for part in partitions(len(members)):
            labels = np.full(n, -1)
            labels[members] = part
            found.append(canonical(labels))
    return found


def log_rate(labels, concentration, breadth, clustering):
    """Log rate of an attribute with these clusters in the two-parameter buffet: the binomial moments of its weight."""
    labels = np.array(labels)
    n, sizes = len(labels), np.bincount(labels[labels >= 0])
    m = sizes.sum()
    value = np.log(concentration * breadth) + gammaln(m) + gammaln(n - m + breadth) - gammaln(n + breadth)
    value += len(sizes) * np.log(clustering) + gammaln(sizes).sum()
    return value + gammaln(clustering) - gammaln(clustering + m)


def pairs_of(n, diagonal, directed):
    """Pairs that are cells of their own."""
    cells = [(i, j) for i in range(n) for j in range(n)]
    cells = [(i, j) for i, j in cells if (diagonal or i != j) and (directed or i >= j)]
    return np.array(cells)


def covariance(attributes, cells, laws, noise, directed):
    """Covariance and mean of the cells given attributes: bias, noise, and one block for each weight."""
    found = np.full((len(cells), len(cells)), laws.bias_variance) + noise * np.eye(len(cells))
    mean = np.full(len(cells), laws.bias_mean)
    for labels in attributes:
        names = []
        for i, j in cells:
            c, d = labels[i], labels[j]
            absent = c < 0 or d < 0
            names.append(None if absent else (c, d) if directed else (min(c, d), max(c, d)))
        for a, one in enumerate(names):
            mean[a] += 0.0 if one is None else laws.weight_mean
            for b, other in enumerate(names):
                found[a, b] += laws.weight_variance if one is not None and one == other else 0.0
    return found, mean


def exact_posterior(matrix, laws, diagonal=True, directed=False, most=MOST):
    """States (tuples of attributes, sorted) with at most so many attributes, and their posterior probabilities."""
    n = len(matrix)
    cells = pairs_of(n, diagonal, directed)
    values = matrix[cells[:, 0], cells[:, 1]]
    there = ~np.isnan(values)
    cells, values = cells[there], values[there]
    kinds = all_attributes(n)
    rates = {kind: log_rate(kind, laws.concentration, laws.breadth, laws.cluster_concentration) for kind in kinds}
    states, logs = [], []
    for count in range(most + 1):
        for state in combinations_with_replacement(kinds, count):
            found, mean = covariance(state, cells, laws, laws.noise, directed)
            repeats = prod(factorial(state.count(kind)) for kind in set(state))
            value = multivariate_normal.logpdf(values, mean, found)
            states.append(tuple(sorted(state)))
            logs.append(value + sum(rates[kind] for kind in state) - np.log(repeats))
    weights = np.exp(np.array(logs) - max(logs))
    return states, weights / weights.sum()


def exact_posterior_of_links(matrix, laws, most=MOST, nodes=16):
    """The same for links without a diagonal: the sums of the pairs are normal, and integrated by Gauss and Hermite.

    Attributes that one object has alone touch no pair, and are left out of the states.
    """
    n = len(matrix)
    cells = pairs_of(n, False, False)
    values = matrix[cells[:, 0], cells[:, 1]]
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack(np.meshgrid(*[points] * len(cells), indexing="ij"), axis=-1).reshape(-1, len(cells))
    shares = np.prod(np.stack(np.meshgrid(*[weights] * len(cells), indexing="ij"), axis=-1), axis=-1).ravel()
    shares /= shares.sum()
    kinds = [kind for kind in all_attributes(n) if sum(label >= 0 for label in kind) > 1]
    rates = {kind: log_rate(kind, laws.concentration, laws.breadth, laws.cluster_concentration) for kind in kinds}
    states, logs = [], []
    for count in range(most + 1):
        for state in combinations_with_replacement(kinds, count):
            found, mean = covariance(state, cells, laws, 0.0, False)
            lengths, axes = np.linalg.eigh(found)
            sums = mean + grid @ (axes * np.sqrt(np.maximum(lengths, 0.0))).T
            likelihood = np.exp(-np.logaddexp(0.0, np.where(values > 0, -1.0, 1.0) * sums).sum(axis=1))
            repeats = prod(factorial(state.count(kind)) for kind in set(state))
            states.append(tuple(sorted(state)))
            logs.append(np.log(shares @ likelihood) + sum(rates[kind] for kind in state) - np.log(repeats))
    weights = np.exp(np.array(logs) - max(logs))
    return states, weights / weights.sum()
