"""What a family must answer: generic functions on plain arrays, chosen by the type of their first argument.

A family hands kernels a NamedTuple of hyperparameters. Each verb below looks up the implementation that
the family's file registered for that type, both in plain Python and, through ``numba.extending.overload``,
when a kernel is compiled. Optional verbs have a default, conditional ones belong to some families, the others are
required.

Clusters are rows of two float arrays. ``statistics[k]`` is additive: the statistics of a union are the sum;
entry 0 is always the number of rows. ``cache[k]`` is whatever the family derives from it (a Cholesky
factor, logarithms). ``work`` is scratch space; the family declares all widths in its ``layout``. A sweep
scores each row against all clusters: the ``board`` is a third array, by columns, for families that gain from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba.extending import overload

from ..core.jit import OPTIONS, SOURCES_OF

_REGISTRY: dict[tuple[str, type], Callable[..., Any]] = {}
# Types whose verbs are never inlined: they call those of other families, and compiling would take too long.
_TOO_LONG: set[type] = set()


def _sources(cls: type) -> set[str]:
    """Modules that say what some verb does for this type of hyperparameters."""
    return {function.__module__ for (_, known), function in _REGISTRY.items() if known is cls}


SOURCES_OF.append(_sources)


def _find(name: str, cls: type, default: Callable[..., Any] | None) -> Callable[..., Any]:
    found = _REGISTRY.get((name, cls), default)
    if found is None:
        raise NotImplementedError(f"{cls.__name__} does not implement the verb {name!r}")
    return found


def _generic(stub: Callable[..., Any], default: Callable[..., Any] | None, inline: bool = False) -> Callable[..., Any]:
    name = stub.__name__

    def dispatch(family: Any, *rest: Any) -> Any:
        return _find(name, type(family), default)(family, *rest)

    dispatch.__name__ = dispatch.__qualname__ = name
    dispatch.__doc__ = stub.__doc__

    def choose(inlined: bool) -> Callable[..., Any]:
        def _choose(family: Any, *rest: Any) -> Callable[..., Any] | None:
            cls = getattr(family, "instance_class", None)
            if cls is None or (inline and (cls not in _TOO_LONG)) != inlined:
                return None
            return _find(name, cls, default)

        return _choose

    for inlined in (False, True):
        overload(dispatch, strict=False, jit_options={**OPTIONS, "forceinline": inlined})(choose(inlined))
    return dispatch


def required(stub: Callable[..., Any]) -> Callable[..., Any]:
    """A verb that every family must implement; ``stub`` names its arguments and says what it does."""
    return _generic(stub, None)


def optional(stub: Callable[..., Any]) -> Callable[..., Any]:
    """A verb whose default is the body of ``stub``."""
    return _generic(stub, stub)


def conditional(stub: Callable[..., Any]) -> Callable[..., Any]:
    """A verb without a default that only some families implement; ``stub`` says which."""
    return _generic(stub, None)


def inlined(stub: Callable[..., Any]) -> Callable[..., Any]:
    """An optional verb of the innermost loops, where a call would cost as much as the work."""
    return _generic(stub, stub, inline=True)


def implements(generic: Callable[..., Any], cls: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as what ``generic`` does for hyperparameters of type ``cls``."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _REGISTRY[generic.__name__, cls] = function
        return function

    return register


def is_implemented(generic: Callable[..., Any], cls: type) -> bool:
    """Whether hyperparameters of type ``cls`` have an implementation of their own."""
    return (generic.__name__, cls) in _REGISTRY


def linear_in_row(cls: type) -> type:
    """Class decorator for hyperparameters whose ``divergence`` uses only statistics that are linear in the row.

    It implements ``mean_divergence``: the divergence of the mean row.
    """
    implements(mean_divergence, cls)(_of_the_mean_row)
    return cls


def _of_the_mean_row(family, mean_row, mean, centre):
    return divergence(family, mean_row, centre)


def learns_two_by_column(cls: type) -> type:
    """Class decorator for hyperparameters of independent columns whose first two, positive arrays, are learned.

    It implements ``n_parts``, ``n_learned`` and ``set_learned``.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> from countless.families import learns_two_by_column, verbs
    >>> @learns_two_by_column
    ... class Counts(NamedTuple):
    ...     a: np.ndarray
    ...     b: np.ndarray
    >>> verbs.n_parts(Counts(np.ones(3), np.ones(3)))
    3
    """
    implements(n_parts, cls)(_n_columns)
    implements(n_learned, cls)(_two)
    implements(set_learned, cls)(_set_one_of_two)
    return cls


def _n_columns(family):
    return family[0].size


def _two(family, j):
    return 2


def _set_one_of_two(family, base, j, c, offset):
    if c == 0:
        family[0][j] = base[0][j] * math.exp(offset)
    else:
        family[1][j] = base[1][j] * math.exp(offset)


def never_inlined(cls: type) -> type:
    """Class decorator for hyperparameters whose verbs call those of other families."""
    _TOO_LONG.add(cls)
    return cls


# --- required ------------------------------------------------------------------------------------------------


@required
def row_statistics(family, row, out):
    """Write the sufficient statistics of one row into ``out``; ``out[0]`` is 1, the count.

    A base measure that depends on the row (log x! of a Poisson count) is a statistic like any other, so
    that evidences and densities are normalised.
    """


@required
def log_marginal(family, statistics, cache, k):
    """Evidence of cluster ``k``: log of the density of its rows with the parameters integrated out."""


@required
def draw_parameters(family, statistics, cache, k, rng, parameters):
    """Draw the parameters of cluster ``k`` from their posterior into ``parameters[k]``."""


@required
def natural(family, parameters, k, out):
    """Natural parameter of ``parameters[k]``: the log density of a row is the inner product with its statistics."""


@required
def estimate(family, statistics, cache, k, prior_weight, parameters):
    """Write into ``parameters[k]`` what maximises likelihood times prior ** prior_weight; True if a bound was reached.

    ``prior_weight`` 0 is maximum likelihood, 1 the mode of the posterior. The mode of a density depends on the
    basis; here a parameter is taken in the basis in which it is free to run anywhere (log of a rate, log odds,
    soft-max of probabilities, log of a covariance), where every posterior has exactly one. A cluster without rows
    gets the mode of the prior. Where the likelihood has no bound (variance 0) the spread is kept at ``SMALLEST``
    times that of the data, which is one in the units of the rows. Both are reported by True.
    """


@required
def log_prior(family, parameters, k):
    """Log prior density of ``parameters[k]``, in the basis in which ``estimate`` takes the mode."""


@required
def expected_natural(family, statistics, cache, k, out):
    """Expectation of the natural parameter under the posterior of cluster ``k``."""


@required
def divergence(family, row, centre):
    """Bregman divergence of ``row`` from a cluster (Banerjee et al. 2005).

    ``centre`` holds the mean statistics of the cluster, ``statistics[k] / statistics[k, 0]``.
    """


@required
def mean_divergence(family, mean_row, mean, centre):
    """Bregman divergence of a cluster's mean from another centre.

    It is what the rows of a cluster lose, on average, when they move from their own mean to ``centre``: the sum of
    divergence(row, centre) is that of divergence(row, mean) plus n times this. ``mean`` and ``centre`` hold mean
    statistics, ``mean_row`` the mean of the rows. Where ``divergence`` uses only statistics that are linear in the row,
    it is the divergence of ``mean_row``: then the type of hyperparameters is decorated with ``linear_in_row``.
    """


# --- for rows with missing cells ---------------------------------------------------------------------------------


@conditional
def column(family, j):
    """Hyperparameters of column ``j`` alone: for families with ``missing = "integrated"``.

    Their columns are independent given the cluster. A table takes such a family apart, column by column, so that a
    missing cell has no effect. Other families are one block of a table, and their cells may not be missing.
    """


@inlined
def has_missing(family, row):
    """Whether ``row`` holds cells that were missing and are drawn along with the clusters. Default: none are."""
    return False


@optional
def draw_missing(family, statistics, cache, k, row, rng, work):
    """Draw the missing cells of ``row``, in place, from their law given its other cells and the rows of cluster ``k``.

    The row itself is not in the cluster.
    """
    return


# --- for hyperparameters that are learned -------------------------------------------------------------------------


@optional
def n_parts(family):
    """Number of parts whose evidences multiply, the columns of most families; default, one block."""
    return 1


@optional
def n_learned(family, j):
    """Number of learned hyperparameters of part ``j``; default, none."""
    return 0


@conditional
def set_learned(family, base, j, c, offset):
    """Set number ``c`` of the learned hyperparameters of part ``j`` to that of ``base`` plus an offset, in place.

    The offset is one on the line of the hyperparameter: of its logarithm, or of itself where it is a location. What
    results must depend on ``base`` and on the offsets alone, not on the order in which they were set.
    """


@optional
def learned_evidence(family, statistics, cache, k, j, c, work):
    """Log evidence of cluster ``k``, up to terms without the learned hyperparameter ``c`` of part ``j``.

    ``cache[k]`` may be overwritten. Default: the whole evidence.
    """
    refresh(family, statistics, cache, k, work)
    return log_marginal(family, statistics, cache, k)


@optional
def learned_evidences(family, statistics, cache, slots, j, c, work):
    """Sum of ``learned_evidence`` over the clusters in some slots; a table finds its part once for all of them."""
    total = 0.0
    for position in range(slots.size):
        total += learned_evidence(family, statistics, cache, slots[position], j, c, work)
    return total


# --- with defaults that a family may replace by something faster ------------------------------------------------


@optional
def refresh(family, statistics, cache, k, work):
    """Bring ``cache[k]`` up to date with ``statistics[k]``, from scratch. Default: there is no cache."""
    return


@optional
def add(family, statistics, cache, k, row, work):
    """Put ``row`` into cluster ``k``."""
    width = statistics.shape[1]
    row_statistics(family, row, work)
    for s in range(width):
        statistics[k, s] += work[s]
    refresh(family, statistics, cache, k, work)


@optional
def remove(family, statistics, cache, k, row, work):
    """Take ``row`` out of cluster ``k``."""
    width = statistics.shape[1]
    row_statistics(family, row, work)
    for s in range(width):
        statistics[k, s] -= work[s]
    refresh(family, statistics, cache, k, work)


@inlined
def log_predictive(family, statistics, cache, k, row, work):
    """Log density of ``row`` given the rows of cluster ``k`` (none: the prior predictive)."""
    before = log_marginal(family, statistics, cache, k)
    add(family, statistics, cache, k, row, work)
    after = log_marginal(family, statistics, cache, k)
    remove(family, statistics, cache, k, row, work)
    return after - before


@inlined
def log_predictive_without(family, statistics, cache, k, row, work):
    """Log density of ``row``, a member of cluster ``k``, given the other members."""
    remove(family, statistics, cache, k, row, work)
    value = log_predictive(family, statistics, cache, k, row, work)
    add(family, statistics, cache, k, row, work)
    return value


@optional
def publish(family, statistics, cache, board, k):
    """Copy what ``add_log_predictives`` needs of cluster ``k`` into column ``k`` of ``board``.

    The board is laid out entry by cluster, so that one row is scored against many clusters in one stride.
    Default: there is no board.
    """
    return


@inlined
def add_log_predictives(family, statistics, cache, board, n_slots, row, work, reference, scores):
    """Add the log predictive of ``row`` under clusters 0 ... n_slots - 1 to their ``scores``.

    Clusters whose score is -inf are not in use. A score that is certain to end ``NEGLIGIBLE`` or more below
    ``reference`` may be set to -inf instead.
    """
    for k in range(n_slots):
        if scores[k] > -math.inf:
            scores[k] += log_predictive(family, statistics, cache, k, row, work)


@inlined
def place_of_cell(family, j, cell):
    """The entry of the cache of column ``j`` alone which, added to entry 0, is the log predictive of a cell.

    Default: 0, as the log predictive is no such sum. A family that has it says ``looks_up = True``.
    """
    return 0


@optional
def log_likelihood(family, parameters, k, row, work):
    """Log density of ``row`` under ``parameters[k]``."""
    width = work.size // 2
    work[:] = 0.0
    row_statistics(family, row, work)
    natural(family, parameters, k, work[width:])
    total = 0.0
    for s in range(width):
        total += work[s] * work[width + s]
    return total
