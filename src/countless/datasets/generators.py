"""Rows with known clusters, drawn from the generative model of any family and any partition prior."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.random import as_generator
from ..core.validate import by_first_appearance, whole_number
from ..families import Family, resolve_family
from ..priors import Prior, resolve_prior

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Sample(NamedTuple):
    """Rows with their true clusters, and the model to fit them with.

    Attributes
    ----------
    X : array (n, D)
    labels : array of int
        True cluster of each row, numbered by first appearance.
    family, prior : objects
        The model that generated the rows, or the one that the study fits to them.
    """

    X: FloatArray
    labels: IntArray
    family: Family
    prior: Prior


def make_mixture(n: int, family: Family | str, prior: Prior | str = "crp", random_state: Any = None) -> Sample:
    """Draw rows from the generative model: a partition from the prior, then each cluster from the family.

    Parameters
    ----------
    n : int
        Number of rows.
    family : family object
        Every hyperparameter must be given, because there are no data to set it from.
    prior : prior object or str
        A learned parameter is drawn from its hyperprior first.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    Sample
        ``X``, ``labels``, ``family``, ``prior``.

    References
    ----------
    Pletscher 2007, *Model order selection and biclustering*, section 2.6.
    Antoniak 1974, *Mixtures of Dirichlet processes*, Annals of Statistics 2, 1152-1174.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.Poisson(shape=[2.0, 2.0], rate=0.1)
    >>> sample = cl.datasets.make_mixture(100, family, cl.priors.CRP(1.0), random_state=0)
    >>> sample.X.shape, sample.labels.shape
    ((100, 2), (100,))
    """
    n = whole_number("n", n, 1)
    family, prior, rng = resolve_family(family), resolve_prior(prior), as_generator(random_state)
    _require_complete(family)
    labels = prior.sample(n, rng)
    return Sample(_fill(labels, family, rng), labels, family, prior)


def _fill(labels: IntArray, family: Family, rng: np.random.Generator) -> FloatArray:
    """Rows of all clusters, at the places of their labels."""
    order = np.argsort(labels, kind="stable")
    parts = [family.sample(int(size), rng) for size in np.bincount(labels)]
    X = np.empty((len(labels), parts[0].shape[1]))
    X[order] = np.concatenate(parts)
    return X


def _require_complete(family: Family) -> None:
    missing = [name for name, value in vars(family).items() if value is None and name not in family.set_without_rows]
    if missing:
        raise ValueError(
            f"family: {type(family).__name__} has no value for {', '.join(missing)}, and there are no data to set "
            f"{'it' if len(missing) == 1 else 'them'} from; pass a countless.families object with every "
            "hyperparameter given"
        )


def numbered(labels: IntArray, *per_cluster: FloatArray) -> tuple[Any, ...]:
    """Labels numbered by first appearance, and per-cluster arrays in that order; empty clusters come last."""
    present, first = np.unique(labels, return_index=True)
    seen = present[np.argsort(first)]
    absent = np.setdiff1d(np.arange(len(per_cluster[0])), seen)
    order = np.concatenate([seen, absent])
    return by_first_appearance(labels), *(array[order] for array in per_cluster)
