"""Averages of solutions in a common form, and back to a solution by thresholds (von Looz 2013, 4.3.3).

The common form of an attribute does not depend on the number or the order of its clusters: who has it, which pairs are
in one cluster of it, and the weight of each pair. Attributes of two common forms are matched so that they are as alike
as can be; what only one of them has counts half for both, in the average of two, or with its weight, in that of many.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, linear_sum_assignment
from scipy.special import digamma

from ..kernels.blocks import FloatArray, IntArray
from ..posterior import Solution

# Thresholds that are tried where they are calibrated: steps of a hundredth.
STEPS = np.arange(1, 100) / 100.0


class CommonForm(NamedTuple):
    """Solutions, or averages of them, in the common form (algorithm 9).

    Attributes
    ----------
    has : array (attribute, object)
    together : array (attribute, object, object)
        Whether both are in one cluster.
    weights : array (attribute, object, object)
        Weight of the pair; 0 where one lacks the attribute.
    """

    has: FloatArray
    together: FloatArray
    weights: FloatArray


def common_form(solution: Solution) -> CommonForm:
    """The common form of a solution."""
    labels = solution.labels
    inside = labels >= 0
    both = inside[:, :, None] & inside[:, None, :]
    together = both & (labels[:, :, None] == labels[:, None, :])
    weights = np.zeros(both.shape)
    for m, square in enumerate(solution.weights):
        if len(square):
            weights[m] = np.where(both[m], square[np.ix_(labels[m], labels[m])], 0.0)
    return CommonForm(inside.astype(np.float64), together.astype(np.float64), weights)


def average(forms: Iterable[CommonForm]) -> CommonForm:
    """The mean of common forms, one after the other; never more than two of them are looked at (algorithm 10)."""
    whole: CommonForm | None = None
    for count, form in enumerate(forms):
        whole = form if whole is None else _averaged(whole, form, 1.0 / (count + 1.0))
    if whole is None:
        raise ValueError("forms: there is nothing to average")
    return whole


def _averaged(one: CommonForm, other: CommonForm, share: float) -> CommonForm:
    """Two common forms, the second with this share."""
    size = max(len(one.has), len(other.has))
    padded = [_padded(form, size) for form in (one, other)]
    left, right = (form.together.reshape(size, -1) for form in padded)
    likeness = left @ right.T - 0.5 * ((left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1))
    ours, theirs = linear_sum_assignment(likeness, maximize=True)
    order = np.empty(size, dtype=np.int64)
    order[ours] = theirs
    return CommonForm(
        *((1.0 - share) * mine + share * yours[order] for mine, yours in zip(padded[0], padded[1], strict=True))
    )


def _padded(form: CommonForm, size: int) -> CommonForm:
    more = size - len(form.has)
    return CommonForm(*(np.concatenate([part, np.zeros((more, *part.shape[1:]))]) for part in form))


def collapse(form: CommonForm, attribute: float = 0.5, cluster: float = 0.5) -> Solution:
    """A solution: objects whose mean reaches one threshold, in clusters of pairs that reach the other (algorithm 11).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.models.attributes.aggregate.average import average, collapse, common_form
    >>> from countless.models.attributes.posterior import Solution
    >>> draws = [Solution(np.array([line]), [np.zeros((2, 2))], 0.0, 1.0) for line in ([0, 0, 1, 1], [1, 1, 0, -1])]
    >>> draws.append(Solution(np.array([[0, 1, -1, 0]]), [np.zeros((2, 2))], 0.0, 1.0))
    >>> collapse(average(map(common_form, draws))).labels.tolist()
    [[0, 0, 1, 2]]
    """
    lines, weights = [], []
    for has, together, values in zip(*form, strict=True):
        line = _clusters(has >= attribute - 1e-12, together >= cluster - 1e-12)
        if (line >= 0).any():
            lines.append(line)
            weights.append(_mean_weights(line, values))
    labels = np.array(lines, dtype=np.int64).reshape(len(lines), form.has.shape[1])
    return Solution(labels, weights, 0.0, 1.0)


def _clusters(inside: FloatArray, alike: FloatArray) -> IntArray:
    """Each object that is not in a cluster yet begins one, with all that are like it."""
    line = np.full(len(inside), -1, dtype=np.int64)
    count = 0
    for i in np.flatnonzero(inside):
        if line[i] < 0:
            line[i] = count
            count += 1
        line[inside & alike[i] & (line < 0)] = line[i]
    return line


def _mean_weights(line: IntArray, values: FloatArray) -> FloatArray:
    groups = [np.flatnonzero(line == c) for c in range(int(line.max()) + 1)]
    return np.array([[values[np.ix_(one, other)].mean() for other in groups] for one in groups])


def calibrated(form: CommonForm, concentration: float, cluster_concentration: float) -> Solution:
    """Collapse with the thresholds that give the concentrations nearest to these (4.3.3, 'Calibrating Thresholds').

    The concentration of the buffet is judged by the number of attributes, that of the clusters by their number: each by
    the value under which as many are expected.
    """
    n = form.has.shape[1]
    harmonic = float(digamma(n + 1.0) - digamma(1.0))
    counts = np.array([(form.has >= step - 1e-12).any(axis=1).sum() for step in STEPS])
    attribute = float(STEPS[int(np.argmin(np.abs(counts / harmonic - concentration)))])
    found = [_implied(collapse(form, attribute, float(step)).labels) for step in STEPS]
    cluster = float(STEPS[int(np.argmin(np.abs(np.array(found) - cluster_concentration)))])
    return collapse(form, attribute, cluster)


def _implied(labels: IntArray) -> float:
    """The concentration under which as many clusters are expected in attributes of these sizes."""
    members = (labels >= 0).sum(axis=1)
    clusters = float((labels.max(axis=1, initial=-1) + 1).sum())

    def excess(log: float) -> float:
        value = np.exp(log)
        return float((value * (digamma(value + members) - digamma(value))).sum()) - clusters

    if not len(members) or excess(-12.0) > 0.0:
        return 0.0
    return np.inf if excess(12.0) < 0.0 else float(np.exp(brentq(excess, -12.0, 12.0)))
