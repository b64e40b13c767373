"""Gaussian clusters with a variance for each column."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from cases.family import Example, FamilyCase, Seven
from cases.gaussian_rows import NORMAL, PLANE, any_rows, far_apart, student_column
from cases.oracles import log_normal_inverse_wishart, mean_is_finite, one_per_column, per_column, positive
from countless.families import DiagonalGaussian


def _column_fields(family, rows, j):
    """Column ``j`` is a Gaussian of one column."""
    mean, strength, scale, dof = (
        per_column(value, rows)[j] for value in (family.mean, family.mean_strength, family.scale, family.dof)
    )
    return [mean], strength, [[scale]], dof


def _log_evidence(family, rows):
    return sum(log_normal_inverse_wishart(*_column_fields(family, rows, j), rows[:, [j]]) for j in range(rows.shape[1]))


def _log_prior(family, parameters):
    mean, precision = np.split(parameters, 2)
    variance = 1 / precision
    return np.sum(
        stats.invgamma.logpdf(variance, np.asarray(family.dof) / 2, scale=np.asarray(family.scale) / 2)
        + np.log(variance)
        + stats.norm.logpdf(mean, family.mean, np.sqrt(variance / np.asarray(family.mean_strength)))
    )


def _moved(family, shift, scale):
    return replace(family, mean=(family.mean + shift) * scale, scale=np.asarray(family.scale) * scale**2)


CASE = FamilyCase(
    cells="real",
    rows=any_rows,
    two_groups=lambda n: far_apart(3, n),
    examples=(
        Example.of("diagonal-1d", DiagonalGaussian([0.3], 0.7, [1.3], 4.0), NORMAL[:, :1], 2),
        Example.of(
            "diagonal-3d",
            DiagonalGaussian([1.0, -0.5, 0.0], [0.4, 2.0, 1.0], [1.0, 0.5, 3.0], [3.0, 5.0, 8.5]),
            NORMAL,
            6,
        ),
    ),
    sevens=(Seven("diagonal-gaussian", DiagonalGaussian([1.5, 1.5], 0.4, [2.8, 3.4], [3.0, 4.0]), PLANE),),
    log_evidence=_log_evidence,
    column=lambda family, rows, j: student_column(*_column_fields(family, rows, j), rows[:, [j]], 0),
    density=lambda family, p, row: stats.norm(p[: len(row)], 1 / np.sqrt(p[len(row) :])).logpdf(row).sum(),
    log_prior=_log_prior,
    from_free=lambda family, u: np.concatenate([u[: len(u) // 2], np.exp(u[len(u) // 2 :])]),
    described=lambda named, k, family, row: (
        stats.norm(named["mean"][k], np.sqrt(named["variance"][k])).logpdf(row).sum()
    ),
    deviance=lambda family, row, rows: np.sum((row - rows.mean(axis=0)) ** 2 * family.dof / family.scale) / 2,
    moved=_moved,
    bad_hyperparameters=(
        *positive(["mean_strength", "scale", "dof"]),
        *one_per_column(["mean", "mean_strength", "scale", "dof"]),
        *mean_is_finite(),
    ),
)
