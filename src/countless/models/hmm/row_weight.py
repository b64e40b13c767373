"""What a row of a sequence counts for: less than one where rows of a state hold on to the rows before them.

A state of a hidden Markov model has rows that are independent given the state. Positions of a movement, or readings of
an instrument that drifts, are not: n of them whose neighbours have the correlation r say as much of their mean as
n (1 - r) / (1 + r) independent ones. Counted as n they make every passing position a state of its own. So the density
of each row is raised to a power w <= 1 (Miller and Dunson 2019, *Robust Bayesian inference via coarsening*); family,
transitions and engines stay as they are.

w is 1 where the number of states has a bound, so that there cannot be too many, or where cells are drawn; and unless
rows of a short fit are correlated within visits of their states. Then it is one of a few weights, by the
log density of whole stretches that were left out, as rows of the mixture of all states: neighbours of single rows left
out would be with the fitted ones and tell what they were; and the more states there are, the better each row says where
the next one is, whether or not states look like that anywhere else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ...chains.schedule import Schedule
from ...core.random import spawn
from ...partitions.seats import FloatArray, IntArray
from ...passes.passes import one_blas_thread
from ..learned import LearnHyperparameters
from .moves.numbers import BaseUpdate
from .moves.paths import WholePath
from .moves.split_merge import SplitMerge
from .predictive import Fitted
from .problem import Problem
from .state import State

# Weights that are tried, in this order, until one predicts worse than the best.
WEIGHTS = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)
# Correlation of neighbours below which rows count for one each, and pairs of neighbours in one visit that it takes to
# know.
CORRELATED, FEWEST_PAIRS = 0.1, 30
# Steps that are looked at; stretches that they are cut into, and the shortest; folds.
MOST_STEPS, STRETCHES, SHORTEST, FOLDS = 2000, 12, 20, 3
# Sweeps of a short fit; the second half is kept, one of so many.
SWEEPS, THIN = 80, 5


def resolve_row_weight(weight: Any, problem: Problem, rng: np.random.Generator) -> float:
    """The weight as a number: the one that was given, or found for ``"auto"``."""
    if isinstance(weight, str) and weight == "auto":
        if problem.draws_missing or problem.transitions.most is not None:
            return 1.0
        with one_blas_thread():
            return found_row_weight(problem, *spawn(rng, 1))
    try:
        value = float(weight)
    except (TypeError, ValueError):
        value = np.nan
    if not 0.0 < value <= 1.0:
        raise ValueError(f"row_weight must be 'auto' or a number above 0 and at most 1, got {weight!r}")
    if value != 1.0 and problem.draws_missing:
        raise ValueError(
            "row_weight must be 1 where missing cells of correlated columns are drawn; choose family='auto', where "
            "columns are independent given the state"
        )
    return value


def found_row_weight(problem: Problem, rng: np.random.Generator) -> float:
    """The weight for these sequences."""
    part = problem.stretches(MOST_STEPS, rng)
    pieces = _cut(part)
    if pieces.max() + 1 < 2 * FOLDS:
        return 1.0
    if neighbour_correlation(part, np.zeros(part.n_rows, dtype=np.int64)) < CORRELATED:
        return 1.0
    states = _short_fit(part, rng)
    if neighbour_correlation(part, states[-1].labels) < CORRELATED:
        return 1.0
    return _best_by_prediction(part, pieces, rng)


def neighbour_correlation(problem: Problem, labels: IntArray) -> float:
    """Correlation of what rows differ by from their state, between neighbours in one visit; 0 where few can be seen.

    In units of the standard deviations within states, over all statistics of a row that vary.
    """
    statistics = problem.statistics(slice(None), problem.rows)
    same = (labels[1:] == labels[:-1]) & ~problem.first[1:]
    if same.sum() < FEWEST_PAIRS:
        return 0.0
    sums = np.zeros((int(labels.max()) + 1, statistics.shape[1]))
    np.add.at(sums, labels, statistics)
    apart = statistics - (sums / np.bincount(labels)[:, None])[labels]
    spread = np.sqrt((apart**2).mean(axis=0))
    varies = spread > 1e-9 * np.maximum(np.abs(statistics).max(axis=0), 1e-300)
    if not varies.any():
        return 0.0
    apart = apart[:, varies] / spread[varies]
    before, after = apart[:-1][same], apart[1:][same]
    return float((before * after).sum() / np.sqrt((before**2).sum() * (after**2).sum()))


def _cut(problem: Problem) -> IntArray:
    """Number of the stretch of each step: pieces of equal length, which end where sequences do."""
    length = max(SHORTEST, problem.n_rows // STRETCHES)
    begins, at = np.flatnonzero(problem.first), np.arange(problem.n_rows)
    since = at - begins[np.searchsorted(begins, at, side="right") - 1]
    whole = np.repeat(problem.lengths, problem.lengths)
    # The last piece of a sequence takes what is left over.
    piece = np.minimum(since // length, np.maximum(whole // length, 1) - 1)
    starts = problem.first | (np.append(-1, piece[:-1]) != piece)
    return np.asarray(np.cumsum(starts) - 1)


def _short_fit(problem: Problem, rng: np.random.Generator) -> list[State]:
    """Some states of a chain."""
    state = State(problem, np.zeros(problem.n_rows, dtype=np.int64))
    schedule = Schedule([WholePath(), SplitMerge(5), BaseUpdate(), LearnHyperparameters()])
    kept = []
    for sweep in range(SWEEPS):
        schedule.step(rng, state)
        if sweep >= SWEEPS // 2 and sweep % THIN == THIN - 1:
            kept.append(state.copy())
    return kept


def _best_by_prediction(problem: Problem, pieces: IntArray, rng: np.random.Generator) -> float:
    """The least weight under which stretches left out are as probable as under the best, but for a standard error.

    It has the fewest states (Breiman et al. 1984). The weight is 1 unless the best is better by a standard error.
    """
    scores: dict[float, FloatArray] = {}
    for weight in WEIGHTS:
        scores[weight] = _left_out(replace(problem, row_weight=weight), pieces, rng)
        if _is_better(scores[_best(scores)], scores[weight]):
            break
    best = scores[_best(scores)]
    if not _is_better(best, scores[1.0]):
        return 1.0
    return min(weight for weight, each in scores.items() if not _is_better(best, each))


def _best(scores: dict[float, FloatArray]) -> float:
    return max(scores, key=lambda weight: float(scores[weight].sum()))


def _is_better(scores: FloatArray, than: FloatArray) -> bool:
    difference = scores - than
    return float(difference.sum()) > float(difference.std(ddof=1) * np.sqrt(len(difference)))


def _left_out(problem: Problem, pieces: IntArray, rng: np.random.Generator) -> FloatArray:
    """Log density of each piece, from fits without it."""
    out = np.zeros(int(pieces.max()) + 1)
    for fold in range(FOLDS):
        away = pieces % FOLDS == fold
        part = _pieces_of(problem, pieces, ~away)
        others = _pieces_of(problem, pieces, away)
        each = [_log_mixture(state, others.rows) for state in _short_fit(part, rng)]
        by_draw = [np.bincount(pieces[away], values, minlength=len(out)) for values in each]
        mine = np.unique(pieces[away])
        out[mine] = (np.logaddexp.reduce(by_draw) - np.log(len(by_draw)))[mine]
    return out


def _pieces_of(problem: Problem, pieces: IntArray, which: Any) -> Problem:
    """The pieces that are chosen, each a sequence of its own."""
    steps = np.flatnonzero(which)
    begins = np.flatnonzero(np.append(True, np.diff(pieces[steps]) != 0))
    return replace(problem.some(steps), lengths=np.diff(np.append(begins, len(steps))))


def _log_mixture(state: State, rows: FloatArray) -> FloatArray:
    """Log density of rows at unknown times: each state, and a new one, has its share of the steps."""
    problem = state.problem if state.problem.law is None else state.problem.learned(state.offsets)
    fitted = Fitted.of(problem, state.labels, state.fixed, (state.weights, state.rest))
    shares = state.sizes / state.n_rows @ fitted.chain.transition[:-1]
    return np.asarray(logsumexp(fitted.scores(rows) + np.log(shares), axis=1))
