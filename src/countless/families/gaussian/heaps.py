r"""Measurements that heap on some values: prices, zeros, round numbers between others that are not round.

Rounding alone makes equal cells too, but as many of them as the density has room for: with cells of width :math:`w_i`
(the distance to the nearer of the next smaller and the next larger value) the :math:`n_i` rows at a value are about
:math:`N f w_i`, and so are those of its neighbours. A *heap* has several times what its neighbours predict. No density
is high enough for it: learned hyperparameters would make clusters ever narrower, one for each heap. Where many rows are
in heaps, the spread of clusters in that column therefore stays where the data as a whole put it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .resolution import MOST_ROWS, distinct_rows

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# A heap has so many times the density, and the number, of the values next to it, on each side; and so many rows.
TIMES, NEIGHBOURS, FEWEST = 6.0, 2, 5
# With fewer values than these all of them are neighbours.
FEWEST_VALUES = 10
# Share of the rows in heaps from which a column heaps.
MUCH = 0.1


def in_heaps(values: FloatArray) -> float:
    """Share of the cells that are in heaps.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.gaussian.heaps import in_heaps
    >>> weights = np.random.default_rng(0).normal(70.0, 12.0, size=1000).round()
    >>> in_heaps(weights), in_heaps(np.where(np.arange(1000) % 4, weights + 0.3, 70.0))
    (0.0, 0.25)
    """
    found, counts = np.unique(values, return_counts=True)
    if len(found) < FEWEST_VALUES or len(found) == len(values):
        return 0.0
    gaps = np.diff(found)
    widths = np.minimum(np.append(gaps, gaps[-1]), np.append(gaps[0], gaps))
    rows, room = (np.concatenate([[0.0], np.cumsum(each)]) for each in (counts, widths))
    place = np.arange(len(found))
    first, last = np.maximum(place - NEIGHBOURS, 0), np.minimum(place + NEIGHBOURS + 1, len(found))
    others = rows[last] - rows[first] - counts
    denser = counts / widths > TIMES * others / (room[last] - room[first] - widths)
    more = counts > TIMES * others / (last - first - 1)
    return float(counts[denser & more & (counts >= FEWEST)].sum() / len(values))


def heaped_columns(X: FloatArray) -> BoolArray:
    """Columns of measurements that heap on some values; rows that come several times count once.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.gaussian.heaps import heaped_columns
    >>> fares = np.concatenate([np.repeat([7.25, 8.05, 13.0, 26.0], 50), np.geomspace(5.0, 300.0, 200)])
    >>> heaped_columns(np.column_stack([fares, np.arange(400) % 80])).tolist()
    [True, False]
    """
    some = X[:: max(1, len(X) // MOST_ROWS)]
    heaped = np.array([in_heaps(column) > MUCH for column in some.T], dtype=np.bool_)
    if not heaped.any():
        return heaped
    distinct, _ = distinct_rows(some)
    return np.array([in_heaps(column) > MUCH for column in distinct.T], dtype=np.bool_)


def as_heaped(given: object, X: FloatArray) -> BoolArray:
    """The hyperparameter ``heaped`` of a family: as given, for all columns or for each, or read from the rows."""
    if given is None:
        return heaped_columns(X)
    array = np.asarray(given)
    if array.dtype.kind != "b" or array.ndim > 1 or (array.ndim == 1 and len(array) not in (1, X.shape[1])):
        raise ValueError(f"heaped must be True or False, or one of them for each of the {X.shape[1]} columns")
    return np.array(np.broadcast_to(array, (X.shape[1],)))
