"""Which measurements of a table are correlated within clusters: decided by what short fits predict for other rows.

A block of d correlated columns has d (d + 1) / 2 covariances in every cluster, independent columns d variances. Which
of the two predicts better depends on the rows, not on their number alone; so a few short fits are made on some of the
rows, and the choice with the largest mean log predictive density of the others is taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...chains.watch import Watch
from ...core.random import spawn
from ...families.base import Family
from ...families.gaussian.heaps import heaped_columns
from ...families.missing import fill_missing
from ...families.table.regroup import guessed_measurements, regrouped
from ...families.table.table import Table
from ...partitions.seats import FloatArray, IntArray
from ...priors import Prior
from .engines.collapsed_gibbs import CollapsedGibbs
from .problem import Problem

# Rows that the trial fits are made on, and rows that they predict.
MOST_FITTED, MOST_PREDICTED = 1000, 500
# Fewer rows than these say nothing about held-out density; columns are then independent.
FEWEST_ROWS = 20
# Columns beyond which one block of all would have too many covariances to try.
MOST_TOGETHER = 60
# Draws of each trial that a density is averaged over.
DRAWS = 20
# Correlation within clusters, in absolute value, from which two columns are put into one block.
CORRELATED = 0.3


class Trial(NamedTuple):
    """One way to group columns, in words, and the log predictive density of each row that was left out."""

    words: str
    groups: list[tuple[int, ...]]
    scores: FloatArray
    labels: IntArray


def choose_correlations(family: Family, rows: FloatArray, prior: Prior, rng: np.random.Generator) -> Family:
    """The family with its guessed measurements in the blocks that predict best; other families as they are.

    The family has been read and is not resolved; the prior is resolved. What was compared stands in the notes of the
    columns.
    """
    if not isinstance(family, Table):
        return family
    columns = guessed_measurements(family)
    if len(columns) < 2:
        return family
    heaped = heaped_columns(fill_missing(rows[:, columns]))
    columns = tuple(j for j, has_heaps in zip(columns, heaped, strict=True) if not has_heaps)
    if len(rows) < FEWEST_ROWS:
        return regrouped(family, [], "too few rows for correlations")
    (rng,) = spawn(rng, 1)
    order = rng.permutation(len(rows))
    n_predicted = min(len(rows) // 3, MOST_PREDICTED)
    left_out, fitted = np.sort(order[:n_predicted]), np.sort(order[n_predicted : n_predicted + MOST_FITTED])
    trials = [_try(family, "independent", [], rows, fitted, left_out, prior, rng)]
    if 2 <= len(columns) <= MOST_TOGETHER:
        trials.append(_try(family, "all correlated", [columns], rows, fitted, left_out, prior, rng))
        groups = _groups_of(rows[fitted][:, columns], trials[-1].labels, columns)
        if sum(map(len, groups)) > 0 and groups != [columns]:
            trials.append(_try(family, "in blocks", groups, rows, fitted, left_out, prior, rng))
    best = max(trials, key=lambda trial: float(trial.scores.mean()))
    listed = ", ".join(f"{trial.words} {trial.scores.mean():.2f}" for trial in trials)
    return regrouped(family, best.groups, f"{best.words}, by log density of rows left out ({listed})")


def _try(
    family: Table,
    words: str,
    groups: Any,
    rows: FloatArray,
    fitted: IntArray,
    left_out: IntArray,
    prior: Prior,
    rng: np.random.Generator,
) -> Trial:
    """A short fit with the columns in these groups."""
    table = regrouped(family, groups, words)
    left_open = table.left_open()
    whole = Problem.of(rows, table.resolve(rows), prior, left_open=left_open).learning()
    part = whole.some(fitted)
    engine = CollapsedGibbs(chains=2, draws=DRAWS, warmup=2 * DRAWS)
    draws = engine.run(part, rng, Watch(progress=False))
    scores = part.held_out(draws, left_out, whole, DRAWS)
    return Trial(words, [tuple(group) for group in groups], scores, draws.best("labels").astype(np.int64))


def _groups_of(cells: FloatArray, labels: IntArray, columns: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Columns that are connected by correlations within clusters."""
    from scipy.sparse.csgraph import connected_components

    residuals = cells.copy()
    for k in np.unique(labels):
        members = labels == k
        with np.errstate(invalid="ignore"):
            centre = np.nanmean(residuals[members], axis=0) if members.sum() > 1 else residuals[members][0]
        residuals[members] -= centre
    filled = np.where(np.isnan(residuals), 0.0, residuals)
    sums = filled.T @ filled
    spread = np.sqrt(np.maximum(np.diag(sums), 1e-300))
    linked = np.abs(sums / np.outer(spread, spread)) >= CORRELATED
    n_groups, member = connected_components(linked, directed=False)
    groups = [tuple(np.asarray(columns)[member == group].tolist()) for group in range(n_groups)]
    return [group for group in groups if len(group) > 1]
