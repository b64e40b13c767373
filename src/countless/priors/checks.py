"""A check of the contract for authors of a prior: shapes, the addition rule of V_n(t), and the sticks."""

from __future__ import annotations

import numpy as np

from .names import resolve_prior
from .verbs import Prior

# Partitions of so many rows and one more; sums over labels of sticks are exact to this tolerance.
_MOST_ROWS = 6
_TOLERANCE = 1e-8


def check_prior(prior: Prior | str) -> None:
    r"""Raise a ValueError that says which part of the contract of `Prior` a prior breaks; return None if none.

    Checked are the offset, the shapes of what `_log_v` and `stick_shapes` return, whether V_n(0) is finite, whether
    probabilities add up to one, by the addition rule

    .. math:: V_n(t) = (n + o t) V_{n+1}(t) + V_{n+1}(t + 1), \qquad V_1(1) = 1,

    and whether sticks give two rows the same cluster as often as V_2(1) does.

    Parameters
    ----------
    prior : Prior or str
        A learned parameter is set to its prior mean.

    References
    ----------
    Gnedin & Pitman 2006, *Exchangeable Gibbs partitions and Stirling triangles*, section 3.

    Examples
    --------
    >>> from countless.priors import CRP, check_prior
    >>> check_prior(CRP(2.0))
    """
    ready = resolve_prior(prior).initial()
    name = type(ready).__name__
    offset = float(ready.offset)
    if not -1.0 < offset < np.inf:
        raise ValueError(f"prior: offset of {name} must be a finite number above -1, got {offset:g}")
    tables = {n: ready.table(n, n).log_v for n in range(1, _MOST_ROWS + 2)}
    if not abs(tables[1][1]) < _TOLERANCE:
        raise ValueError(f"prior: _log_v of {name} must return 0 for one row in one cluster, got {tables[1][1]:g}")
    for n in range(1, _MOST_ROWS + 1):
        for t in range(1, n + 1):
            larger = tables[n + 1]
            expected = np.logaddexp(np.log(n + offset * t) + larger[t], larger[t + 1])
            if not (expected == tables[n][t] or abs(expected - tables[n][t]) < _TOLERANCE):
                raise ValueError(
                    f"prior: probabilities of {name} do not add up to one: log V_n(t) for n = {n} and t = {t} is "
                    f"{tables[n][t]:.6g}, but the addition rule gives {expected:.6g}"
                )
        most = ready.max_clusters(n)
        if not np.all(np.isneginf(tables[n][most + 1 : n + 1])):
            raise ValueError(f"prior: max_clusters({n}) of {name} is {most}, but more clusters have a probability")
    if ready.has_sticks:
        _check_sticks(ready)


def _check_sticks(prior: Prior, n_sticks: int = 1000) -> None:
    name = type(prior).__name__
    shapes = prior.stick_shapes(n_sticks)
    first, second = (np.asarray(each, dtype=np.float64) for each in shapes)
    most = min(n_sticks, prior.max_clusters(n_sticks))
    if first.shape != (most,) or second.shape != (most,):
        raise ValueError(
            f"prior: stick_shapes({n_sticks}) of {name} must return two arrays of shape ({most},), got shapes "
            f"{first.shape} and {second.shape}"
        )
    if not (np.all(first > 0.0) and np.all(second >= 0.0)):
        raise ValueError(f"prior: stick_shapes of {name} must return positive numbers; only the last b may be 0")
    # Two rows share stick k with probability E v_k^2 times the product of E (1 - v_j)^2 over j < k.
    total = first + second
    both = first * (first + 1.0) / (total * (total + 1.0))
    neither = second * (second + 1.0) / (total * (total + 1.0))
    left = np.concatenate([[1.0], np.cumprod(neither)])
    together = float(np.sum(both * left[:-1]))
    expected = float(np.exp(prior.log_prob([0, 0])))
    # Rows that share no stick of these leave at most this much.
    if abs(together - expected) > _TOLERANCE + left[-1]:
        raise ValueError(
            f"prior: stick_shapes of {name} put two rows together with probability {together:.6g}, but V_2(1) gives "
            f"{expected:.6g}"
        )
