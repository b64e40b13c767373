"""Matrices of objects with latent attributes whose truth is known (von Looz 2013, algorithm 1)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..core.random import as_generator
from ..core.validate import choose, positive_number, whole_number

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class LatentAttributesSample(NamedTuple):
    """A matrix with the attributes that it was made from.

    Attributes
    ----------
    R : array (object, object)
    attributes : array of bool (object, attribute)
    clusters : array of int (object, attribute)
        -1 where the object does not have the attribute.
    weights : list of arrays (cluster, cluster)
    bias, noise : float
    sums : array (object, object)
        Bias and weights of all attributes that both objects have.

    Examples
    --------
    >>> import countless as cl
    >>> truth = cl.datasets.make_latent_attributes(20, random_state=0)
    >>> truth.R.shape, truth.clusters.shape == truth.attributes.shape
    ((20, 20), True)
    """

    R: FloatArray
    attributes: NDArray[np.bool_]
    clusters: IntArray
    weights: list[FloatArray]
    bias: float
    noise: float
    sums: FloatArray


def make_latent_attributes(
    n: int = 50,
    concentration: float = 1.0,
    cluster_concentration: float = 1.0,
    breadth: float = 1.0,
    weight_mean: float = 2.0,
    weight_variance: float = 1.0,
    bias: float = -1.0,
    noise: float = 0.1,
    observation: str = "gaussian",
    directed: bool = False,
    random_state: Any = None,
) -> LatentAttributesSample:
    r"""Draw a matrix of pairs of objects with latent attributes.

    .. math::

        Z \sim \mathrm{IBP}(a, b), \quad c^m \sim \mathrm{CRP}(l), \quad w^m_{cd} \sim N(\mu, v), \quad
        T_{ij} = \beta + \sum_m z_{im} z_{jm} w^m_{c_i c_j}, \quad R_{ij} \sim N(T_{ij}, \sigma^2)

    or a link with log odds :math:`T_{ij}`. Von Looz 2013, *Latent features and clusters*, algorithm 1.

    Parameters
    ----------
    n : int
        Objects.
    concentration, breadth : float
        a and b of the two-parameter Indian buffet process; b = 1 is the usual one.
    cluster_concentration : float
        l of the Chinese restaurants.
    weight_mean, weight_variance : float
    bias : float
    noise : float
        Variance of the noise of real values.
    observation : {"gaussian", "bernoulli"}
    directed : bool
        Whether weights and values may depend on the direction of a pair.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    LatentAttributesSample
        With fields ``R``, ``attributes``, ``clusters``, ``weights``, ``bias``, ``noise`` and ``sums``.

    Examples
    --------
    >>> import countless as cl
    >>> truth = cl.datasets.make_latent_attributes(50, noise=0.1, random_state=0)
    >>> bool(abs((truth.R - truth.sums).var() - 0.1) < 0.02)
    True
    """
    n = whole_number("n", n, 1)
    numbers = {"concentration": concentration, "cluster_concentration": cluster_concentration, "breadth": breadth}
    numbers |= {"weight_variance": weight_variance, "noise": noise}
    a, restaurant, b, spread, variance = (positive_number(name, value) for name, value in numbers.items())
    binary = choose("observation", observation, {"gaussian": False, "bernoulli": True})
    rng = as_generator(random_state)
    columns = [draw_clusters(held, n, restaurant, rng) for held in draw_buffet(n, a, b, rng)]
    clusters = np.array(columns, dtype=np.int64).reshape(len(columns), n).T.copy()
    weights = [_weights(int(column.max()) + 1, weight_mean, spread, directed, rng) for column in columns]
    sums = np.full((n, n), float(bias))
    for column, square in zip(columns, weights, strict=True):
        inside = np.flatnonzero(column >= 0)
        sums[np.ix_(inside, inside)] += square[np.ix_(column[inside], column[inside])]
    R = (rng.random((n, n)) < expit(sums)).astype(np.float64) if binary else rng.normal(sums, math.sqrt(variance))
    R = R if directed else np.tril(R) + np.tril(R, -1).T
    return LatentAttributesSample(R, clusters >= 0, clusters, weights, float(bias), variance, sums)


def _weights(size: int, mean: float, variance: float, directed: bool, rng: np.random.Generator) -> FloatArray:
    square = rng.normal(mean, math.sqrt(variance), (size, size))
    return square if directed else np.tril(square) + np.tril(square, -1).T


def draw_buffet(n: int, a: float, b: float, rng: np.random.Generator) -> list[list[int]]:
    """Who has each attribute."""
    members: list[list[int]] = []
    for i in range(n):
        for held in members:
            if rng.random() < len(held) / (b + i):
                held.append(i)
        members += [[i] for _ in range(rng.poisson(a * b / (b + i)))]
    return members


def draw_clusters(held: list[int], n: int, concentration: float, rng: np.random.Generator) -> IntArray:
    """Clusters of those who have an attribute, -1 for the others."""
    labels = np.full(n, -1, dtype=np.int64)
    sizes: list[float] = []
    for i in held:
        chances = np.array([*sizes, concentration])
        labels[i] = int(rng.choice(len(chances), p=chances / chances.sum()))
        if labels[i] == len(sizes):
            sizes.append(0.0)
        sizes[labels[i]] += 1.0
    return labels
