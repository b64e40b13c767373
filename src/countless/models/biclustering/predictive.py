"""Predictive densities of cells: the mean over draws of what the block of each cell says."""

from __future__ import annotations

import numpy as np

from ...partitions.seats import FloatArray, IntArray
from .block_models.base import Matrix, NewCells
from .posterior import BiclusteringPosterior
from .problem import Problem

# Draws that a predictive density is averaged over.
PREDICTIVE_DRAWS = 50


def log_predictive(
    problem: Problem, posterior: BiclusteringPosterior, rows: IntArray, columns: IntArray, values: FloatArray
) -> FloatArray:
    """Log predictive of cells, averaged over draws of partitions and hyperparameters."""
    which = posterior.spaced(PREDICTIVE_DRAWS)
    row_labels = posterior.row_labels.reshape(posterior.n_draws, -1)
    column_labels = posterior.column_labels.reshape(posterior.n_draws, -1)
    offsets = posterior.get("offsets")
    flat = np.zeros((posterior.n_draws, 0)) if offsets is None else offsets.reshape(posterior.n_draws, -1)
    total = np.full(len(values), -np.inf)
    margins = problem.matrix.margins()
    for draw in which:
        labels = [row_labels[draw].astype(np.int64), column_labels[draw].astype(np.int64)]
        state = problem.state(*labels[: len(problem.priors)], offsets=flat[draw])
        slots = [seats.labels for seats in state.seats]
        cells = NewCells(
            rows, columns, slots[0][rows], slots[1][columns], values, (margins[0][rows], margins[1][columns])
        )
        model = problem.model.at(problem.law, flat[draw])
        total = np.logaddexp(total, model.log_cells(state.counts(), cells))
    return total - np.log(len(which))


def held_out(matrix: Matrix, new: Matrix, zeros: bool) -> tuple[IntArray, IntArray, FloatArray]:
    """Cells of ``new`` that are not missing: rows, columns and values, with zeros or without them."""
    if not zeros:
        known = ~np.isnan(new.values)
        return new.rows[known], new.columns[known], new.values[known]
    there = np.ones(matrix.shape, dtype=np.bool_)
    whole = np.zeros(matrix.shape)
    missing = np.isnan(new.values)
    there[new.rows[missing], new.columns[missing]] = False
    whole[new.rows[~missing], new.columns[~missing]] = new.values[~missing]
    rows, columns = np.nonzero(there)
    return rows, columns, whole[rows, columns]
