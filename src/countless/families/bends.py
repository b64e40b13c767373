r"""Columns that are long on one side: taken on a bent line, straight near zero and logarithmic far from it.

Amounts of money, waiting times, sizes of things: one cloud of them has a long right tail, which Gaussian clusters would
tile. With a *bend* c of the column, in its own units, clusters are Gaussian in

.. math:: z = c \log(1 + x / c) \; (x \ge 0), \qquad z = x - x^2 / (2 c) \; (x < 0)

(the transformation of Yeo and Johnson 2000 at its power 0, of :math:`x / c`). It rises everywhere, takes zeros and
negative cells, leaves a column as it is for :math:`c = \infty`, and is a logarithm where cells are far above c.
Densities stay those of x: they gain

.. math:: \log (dz / dx) = -z / c \; (z \ge 0), \qquad \tfrac12 \log(1 - 2 z / c) \; (z < 0).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import as_numbers, log_volumes

FloatArray = NDArray[np.float64]

STRAIGHT = np.inf
# Bends that are tried for a column: shares of its upper quartile above zero, from a logarithm to hardly bent.
SHARES = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
# On the line, in bends: the tails of a Student-t there reach beyond every number in the user's units.
FARTHEST = 230.0
# Nats a row that the best bend must gain over the straight line before it is worth a trial.
WORTHWHILE = 0.1


def bent(X: FloatArray, bends: FloatArray) -> FloatArray:
    """Rows on the line of each column; missing cells stay missing.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.bends import bent, straightened
    >>> X = np.array([[-1.0, -1.0], [0.0, 0.0], [99.0, 99.0]])
    >>> Z = bent(X, np.array([1.0, np.inf]))
    >>> Z.round(3).tolist()
    [[-1.5, -1.0], [0.0, 0.0], [4.605, 99.0]]
    >>> np.allclose(straightened(Z, np.array([1.0, np.inf])), X)
    True
    """
    which = np.flatnonzero(np.isfinite(bends))
    if len(which) == 0:
        return X
    out = np.array(X, dtype=np.float64)
    c = bends[which]
    above, below = np.maximum(out[:, which], 0.0), np.minimum(out[:, which], 0.0)
    with np.errstate(over="ignore"):  # cells that cannot be squared are refused where rows are scaled
        out[:, which] = c * np.log1p(above / c) + below * (1.0 - 0.5 * below / c)
    return out


def straightened(Z: FloatArray, bends: FloatArray) -> FloatArray:
    """Rows in the user's units, the inverse of ``bent``; what is farther than 1e100 bends is there."""
    which = np.flatnonzero(np.isfinite(bends))
    if len(which) == 0:
        return Z
    out = np.array(Z, dtype=np.float64)
    c = bends[which]
    above, below = np.maximum(out[:, which], 0.0), np.minimum(out[:, which], 0.0)
    # c (1 - sqrt(1 - 2 z / c)) without cancellation.
    out[:, which] = c * np.expm1(np.minimum(above / c, FARTHEST)) + 2.0 * below / (1.0 + np.sqrt(1.0 - 2.0 * below / c))
    return out


def log_slopes(Z: FloatArray, bends: FloatArray) -> FloatArray:
    """Log of dz / dx at each cell of bent rows (or of cells, with the bend of each); zero where it is missing."""
    c = np.broadcast_to(bends, Z.shape)
    out = np.zeros(Z.shape)
    which = np.isfinite(c) & ~np.isnan(Z)
    z, c = Z[which], c[which]
    out[which] = np.where(z >= 0.0, -z / c, 0.5 * np.log1p(-2.0 * np.minimum(z, 0.0) / c))
    return out


def log_volumes_of(Z: FloatArray, bends: FloatArray, scale: FloatArray) -> FloatArray:
    """What log densities of rows lose from local units to the user's: log scales less log slopes of observed cells."""
    volumes = log_volumes(Z, scale)
    if np.isfinite(bends).any():
        volumes = volumes - log_slopes(Z, bends).sum(axis=1)
    return volumes


def as_bends(given: ArrayLike | None, n_columns: int) -> FloatArray:
    """The hyperparameter ``bend`` of a family, one number for each column; None: all columns are straight."""
    if given is None:
        return np.full(n_columns, STRAIGHT)
    array = as_numbers("bend", given)
    if array.ndim > 1 or (array.ndim == 1 and len(array) not in (1, n_columns)) or not np.all(array > 0):
        raise ValueError(
            f"bend must be a positive number (infinite: straight) or one for each of the {n_columns} columns, "
            f"got {given!r}"
        )
    return np.array(np.broadcast_to(array, (n_columns,)))


def likely_bend(values: FloatArray) -> float:
    r"""The bend that makes one cloud of a column most like a Gaussian, and infinity where none is worth a trial.

    The largest of :math:`-\tfrac12 \log \mathrm{var}(z) + \overline{\log(dz/dx)}`, the log likelihood of a row under
    one Gaussian (Box and Cox 1964). Columns with cells on both sides of zero in any number are straight.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.bends import likely_bend
    >>> rng = np.random.default_rng(0)
    >>> likely_bend(rng.normal(size=500)), bool(likely_bend(np.exp(rng.normal(size=500))) < 0.5)
    (inf, True)
    """
    x = values[~np.isnan(values)]
    if len(x) < 10 or np.quantile(x, 0.05) < 0.0:
        return STRAIGHT
    upper = float(np.quantile(x, 0.75))
    if not upper > 0.0 or not np.isfinite(upper) or x.std() == 0.0:
        return STRAIGHT
    tried = np.array([STRAIGHT, *(share * upper for share in SHARES)])
    Z = bent(np.repeat(x[:, None], len(tried), axis=1), tried)
    with np.errstate(divide="ignore"):
        likelihood = log_slopes(Z, tried).mean(axis=0) - 0.5 * np.log(Z.var(axis=0))
    best = int(np.argmax(likelihood))
    return float(tried[best]) if likelihood[best] - likelihood[0] > WORTHWHILE else STRAIGHT
