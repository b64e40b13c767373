"""How sure a fitted model is of the cluster of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Draws that a share is taken over: its error is then at most 0.03, less than a figure shows.
MOST_DRAWS = 300


def label_probability(model: Any, X: ArrayLike | None = None) -> NDArray[np.float64]:
    """How sure the label of each row is, between 0 and 1.

    For a sampled posterior, the probability that the row shares a cluster with a row picked at random among
    the others of its consensus cluster (for a row that is alone there: that it is alone). It needs no
    matching of cluster names between draws. For a single partition (MAP) there are no draws to
    compare, and it is the probability of the row's cluster given the rows of each cluster, ``predict_proba``.

    Parameters
    ----------
    model : fitted estimator
    X : array, optional
        The rows the model was fitted to; needed for a single partition.

    Returns
    -------
    array (n,)

    References
    ----------
    Wade and Ghahramani 2018, *Bayesian cluster analysis: point estimation and credible balls*, Bayesian
    Analysis 13, 559-626.

    Examples
    --------
    >>> import countless as cl
    >>> X = [[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]
    >>> model = cl.DPMixture(random_state=0).fit(X)
    >>> bool((cl.plots.label_probability(model) > 0.5).all())
    True
    """
    labels = np.asarray(model.labels_)
    if not model.posterior_.is_sampled:
        if X is None:
            raise ValueError("X: a single partition needs the rows that the model was fitted to")
        return np.asarray(model.predict_proba(X))[np.arange(len(labels)), labels]
    return _shared(labels, model.posterior_.flat_labels(MOST_DRAWS))


def _shared(labels: NDArray[Any], draws: NDArray[Any]) -> NDArray[np.float64]:
    """Mean over draws of the share of a row's companions that are still with it."""
    own_sizes = np.bincount(labels)[labels]
    total = np.zeros(len(labels))
    for draw in draws:
        width = int(draw.max()) + 1
        cell = labels * width + draw
        together = np.bincount(cell)[cell] - 1
        alone = np.bincount(draw)[draw] == 1
        total += np.where(own_sizes > 1, together / np.maximum(own_sizes - 1, 1), alone)
    return total / len(draws)
