"""Equivalent solutions: attributes that refine each other merged, and a common order (von Looz 2013, 4.3.1 and 4.3.2).

An attribute refines another one where each of its clusters, and the objects without it as one more group, lies in one
group of the other. The coarser one can then be left out: its weights are added to those of the finer one, and the sum
of every pair stays as it was. That needs every object of the coarser attribute to have the finer one.
"""

from __future__ import annotations

import numpy as np

from ..kernels.blocks import FloatArray, IntArray
from ..posterior import Solution


def refines(fine: IntArray, coarse: IntArray) -> bool:
    """Whether every group of the one, absence among them, lies in one group of the other.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.models.attributes.aggregate.classes import refines
    >>> refines(np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1])), refines(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]))
    (True, False)
    """
    pairs = np.unique(np.stack([fine, coarse]), axis=1)
    # Objects that have the coarser attribute only would lose its weight.
    return len(np.unique(pairs[0])) == pairs.shape[1] and not np.any((fine < 0) & (coarse >= 0))


def merged_weights(fine: IntArray, coarse: IntArray, own: FloatArray, other: FloatArray) -> FloatArray:
    """Weights of the finer attribute with those of the coarser one added."""
    found = own.copy()
    group = np.array([coarse[int((fine == c).argmax())] for c in range(len(own))])
    inside = group >= 0
    found[np.ix_(inside, inside)] += other[np.ix_(group[inside], group[inside])]
    return found


def left_ordered(solution: Solution) -> Solution:
    """Attributes by their column read as a binary number, the largest first; clusters by first object."""
    order = sorted(range(len(solution.labels)), key=lambda m: tuple(solution.labels[m] < 0))
    labels, weights = [], []
    for m in order:
        line = solution.labels[m]
        inside = line >= 0
        values, first = np.unique(line[inside], return_index=True)
        old = values[np.argsort(first, kind="stable")]
        number = np.full(len(solution.weights[m]), -1, dtype=np.int64)
        number[old] = np.arange(len(old))
        labels.append(np.where(inside, number[line], -1))
        weights.append(solution.weights[m][np.ix_(old, old)])
    return solution._replace(labels=np.array(labels, dtype=np.int64).reshape(solution.labels.shape), weights=weights)


def representative(solution: Solution) -> Solution:
    """The representative of the class of a solution: the same sums, no attribute that another one refines (algorithm
    8).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.models.attributes.aggregate.classes import representative
    >>> from countless.models.attributes.posterior import Solution
    >>> labels = np.array([[0, 0, 1, 1], [0, 0, 1, 2]])
    >>> weights = [np.array([[1.0, 2.0], [2.0, 3.0]]), np.arange(9.0).reshape(3, 3)]
    >>> found = representative(Solution(labels, weights, 0.0, 1.0))
    >>> len(found.labels), bool((found.sums() == Solution(labels, weights, 0.0, 1.0).sums()).all())
    (1, True)
    """
    ordered = left_ordered(solution)
    lines, weights = list(ordered.labels), list(ordered.weights)
    at = 0
    while at < len(lines):
        fine = next((k for k in range(len(lines)) if k != at and refines(lines[k], lines[at])), None)
        if fine is None:
            at += 1
            continue
        weights[fine] = merged_weights(lines[fine], lines[at], weights[fine], weights[at])
        del lines[at], weights[at]
        at = 0
    labels = np.array(lines, dtype=np.int64).reshape(len(lines), solution.labels.shape[1])
    return left_ordered(ordered._replace(labels=labels, weights=weights))
