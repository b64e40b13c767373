"""Scores of rows under clusters: log predictives, natural parameters, and what the prior gives a new row."""

from __future__ import annotations

import numpy as np

from ..core.jit import kernel
from ..families import verbs
from ..priors.verbs import Prior
from .seats import FloatArray, IntArray


def log_seat_weights(prior: Prior, labels: IntArray) -> FloatArray:
    """Log probability that the next item joins each group, or (last) a new one; the prior has a fixed concentration."""
    n_clusters = int(labels.max()) + 1
    table = prior.table(len(labels) + 1, n_clusters + 1)
    sizes = np.bincount(labels, minlength=n_clusters)
    log_weights = np.append(np.log(sizes + table.offset), table.log_v[n_clusters + 1] - table.log_v[n_clusters])
    return log_weights - np.logaddexp.reduce(log_weights)


@kernel
def log_predictives_of(family, statistics, cache, work, rows, out):
    """Log predictive of each row (rows of ``out``) under each cluster (columns)."""
    for i in range(rows.shape[0]):
        for k in range(statistics.shape[0]):
            out[i, k] = verbs.log_predictive(family, statistics, cache, k, rows[i], work)


@kernel
def naturals_of(family, parameters, out):
    """Natural parameters of each cluster from its parameters."""
    for k in range(parameters.shape[0]):
        verbs.natural(family, parameters, k, out[k])
