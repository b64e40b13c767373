"""Two families side by side: independent given the cluster, so that everything adds up.

A table with more than two parts is a pair of a part and a pair. A part may have no columns; so that tables of the usual
kinds of columns share their compiled kernels, whichever of these they hold.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...core.jit import kernel
from .. import verbs
from ..verbs import implements, never_inlined


@never_inlined
class Pair(NamedTuple):
    """Hyperparameters of both sides, and how much of each array belongs to the left one."""

    left: Any
    right: Any
    n_left: int
    n_right: int
    statistics: int
    cache: int
    parameters: int
    board: int


# Slices of arrays in functions of their own: spelt out in every verb they would double the time to compile.
@kernel
def left(array, width):
    return array[:, :width]


@kernel
def right(array, width):
    return array[:, width:]


@kernel
def head(vector, width):
    return vector[:width]


@kernel
def tail(vector, width):
    return vector[width:]


@implements(verbs.row_statistics, Pair)
def _row_statistics(family, row, out):
    if family.n_left > 0:
        verbs.row_statistics(family.left, head(row, family.n_left), head(out, family.statistics))
    if family.n_right > 0:
        verbs.row_statistics(family.right, tail(row, family.n_left), tail(out, family.statistics))


@implements(verbs.refresh, Pair)
def _refresh(family, statistics, cache, k, work):
    if family.n_left > 0:
        verbs.refresh(family.left, left(statistics, family.statistics), left(cache, family.cache), k, work)
    if family.n_right > 0:
        verbs.refresh(family.right, right(statistics, family.statistics), right(cache, family.cache), k, work)


@implements(verbs.add, Pair)
def _add(family, statistics, cache, k, row, work):
    if family.n_left > 0:
        verbs.add(
            family.left,
            left(statistics, family.statistics),
            left(cache, family.cache),
            k,
            head(row, family.n_left),
            work,
        )
    if family.n_right > 0:
        verbs.add(
            family.right,
            right(statistics, family.statistics),
            right(cache, family.cache),
            k,
            tail(row, family.n_left),
            work,
        )


@implements(verbs.remove, Pair)
def _remove(family, statistics, cache, k, row, work):
    if family.n_left > 0:
        verbs.remove(
            family.left,
            left(statistics, family.statistics),
            left(cache, family.cache),
            k,
            head(row, family.n_left),
            work,
        )
    if family.n_right > 0:
        verbs.remove(
            family.right,
            right(statistics, family.statistics),
            right(cache, family.cache),
            k,
            tail(row, family.n_left),
            work,
        )


@implements(verbs.log_predictive, Pair)
def _log_predictive(family, statistics, cache, k, row, work):
    value = 0.0
    if family.n_left > 0:
        value += verbs.log_predictive(
            family.left,
            left(statistics, family.statistics),
            left(cache, family.cache),
            k,
            head(row, family.n_left),
            work,
        )
    if family.n_right > 0:
        value += verbs.log_predictive(
            family.right,
            right(statistics, family.statistics),
            right(cache, family.cache),
            k,
            tail(row, family.n_left),
            work,
        )
    return value


@implements(verbs.log_predictive_without, Pair)
def _log_predictive_without(family, statistics, cache, k, row, work):
    value = 0.0
    if family.n_left > 0:
        value += verbs.log_predictive_without(
            family.left,
            left(statistics, family.statistics),
            left(cache, family.cache),
            k,
            head(row, family.n_left),
            work,
        )
    if family.n_right > 0:
        value += verbs.log_predictive_without(
            family.right,
            right(statistics, family.statistics),
            right(cache, family.cache),
            k,
            tail(row, family.n_left),
            work,
        )
    return value


@implements(verbs.publish, Pair)
def _publish(family, statistics, cache, board, k):
    if family.n_left > 0:
        verbs.publish(family.left, left(statistics, family.statistics), left(cache, family.cache), board, k)
    if family.n_right > 0:
        verbs.publish(
            family.right, right(statistics, family.statistics), right(cache, family.cache), board[family.board :], k
        )


@implements(verbs.add_log_predictives, Pair)
def _add_log_predictives(family, statistics, cache, board, n_slots, row, work, reference, scores):
    """Only the last part knows the whole score, so only that one may rule clusters out by the reference."""
    if family.n_left > 0:
        verbs.add_log_predictives(
            family.left,
            left(statistics, family.statistics),
            left(cache, family.cache),
            board,
            n_slots,
            head(row, family.n_left),
            work,
            reference if family.n_right == 0 else -math.inf,
            scores,
        )
    if family.n_right > 0:
        verbs.add_log_predictives(
            family.right,
            right(statistics, family.statistics),
            right(cache, family.cache),
            board[family.board :],
            n_slots,
            tail(row, family.n_left),
            work,
            reference,
            scores,
        )


@implements(verbs.has_missing, Pair)
def _has_missing(family, row):
    if family.n_left > 0 and verbs.has_missing(family.left, head(row, family.n_left)):
        return True
    return family.n_right > 0 and verbs.has_missing(family.right, tail(row, family.n_left))


@implements(verbs.draw_missing, Pair)
def _draw_missing(family, statistics, cache, k, row, rng, work):
    if family.n_left > 0:
        verbs.draw_missing(
            family.left,
            left(statistics, family.statistics),
            left(cache, family.cache),
            k,
            head(row, family.n_left),
            rng,
            work,
        )
    if family.n_right > 0:
        verbs.draw_missing(
            family.right,
            right(statistics, family.statistics),
            right(cache, family.cache),
            k,
            tail(row, family.n_left),
            rng,
            work,
        )


@implements(verbs.log_marginal, Pair)
def _log_marginal(family, statistics, cache, k):
    value = 0.0
    if family.n_left > 0:
        value += verbs.log_marginal(family.left, left(statistics, family.statistics), left(cache, family.cache), k)
    if family.n_right > 0:
        value += verbs.log_marginal(family.right, right(statistics, family.statistics), right(cache, family.cache), k)
    return value


@implements(verbs.draw_parameters, Pair)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    if family.n_left > 0:
        verbs.draw_parameters(
            family.left,
            left(statistics, family.statistics),
            left(cache, family.cache),
            k,
            rng,
            left(parameters, family.parameters),
        )
    if family.n_right > 0:
        verbs.draw_parameters(
            family.right,
            right(statistics, family.statistics),
            right(cache, family.cache),
            k,
            rng,
            right(parameters, family.parameters),
        )


@implements(verbs.natural, Pair)
def _natural(family, parameters, k, out):
    if family.n_left > 0:
        verbs.natural(family.left, left(parameters, family.parameters), k, head(out, family.statistics))
    if family.n_right > 0:
        verbs.natural(family.right, right(parameters, family.parameters), k, tail(out, family.statistics))


@implements(verbs.expected_natural, Pair)
def _expected_natural(family, statistics, cache, k, out):
    if family.n_left > 0:
        verbs.expected_natural(
            family.left,
            left(statistics, family.statistics),
            left(cache, family.cache),
            k,
            head(out, family.statistics),
        )
    if family.n_right > 0:
        verbs.expected_natural(
            family.right,
            right(statistics, family.statistics),
            right(cache, family.cache),
            k,
            tail(out, family.statistics),
        )


@implements(verbs.estimate, Pair)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    held = False
    if family.n_left > 0:
        held |= verbs.estimate(
            family.left,
            left(statistics, family.statistics),
            left(cache, family.cache),
            k,
            prior_weight,
            left(parameters, family.parameters),
        )
    if family.n_right > 0:
        held |= verbs.estimate(
            family.right,
            right(statistics, family.statistics),
            right(cache, family.cache),
            k,
            prior_weight,
            right(parameters, family.parameters),
        )
    return held


@implements(verbs.log_prior, Pair)
def _log_prior(family, parameters, k):
    value = 0.0
    if family.n_left > 0:
        value += verbs.log_prior(family.left, left(parameters, family.parameters), k)
    if family.n_right > 0:
        value += verbs.log_prior(family.right, right(parameters, family.parameters), k)
    return value


@implements(verbs.divergence, Pair)
def _divergence(family, row, centre):
    value = 0.0
    if family.n_left > 0:
        value += verbs.divergence(family.left, head(row, family.n_left), head(centre, family.statistics))
    if family.n_right > 0:
        value += verbs.divergence(family.right, tail(row, family.n_left), tail(centre, family.statistics))
    return value


@implements(verbs.mean_divergence, Pair)
def _mean_divergence(family, mean_row, mean, centre):
    value = 0.0
    if family.n_left > 0:
        value += verbs.mean_divergence(
            family.left, head(mean_row, family.n_left), head(mean, family.statistics), head(centre, family.statistics)
        )
    if family.n_right > 0:
        value += verbs.mean_divergence(
            family.right, tail(mean_row, family.n_left), tail(mean, family.statistics), tail(centre, family.statistics)
        )
    return value
