"""What draws say about pairs: means, probabilities of links, and the log probability of cells that were held out."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import expit

from .kernels.blocks import FloatArray, IntArray
from .posterior import AttributesPosterior

# Draws that predictions are averaged over, and that a solution is matched with.
PREDICTIVE_DRAWS, MATCHED_DRAWS = 200, 300


def mean_links(posterior: AttributesPosterior) -> FloatArray:
    """Posterior mean of each pair: of its value, or of the probability of a link."""
    which = posterior.spaced(PREDICTIVE_DRAWS)
    total = np.zeros_like(posterior.data.matrix)
    for number in which:
        sums = posterior.solution(int(number)).sums()
        total += expit(sums) if posterior.data.binary else sums
    return total / len(which)


def log_predictive(posterior: AttributesPosterior, matrix: FloatArray) -> FloatArray:
    """Log predictive of each cell of a matrix, averaged over draws; NaN where the matrix is."""
    which = posterior.spaced(PREDICTIVE_DRAWS)
    total = np.full_like(matrix, -np.inf)
    asked = np.nan_to_num(matrix)
    for number in which:
        drawn = posterior.solution(int(number))
        sums = drawn.sums()
        if posterior.data.binary:
            logs = asked * sums - np.logaddexp(0.0, sums)
        else:
            logs = -0.5 * ((asked - sums) ** 2 / drawn.noise + np.log(2.0 * np.pi * drawn.noise))
        total = np.logaddexp(total, logs)
    return np.where(np.isnan(matrix), np.nan, total - np.log(len(which)))


def memberships(posterior: AttributesPosterior, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """For each attribute of a solution and each object: probability to have it, and to be in the cluster it is in
    there.

    The attributes of a draw are matched with those of the solution so that as many pairs as possible are shared by
    both.
    """
    which = posterior.spaced(MATCHED_DRAWS)
    has, same = np.zeros(labels.shape), np.zeros(labels.shape)
    if not len(labels):
        return has, same
    inside = (labels >= 0).astype(np.float64)
    sizes = inside.sum(axis=1)
    for number in which:
        drawn = posterior.labels(int(number))
        if not len(drawn):
            continue
        there = (drawn >= 0).astype(np.float64)
        common = inside @ there.T
        union = sizes[:, None] + there.sum(axis=1) - common
        ours, theirs = linear_sum_assignment(common / union, maximize=True)
        for one, other in zip(ours, theirs, strict=True):
            if common[one, other] > 0.0:
                has[one] += there[other]
                same[one] += _same_cluster(labels[one], drawn[other])
    return has / len(which), same / len(which)


def _same_cluster(labels: IntArray, drawn: IntArray) -> FloatArray:
    """Whether an object is in the cluster of the draw that has most of the objects of its cluster."""
    both = (labels >= 0) & (drawn >= 0)
    table = np.zeros((int(labels.max()) + 1, int(drawn.max()) + 1))
    np.add.at(table, (labels[both], drawn[both]), 1.0)
    ours, theirs = linear_sum_assignment(table, maximize=True)
    partner = np.full(len(table), -2)
    partner[ours] = theirs
    found = np.zeros(len(labels))
    found[both] = partner[labels[both]] == drawn[both]
    return found
