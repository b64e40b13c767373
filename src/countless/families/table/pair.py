"""Two families side by side: independent given the cluster, so that evidences and predictives add up.

A table with more than two parts is a pair of a part and a pair. A part may have no columns, so that all tables with
columns of the usual kinds share their compiled kernels, whichever of these kinds they hold.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...core.jit import inner_kernel
from .. import verbs
from ..verbs import implements, never_inlined


@never_inlined
class Pair(NamedTuple):
    """Hyperparameters of both sides, the columns of each, and how much of every array belongs to the left one."""

    left: Any
    right: Any
    n_left: int
    n_right: int
    n_statistics: int
    n_cache: int
    n_parameters: int
    n_board: int


# Slices of arrays are functions of their own: written out in every verb they would double the time to compile.
@inner_kernel
def left_of(array, width):
    return array[:, :width]


@inner_kernel
def right_of(array, width):
    return array[:, width:]


@inner_kernel
def first_cells(vector, width):
    return vector[:width]


@inner_kernel
def last_cells(vector, width):
    return vector[width:]


@implements(verbs.row_statistics, Pair)
def _row_statistics(family, row, out):
    if family.n_left > 0:
        verbs.row_statistics(family.left, first_cells(row, family.n_left), first_cells(out, family.n_statistics))
    if family.n_right > 0:
        verbs.row_statistics(family.right, last_cells(row, family.n_left), last_cells(out, family.n_statistics))


@implements(verbs.refresh, Pair)
def _refresh(family, statistics, cache, k, work):
    if family.n_left > 0:
        verbs.refresh(family.left, left_of(statistics, family.n_statistics), left_of(cache, family.n_cache), k, work)
    if family.n_right > 0:
        verbs.refresh(family.right, right_of(statistics, family.n_statistics), right_of(cache, family.n_cache), k, work)


@implements(verbs.add, Pair)
def _add(family, statistics, cache, k, row, work):
    if family.n_left > 0:
        verbs.add(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            k,
            first_cells(row, family.n_left),
            work,
        )
    if family.n_right > 0:
        verbs.add(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            k,
            last_cells(row, family.n_left),
            work,
        )


@implements(verbs.remove, Pair)
def _remove(family, statistics, cache, k, row, work):
    if family.n_left > 0:
        verbs.remove(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            k,
            first_cells(row, family.n_left),
            work,
        )
    if family.n_right > 0:
        verbs.remove(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            k,
            last_cells(row, family.n_left),
            work,
        )


@implements(verbs.log_predictive, Pair)
def _log_predictive(family, statistics, cache, k, row, work):
    value = 0.0
    if family.n_left > 0:
        value += verbs.log_predictive(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            k,
            first_cells(row, family.n_left),
            work,
        )
    if family.n_right > 0:
        value += verbs.log_predictive(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            k,
            last_cells(row, family.n_left),
            work,
        )
    return value


@implements(verbs.log_predictive_without, Pair)
def _log_predictive_without(family, statistics, cache, k, row, work):
    value = 0.0
    if family.n_left > 0:
        value += verbs.log_predictive_without(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            k,
            first_cells(row, family.n_left),
            work,
        )
    if family.n_right > 0:
        value += verbs.log_predictive_without(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            k,
            last_cells(row, family.n_left),
            work,
        )
    return value


@inner_kernel
def _n_left_parts(family):
    return verbs.n_parts(family.left) if family.n_left > 0 else 0


@implements(verbs.n_parts, Pair)
def _n_parts(family):
    return _n_left_parts(family) + (verbs.n_parts(family.right) if family.n_right > 0 else 0)


@implements(verbs.n_learned, Pair)
def _n_learned(family, j):
    n_left = _n_left_parts(family)
    return verbs.n_learned(family.left, j) if j < n_left else verbs.n_learned(family.right, j - n_left)


@implements(verbs.set_learned, Pair)
def _set_learned(family, base, j, c, offset):
    n_left = _n_left_parts(family)
    if j < n_left:
        verbs.set_learned(family.left, base.left, j, c, offset)
    else:
        verbs.set_learned(family.right, base.right, j - n_left, c, offset)


@implements(verbs.learned_evidences, Pair)
def _learned_evidences(family, statistics, cache, slots, j, c, work):
    n_left = _n_left_parts(family)
    if j < n_left:
        return verbs.learned_evidences(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            slots,
            j,
            c,
            work,
        )
    return verbs.learned_evidences(
        family.right,
        right_of(statistics, family.n_statistics),
        right_of(cache, family.n_cache),
        slots,
        j - n_left,
        c,
        work,
    )


@implements(verbs.publish, Pair)
def _publish(family, statistics, cache, board, k):
    if family.n_left > 0:
        verbs.publish(family.left, left_of(statistics, family.n_statistics), left_of(cache, family.n_cache), board, k)
    if family.n_right > 0:
        verbs.publish(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            board[family.n_board :],
            k,
        )


@implements(verbs.add_log_predictives, Pair)
def _add_log_predictives(family, statistics, cache, board, n_slots, row, work, reference, scores):
    """Only the last part knows the whole score, so only that part may rule clusters out by the reference."""
    if family.n_left > 0:
        verbs.add_log_predictives(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            board,
            n_slots,
            first_cells(row, family.n_left),
            work,
            reference if family.n_right == 0 else -math.inf,
            scores,
        )
    if family.n_right > 0:
        verbs.add_log_predictives(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            board[family.n_board :],
            n_slots,
            last_cells(row, family.n_left),
            work,
            reference,
            scores,
        )


@implements(verbs.has_missing, Pair)
def _has_missing(family, row):
    if family.n_left > 0 and verbs.has_missing(family.left, first_cells(row, family.n_left)):
        return True
    return family.n_right > 0 and verbs.has_missing(family.right, last_cells(row, family.n_left))


@implements(verbs.draw_missing, Pair)
def _draw_missing(family, statistics, cache, k, row, rng, work):
    if family.n_left > 0:
        verbs.draw_missing(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            k,
            first_cells(row, family.n_left),
            rng,
            work,
        )
    if family.n_right > 0:
        verbs.draw_missing(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            k,
            last_cells(row, family.n_left),
            rng,
            work,
        )


@implements(verbs.log_marginal, Pair)
def _log_marginal(family, statistics, cache, k):
    value = 0.0
    if family.n_left > 0:
        value += verbs.log_marginal(
            family.left, left_of(statistics, family.n_statistics), left_of(cache, family.n_cache), k
        )
    if family.n_right > 0:
        value += verbs.log_marginal(
            family.right, right_of(statistics, family.n_statistics), right_of(cache, family.n_cache), k
        )
    return value


@implements(verbs.draw_parameters, Pair)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    if family.n_left > 0:
        verbs.draw_parameters(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            k,
            rng,
            left_of(parameters, family.n_parameters),
        )
    if family.n_right > 0:
        verbs.draw_parameters(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            k,
            rng,
            right_of(parameters, family.n_parameters),
        )


@implements(verbs.natural, Pair)
def _natural(family, parameters, k, out):
    if family.n_left > 0:
        verbs.natural(family.left, left_of(parameters, family.n_parameters), k, first_cells(out, family.n_statistics))
    if family.n_right > 0:
        verbs.natural(family.right, right_of(parameters, family.n_parameters), k, last_cells(out, family.n_statistics))


@implements(verbs.expected_natural, Pair)
def _expected_natural(family, statistics, cache, k, out):
    if family.n_left > 0:
        verbs.expected_natural(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            k,
            first_cells(out, family.n_statistics),
        )
    if family.n_right > 0:
        verbs.expected_natural(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            k,
            last_cells(out, family.n_statistics),
        )


@implements(verbs.estimate, Pair)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    bounded = False
    if family.n_left > 0:
        bounded |= verbs.estimate(
            family.left,
            left_of(statistics, family.n_statistics),
            left_of(cache, family.n_cache),
            k,
            prior_weight,
            left_of(parameters, family.n_parameters),
        )
    if family.n_right > 0:
        bounded |= verbs.estimate(
            family.right,
            right_of(statistics, family.n_statistics),
            right_of(cache, family.n_cache),
            k,
            prior_weight,
            right_of(parameters, family.n_parameters),
        )
    return bounded


@implements(verbs.log_prior, Pair)
def _log_prior(family, parameters, k):
    value = 0.0
    if family.n_left > 0:
        value += verbs.log_prior(family.left, left_of(parameters, family.n_parameters), k)
    if family.n_right > 0:
        value += verbs.log_prior(family.right, right_of(parameters, family.n_parameters), k)
    return value


@implements(verbs.divergence, Pair)
def _divergence(family, row, centre):
    value = 0.0
    if family.n_left > 0:
        value += verbs.divergence(
            family.left, first_cells(row, family.n_left), first_cells(centre, family.n_statistics)
        )
    if family.n_right > 0:
        value += verbs.divergence(family.right, last_cells(row, family.n_left), last_cells(centre, family.n_statistics))
    return value


@implements(verbs.mean_divergence, Pair)
def _mean_divergence(family, mean_row, mean, centre):
    value = 0.0
    if family.n_left > 0:
        value += verbs.mean_divergence(
            family.left,
            first_cells(mean_row, family.n_left),
            first_cells(mean, family.n_statistics),
            first_cells(centre, family.n_statistics),
        )
    if family.n_right > 0:
        value += verbs.mean_divergence(
            family.right,
            last_cells(mean_row, family.n_left),
            last_cells(mean, family.n_statistics),
            last_cells(centre, family.n_statistics),
        )
    return value
