"""A negative example: an information criterion opens clusters row by row (Pletscher 2007, section 4.2, alg. 4.1).

It takes the sweep over rows from the Dirichlet process and the decision from AIC or BIC. Do not use it;
``split_by_criterion`` says why.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.jit import inner_kernel, kernel
from ..core.validate import as_rows, by_first_appearance, choose, whole_number
from ..families import Family, FloatArray, localise, resolve_family, verbs
from ..models.finite.criteria import penalty

CRITERIA = {"aic": "aic", "bic": "bic"}


class Splitting(NamedTuple):
    """Result of the procedure: labels, number of clusters, number of sweeps, and whether the last one moved no row."""

    labels: NDArray[np.int64]
    n_clusters: int
    n_sweeps: int
    converged: bool


def split_by_criterion(
    X: ArrayLike, family: str | Family = "gaussian", criterion: str = "bic", max_sweeps: int = 50
) -> Splitting:
    r"""Cluster rows by opening a cluster whenever that lowers an information criterion of a single row.

    All rows start in one cluster. Each row in turn is removed and scored under the K clusters of the others,
    :math:`M_K(x) = \sum_k \pi_k F(x | \theta_k)`, and under K + 1 clusters, where the new one has weight 1 / N and the
    most probable parameters given this row. The row opens a cluster if the larger model has the smaller score,

    .. math:: -2 \log M_{K+1}(x) + \text{penalty}(K + 1) < -2 \log M_K(x) + \text{penalty}(K),

    (the thesis prints the inequality the other way round); otherwise it joins its most likely cluster. Parameters are
    the posterior modes given the rows of the cluster. They are updated after every move; the thesis does not say when.

    Parameters
    ----------
    X : array
    family : str or family object
    criterion : {"bic", "aic"}
    max_sweeps : int

    Returns
    -------
    Splitting

    Notes
    -----
    Why it fails: all rows of a component together should pay the penalty for it, but here a single row must. So a
    cluster opens only where one row gains more than the whole penalty plus log N. Overlapping clusters stay together,
    however many rows would gain, and *more data make it worse* with BIC, whose penalty grows with N. With AIC the
    outermost of many rows does open clusters, needless ones too, and they are hardly ever closed again. The Dirichlet
    process also decides row by row, but at random: one of many rows with a small probability opens the cluster, and
    others close it again. ``MixtureSearch`` compares whole models, and works.

    References
    ----------
    Pletscher 2007, sections 4.1 and 4.2, figure 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> from countless.experiments import split_by_criterion
    >>> X = np.random.default_rng(0).normal(size=(400, 2)) + np.outer(np.arange(400) % 2, [3.0, 0.0])
    >>> family = cl.families.SphericalGaussian(variance=1.0)
    >>> split_by_criterion(X, family).n_clusters
    1
    >>> cl.MixtureSearch(family, n_components=range(1, 4), random_state=0).fit(X).n_clusters_
    2
    """
    choose("criterion", criterion, CRITERIA)
    whole_number("max_sweeps", max_sweeps, 1)
    rows, family = as_rows(X), resolve_family(family)
    family.check(rows)
    local, rows, _ = localise(family.resolve(rows), rows)
    # Half the difference in penalty: the parameters of a component, and its weight.
    price = 0.5 * penalty(criterion, local.n_parameters() + 1, len(rows))
    return _sweep_until_still(local, rows, price, max_sweeps)


def _sweep_until_still(family: Family, rows: FloatArray, price: float, max_sweeps: int) -> Splitting:
    n = len(rows)
    layout: Any = family.layout()
    hyper, clusters, parameters = family.prepare(), family.allocate(n + 1), np.zeros((n + 1, layout.parameters))
    labels, sizes = np.zeros(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    for row in rows:
        verbs.add(hyper, clusters.statistics, clusters.cache, 0, row, clusters.work)
    sizes[0] = n
    moves, n_sweeps = 1, 0
    while moves and n_sweeps < max_sweeps:
        moves = _sweep(hyper, rows, labels, sizes, *clusters, parameters, price)
        n_sweeps += 1
    labels = by_first_appearance(labels)
    return Splitting(labels, int(labels.max()) + 1, n_sweeps, moves == 0)


@kernel
def _sweep(family, rows, labels, sizes, statistics, cache, work, parameters, price):
    """Sweep over the rows once; return how many moved to another cluster."""
    n = labels.size
    moves = 0
    for k in range(sizes.size):
        if sizes[k] > 0:
            verbs.estimate(family, statistics, cache, k, 1.0, parameters)
    for i in range(n):
        own = labels[i]
        verbs.remove(family, statistics, cache, own, rows[i], work)
        sizes[own] -= 1
        if sizes[own] > 0:
            verbs.estimate(family, statistics, cache, own, 1.0, parameters)
        empty = 0
        while sizes[empty] > 0:
            empty += 1
        best, closest, mixed = -math.inf, -1, -math.inf
        for k in range(n + 1):
            if sizes[k] > 0:
                value = verbs.log_likelihood(family, parameters, k, rows[i], work)
                mixed = _log_add(mixed, value + math.log(sizes[k] / (n - 1.0)))
                if value > best:
                    best, closest = value, k
        # The row in a cluster of its own.
        statistics[empty, :] = 0.0
        verbs.refresh(family, statistics, cache, empty, work)
        verbs.add(family, statistics, cache, empty, rows[i], work)
        verbs.estimate(family, statistics, cache, empty, 1.0, parameters)
        alone = verbs.log_likelihood(family, parameters, empty, rows[i], work)
        larger = _log_add(mixed + math.log((n - 1.0) / n), alone - math.log(n))
        if closest < 0 or larger - mixed > price:
            goal = empty
        else:
            verbs.remove(family, statistics, cache, empty, rows[i], work)
            verbs.add(family, statistics, cache, closest, rows[i], work)
            verbs.estimate(family, statistics, cache, closest, 1.0, parameters)
            goal = closest
        sizes[goal] += 1
        labels[i] = goal
        # A row that was alone and still is has not moved, whichever empty slot holds it.
        if goal != own and not (goal == empty and sizes[own] == 0):
            moves += 1
    return moves


@inner_kernel
def _log_add(a, b):
    top = max(a, b)
    if top == -math.inf:
        return top
    return top + math.log(math.exp(a - top) + math.exp(b - top))
