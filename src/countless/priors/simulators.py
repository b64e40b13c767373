"""The three classical ways to simulate a Dirichlet process: urn, restaurant, broken stick.

References: Blackwell & MacQueen 1973; Sethuraman 1994; Pitman 2006, chapter 3; Pletscher 2007, section 2.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.random import as_generator
from .concentration import check_count
from .crp import CRP
from .names import resolve_prior
from .numerics.ratios import FloatArray, IntArray
from .pitman_yor import PitmanYor
from .verbs import Prior

Value = TypeVar("Value")


def polya_urn(
    n: int, concentration: float, base: Callable[[np.random.Generator], Value], rng: Any = None
) -> list[Value]:
    r"""Draw n values from a Dirichlet process with its random measure integrated out.

    .. math::

        \theta_{m+1} \mid \theta_{1:m} \sim
        \frac{\alpha G_0 + \sum_{i \le m} \delta_{\theta_i}}{\alpha + m}

    Each of the m earlier values has weight 1, a new value from `base` the concentration.

    Parameters
    ----------
    n : int
        Number of values.
    concentration : float
        A positive number.
    base : callable
        Takes a Generator and returns one value of the base measure.
    rng : None, int, Generator or RandomState
        Source of randomness.

    Returns
    -------
    list of n values
        Equal values are the same object, so that ties are exact.

    References
    ----------
    Blackwell & MacQueen 1973, *Ferguson distributions via Polya urn schemes*.

    Examples
    --------
    >>> from countless.priors import polya_urn
    >>> values = polya_urn(50, 1.0, lambda rng: rng.normal(), rng=0)
    >>> len(values), len(set(values)) < 50
    (50, True)
    """
    generator = as_generator(rng)
    labels = CRP(concentration).sample(n, generator)
    atoms = [base(generator) for _ in range(int(labels.max(initial=-1)) + 1)]
    return [atoms[label] for label in labels]


def restaurant(n: int, prior: str | Prior = "crp", rng: Any = None) -> IntArray:
    """Seat n rows one after another under a prior; labels are numbered by first appearance.

    Parameters
    ----------
    n : int
        Number of rows.
    prior : str or Prior
        Any partition prior, by name or as an object; a learned parameter is drawn from its hyperprior first.
    rng : None, int, Generator or RandomState
        Source of randomness.

    References
    ----------
    Pitman 2006, *Combinatorial stochastic processes*, section 3.1.

    Examples
    --------
    >>> from countless.priors import CRP, restaurant
    >>> labels = restaurant(100, CRP(2.0), rng=0)
    >>> int(labels[0]), labels.shape
    (0, (100,))
    """
    return resolve_prior(prior).sample(n, rng)


class Sticks(NamedTuple):
    """Weights of the first atoms of a random measure, and the mass that all later ones share."""

    weights: FloatArray
    remainder: float


def stick_breaking(concentration: float, rng: Any = None, n_sticks: int = 100, discount: float = 0.0) -> Sticks:
    r"""Break a stick of length one: the weights of a Dirichlet or Pitman-Yor process in size-biased order.

    .. math:: w_k = v_k \prod_{j<k} (1 - v_j), \qquad v_k \sim \text{Beta}(1 - d, \alpha + k d)

    Parameters
    ----------
    concentration : float
        A number greater than -discount.
    rng : None, int, Generator or RandomState
        Source of randomness.
    n_sticks : int
        Number of pieces to break off.
    discount : float
        At least 0 and less than 1; zero is the Dirichlet process.

    Returns
    -------
    Sticks
        `weights` of shape (n_sticks,) and the `remainder`; together they sum to one.

    References
    ----------
    Sethuraman 1994; Pitman & Yor 1997.

    Examples
    --------
    >>> from countless.priors import stick_breaking
    >>> sticks = stick_breaking(2.0, rng=0, n_sticks=20)
    >>> round(float(sticks.weights.sum() + sticks.remainder), 12)
    1.0
    """
    n_sticks = check_count("n_sticks", n_sticks)
    first, second = PitmanYor(concentration, discount).stick_shapes(n_sticks)
    generator = as_generator(rng)
    # A beta variable from two gamma variables, so that 1 - v keeps its digits where v is close to one.
    taken, left = generator.gamma(first), generator.gamma(second)
    whole = taken + left
    log_left = np.concatenate([[0.0], np.cumsum(np.log(left / whole))])
    return Sticks(taken / whole * np.exp(log_left[:-1]), float(np.exp(log_left[-1])))
