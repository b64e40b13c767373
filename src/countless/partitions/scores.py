"""Scores of rows under clusters: log predictives, natural parameters, and what the prior gives a new row."""

from __future__ import annotations

from typing import NamedTuple

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


class SeatsWithout(NamedTuple):
    """What the prior gives each item, given all the others: log weights that are not divided by their total.

    Attributes
    ----------
    groups : array (group,)
        Of each group, for items of other groups.
    own, new, total : arrays (item,)
        Of its own group less the item (-inf for an item that is alone), of a new one, and of everything.
    """

    groups: FloatArray
    own: FloatArray
    new: FloatArray
    total: FloatArray

    @classmethod
    def of(cls, prior: Prior, labels: IntArray) -> SeatsWithout:
        """For a prior with fixed numbers."""
        n_items, n_clusters = len(labels), int(labels.max()) + 1
        table, sizes = prior.table(n_items, n_clusters + 1), np.bincount(labels, minlength=n_clusters)
        mine = sizes[labels]
        alone = mine == 1
        others = n_clusters - alone
        new = table.log_v[others + 1] - table.log_v[others]
        seated = (sizes + table.offset).sum() - np.where(alone, 1.0 + table.offset, 1.0)
        with np.errstate(divide="ignore"):
            own = np.log(np.where(alone, 0.0, mine - 1.0 + table.offset))
            total = np.logaddexp(np.log(np.maximum(seated, 0.0)), new)
        return cls(np.log(sizes + table.offset), own, new, total)


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


@kernel
def log_predictives_of_others(family, statistics, cache, work, rows, labels, out):
    """Log predictive of each row under the other rows of its own cluster; rows that are alone are left out."""
    for i in range(rows.shape[0]):
        if statistics[labels[i], 0] > 1.5:
            out[i] = verbs.log_predictive_without(family, statistics, cache, labels[i], rows[i], work)
