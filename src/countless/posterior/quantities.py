"""Numbers of each draw that no renumbering of clusters can change: what chains are compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .posterior import Posterior

FloatArray = NDArray[np.float64]

# Labels that are counted at a time: their codes take 8 bytes each.
BLOCK = 4_000_000


def label_free(posterior: Posterior) -> dict[str, FloatArray]:
    """Quantities by name, each (chain, draw).

    ``n_clusters``, ``log_joint``, ``entropy`` (of the shares of the clusters, in nats), ``largest_share`` (of the rows
    in the largest cluster), ``concentration`` where it was learned, and learned hyperparameters of the family.

    Examples
    --------
    >>> import countless as cl
    >>> from countless.posterior.quantities import label_free
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> sorted(label_free(model.posterior_))
    ['concentration', 'entropy', 'largest_share', 'log_joint', 'n_clusters']
    """
    entropy, largest = entropy_and_largest(posterior.labels)
    found = {
        "n_clusters": np.asarray(posterior.n_clusters, dtype=np.float64),
        "log_joint": np.asarray(posterior.log_joint, dtype=np.float64),
        "entropy": entropy,
        "largest_share": largest,
    }
    if concentration_is_learned(posterior):
        found["concentration"] = np.asarray(posterior.concentration, dtype=np.float64)
    return {**found, **posterior.hyperparameters}


def concentration_is_learned(posterior: Posterior) -> bool:
    """Whether the concentration was drawn with the partition."""
    if posterior.data is not None:
        return bool(posterior.data.prior.is_learned)
    return bool(np.ptp(posterior.concentration) > 0.0)


def entropy_and_largest(labels: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Entropy of the shares of the clusters, and the largest share, of each draw of ``labels`` (chain, draw, row)."""
    n_rows = labels.shape[-1]
    flat = labels.reshape(-1, n_rows)
    n_labels = int(flat.max()) + 1
    entropy, largest = np.empty((2, len(flat)))
    step = max(1, BLOCK // max(n_rows, n_labels))
    for start in range(0, len(flat), step):
        part = flat[start : start + step]
        codes = part + np.arange(len(part), dtype=np.int64)[:, None] * n_labels
        sizes = np.bincount(codes.reshape(-1), minlength=len(part) * n_labels).reshape(len(part), n_labels)
        shares = sizes / n_rows
        entropy[start : start + step] = -np.sum(shares * np.log(np.where(sizes > 0, shares, 1.0)), axis=1)
        largest[start : start + step] = shares.max(axis=1)
    # One cluster has no entropy, and no sign of it.
    return np.abs(entropy).reshape(labels.shape[:-1]), largest.reshape(labels.shape[:-1])
