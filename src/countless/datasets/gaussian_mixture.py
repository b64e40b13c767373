"""A finite Gaussian mixture with known parameters, used by the benchmarks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.random import as_generator
from ..core.validate import as_rows, whole_number
from .generators import FloatArray, IntArray, numbered

MEAN_DEVIATION = 3.0
WEIGHT_CONCENTRATION = 2.0


class GaussianMixture(NamedTuple):
    """Rows of a Gaussian mixture with its parameters.

    Attributes
    ----------
    X : array (n, D)
    labels : array of int
        True cluster of each row, numbered by first appearance; clusters without rows come last.
    weights : array (K,)
    means : array (K, D)
    covariances : array (K, D, D)

    Examples
    --------
    >>> import countless as cl
    >>> truth = cl.datasets.make_gaussian_mixture(500, n_columns=2, n_clusters=3, random_state=0)
    >>> float((truth.oracle_labels(truth.X) == truth.labels).mean()) > 0.6
    True
    """

    X: FloatArray
    labels: IntArray
    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    def log_weighted_densities(self, X: ArrayLike) -> FloatArray:
        """Log of weight times density of each row, with one column per component."""
        rows = as_rows(X)
        out = np.empty((len(rows), len(self.weights)))
        for k, (weight, mean, covariance) in enumerate(zip(self.weights, self.means, self.covariances, strict=True)):
            factor = np.linalg.cholesky(covariance)
            square = (np.linalg.solve(factor, (rows - mean).T) ** 2).sum(axis=0)
            log_determinant = 2.0 * np.log(np.diag(factor)).sum()
            out[:, k] = np.log(weight) - 0.5 * (square + log_determinant + len(mean) * np.log(2.0 * np.pi))
        return out

    def oracle_labels(self, X: ArrayLike) -> IntArray:
        """Most probable component of each row under the true parameters: no method can do better on average."""
        return np.argmax(self.log_weighted_densities(X), axis=1)

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Log density of each row under the true parameters."""
        return np.logaddexp.reduce(self.log_weighted_densities(X), axis=1)


def make_gaussian_mixture(
    n: int = 1000, n_columns: int = 10, n_clusters: int = 20, random_state: Any = None
) -> GaussianMixture:
    r"""Draw rows from a random Gaussian mixture.

    .. math::

        \mu_k \sim N(0, 9 I), \qquad \Sigma_k = \tfrac{4}{D} A_k A_k^\top + \tfrac12 I, \quad
        A_k \text{ standard normal}, \qquad \text{weights} \sim \text{Dirichlet}(2, \ldots, 2)

    Twenty such clusters overlap in two columns and hardly in ten.

    Parameters
    ----------
    n, n_columns, n_clusters : int
        Rows, columns and components. Some components may get no rows.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    GaussianMixture
        With fields ``X``, ``labels``, ``weights``, ``means`` and ``covariances``.

    References
    ----------
    McLachlan and Peel 2000, *Finite mixture models*, chapter 3.

    Examples
    --------
    >>> import countless as cl
    >>> truth = cl.datasets.make_gaussian_mixture(200, n_columns=4, n_clusters=5, random_state=0)
    >>> truth.X.shape, truth.means.shape, truth.covariances.shape
    ((200, 4), (5, 4), (5, 4, 4))
    """
    n, d, k = (
        whole_number(name, value, 1) for name, value in (("n", n), ("n_columns", n_columns), ("n_clusters", n_clusters))
    )
    rng = as_generator(random_state)
    means = rng.normal(0.0, MEAN_DEVIATION, size=(k, d))
    factors = rng.standard_normal((k, d, d))
    covariances = factors @ factors.transpose(0, 2, 1) * (4.0 / d) + 0.5 * np.eye(d)
    weights = rng.dirichlet(np.full(k, WEIGHT_CONCENTRATION))
    labels, weights, means, covariances = numbered(rng.choice(k, size=n, p=weights), weights, means, covariances)
    noise = rng.standard_normal((n, d))
    roots = np.linalg.cholesky(covariances)
    X = np.empty((n, d))
    for j in range(k):
        X[labels == j] = means[j] + noise[labels == j] @ roots[j].T
    return GaussianMixture(X, labels, weights, means, covariances)
