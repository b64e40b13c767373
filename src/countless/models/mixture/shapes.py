"""Which shape the measurements of a table have: decided by what short fits predict for other rows.

A column with a long tail is straight or bent (``families.bends``). A block of d correlated columns has d (d + 1) / 2
covariances in every cluster, independent columns d variances. What predicts better depends on the rows, not on their
number alone; so a few short fits are made on some of the rows, and compared by the log density of the others, in the
user's units. The simplest that is within a standard error of the best is taken (Breiman et al. 1984): where rows are
few, the best of several is often so by chance. Simple is what has the fewest numbers in all, those of a cluster times
the clusters: three clusters of two independent columns are not simpler than two of correlated ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...chains.watch import Watch
from ...core.random import spawn
from ...families.arrays import fill_missing
from ...families.base import Family
from ...families.bends import bent, likely_bend
from ...families.gaussian.heaps import heaped_columns
from ...families.table.regroup import correlated_measurements, guessed_measurements, regrouped
from ...families.table.table import Table
from ...partitions.seats import FloatArray, IntArray
from ...priors import Prior
from .engines.collapsed_gibbs import CollapsedGibbs
from .problem import Problem

# Rows that a trial fit is made on, and rows that it predicts. A third is predicted; small tables are divided in thirds,
# each of which is predicted once.
MOST_FITTED, MOST_PREDICTED = 1000, 500
THIRDS = 3
# Fewer rows than these say nothing about held-out density; columns are then straight and independent.
FEWEST_ROWS = 20
# Columns beyond which one block of all would have too many covariances to try.
MOST_TOGETHER = 60
# Draws of each trial that a density is averaged over.
DRAWS = 20
# Correlation within clusters, in absolute value, from which two columns are put into one block.
CORRELATED = 0.3

Groups = Sequence[tuple[int, ...]]


class Trial(NamedTuple):
    """One shape: in words, as the table with it, the log density of rows left out, labels of the first fit, and of how
    many numbers a cluster consists."""

    words: str
    table: Table
    groups: Groups
    scores: FloatArray
    labels: IntArray
    n_sums: int

    @property
    def n_clusters(self) -> int:
        """Clusters of the first fit."""
        return int(self.labels.max()) + 1

    def as_dict(self, first: Trial, taken: bool) -> dict[str, Any]:
        """What ``choice_`` says of it; differences are to the first trial."""
        difference = self.scores - first.scores
        return {
            "shape": self.words,
            "log_density": float(self.scores.mean()),
            "gain": float(difference.mean()),
            "standard_error": _error(difference),
            "n_clusters": self.n_clusters,
            "taken": taken,
        }


def choose_shapes(
    family: Family, rows: FloatArray, prior: Prior, rng: np.random.Generator, progress: bool | None = False
) -> tuple[Family, list[dict[str, Any]]]:
    """The family with its guessed measurements in the shape that predicts best, and what was compared.

    Other families are left as they are. The family has been read and is not resolved; the prior is resolved.
    """
    if not isinstance(family, Table):
        return family, []
    bends = {j: bend for j in guessed_measurements(family) if np.isfinite(bend := likely_bend(rows[:, j]))}
    if not bends and len(correlated_measurements(family)) < 2:
        return family, []
    if len(rows) < FEWEST_ROWS:
        return regrouped(family, [], {}, "too few rows for correlations"), []
    trials = Trials(family, rows, prior, spawn(rng, 1)[0], progress)
    first = trials.add("independent", [], {})
    if bends and not _is_better(trials.add("long tails bent", [], bends), first):
        bends = {}
    even = _not_heaped(family, rows)
    _try_blocks(trials, even, bends)
    if len(trials.made) == 1:
        return first.table, []
    taken = trials.chosen()
    listed = ", ".join(f"{trial.words} {trial.scores.mean():.2f}" for trial in trials.made)
    note = f"{taken.words}: of the shapes tried, the simplest that predicts rows left out as well as any ({listed})"
    compared = [trial.as_dict(first, trial is taken) for trial in trials.made]
    heaped = sorted(set(correlated_measurements(family)) - set(even))
    return regrouped(family, taken.groups, bends if taken is not first else {}, note, heaped), compared


def _try_blocks(trials: Trials, columns: tuple[int, ...], bends: Mapping[int, float]) -> None:
    """Correlated columns: all of them, and those that are correlated in the clusters then found."""
    if not 2 <= len(columns) <= MOST_TOGETHER:
        return
    tail = " and bent" if bends else ""
    together = trials.add(f"all correlated{tail}", [columns], bends)
    groups = _groups_of(trials.straightened(together, columns), together.labels, columns)
    if groups and groups != [columns]:
        trials.add(f"in blocks{tail}", groups, bends)


class Trials:
    """Short fits on the same rows, which predict the same others."""

    def __init__(
        self, family: Table, rows: FloatArray, prior: Prior, rng: np.random.Generator, progress: bool | None
    ) -> None:
        self.family, self.rows, self.prior, self.rng, self.progress = family, rows, prior, rng, progress
        self.folds = _folds(rng.permutation(len(rows)))
        self.made: list[Trial] = []

    def add(self, words: str, groups: Groups, bends: Mapping[int, float]) -> Trial:
        """Try these correlated groups of columns and these bends."""
        table = regrouped(self.family, groups, bends, words)
        left_open = table.left_open()
        whole = Problem.of(self.rows, table.resolve(self.rows), self.prior, left_open=left_open).learning()
        engine = CollapsedGibbs(chains=2, draws=DRAWS, warmup=2 * DRAWS)
        scores, labels = [], []
        for fitted, left_out in self.folds:
            part = whole.some(fitted)
            draws = engine.run(
                part, self.rng, Watch(self.progress, purpose=f"comparing shapes of the columns ({words})")
            )
            if draws.interrupted:
                raise KeyboardInterrupt("stopped before the first draw was kept")
            scores.append(part.held_out(draws, left_out, whole, DRAWS) - whole.log_volumes[left_out])
            labels.append(draws.best("labels").astype(np.int64))
        n_sums = whole.layout.statistics
        self.made.append(Trial(words, table, groups, np.concatenate(scores), labels[0], n_sums))
        return self.made[-1]

    def chosen(self) -> Trial:
        """The simplest, by the numbers of all its clusters, than which the best is not better by a standard error."""
        best = max(self.made, key=lambda trial: float(trial.scores.mean()))
        simplest_first = sorted(self.made, key=lambda trial: trial.n_sums * trial.n_clusters)
        return next(trial for trial in simplest_first if trial is best or not _is_better(best, trial))

    def straightened(self, trial: Trial, columns: tuple[int, ...]) -> FloatArray:
        """Cells of the fitted rows in which clusters of a trial are Gaussian."""
        bends = trial.table.bends(self.rows.shape[1])
        return np.array(bent(self.rows[self.folds[0].fitted], bends)[:, columns])


class Fold(NamedTuple):
    """Rows that a fit is made on, and rows that it predicts."""

    fitted: IntArray
    left_out: IntArray


def _folds(order: IntArray) -> list[Fold]:
    """One division of the rows in this order, or three of few rows."""
    n_rows, third = len(order), len(order) // THIRDS
    if n_rows > MOST_FITTED + MOST_PREDICTED:
        parts = [order[:MOST_PREDICTED]]
    else:
        parts = [order[at * third : (at + 1) * third] for at in range(THIRDS)]
    return [Fold(np.sort(order[~np.isin(order, part)][:MOST_FITTED]), np.sort(part)) for part in parts]


def _is_better(trial: Trial, than: Trial) -> bool:
    difference = trial.scores - than.scores
    return float(difference.mean()) > _error(difference)


def _error(difference: FloatArray) -> float:
    return float(difference.std(ddof=1) / np.sqrt(len(difference)))


def _not_heaped(family: Table, rows: FloatArray) -> tuple[int, ...]:
    """Measurements that may be correlated: a column that heaps on some values has no shape to share."""
    columns = correlated_measurements(family)
    heaped = heaped_columns(fill_missing(rows[:, columns]))
    return tuple(j for j, has_heaps in zip(columns, heaped, strict=True) if not has_heaps)


def _groups_of(residuals: FloatArray, labels: IntArray, columns: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Columns that are connected by correlations within clusters; the cells are used up."""
    from scipy.sparse.csgraph import connected_components

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
