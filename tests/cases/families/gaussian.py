"""Gaussian clusters with a free covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from cases.family import Example, FamilyCase, Seven
from cases.gaussian_rows import NORMAL, PLANE, SCALE, any_rows, far_apart, student, student_column
from cases.oracles import (
    covariance,
    log_normal_inverse_wishart,
    mean_is_finite,
    one_per_column,
    positive,
    precision_of,
)
from countless.families import Gaussian


def _fields(family):
    return np.atleast_1d(family.mean), family.mean_strength, np.atleast_2d(family.scale), family.dof


def _density(family, parameters, row):
    d = len(row)
    return stats.multivariate_normal(parameters[:d], np.linalg.inv(precision_of(parameters, d))).logpdf(row)


def _predictive(family, rows, row):
    location, shape, df = student(*_fields(family), rows)
    return stats.multivariate_t(loc=location, shape=shape, df=df).logpdf(row)


def _log_prior(family, parameters):
    """With respect to the measure |Sigma|^-(D + 1)/2 dSigma."""
    d = np.size(family.mean)
    sigma = np.linalg.inv(precision_of(parameters, d))
    return (
        stats.invwishart.logpdf(sigma, family.dof, np.asarray(family.scale))
        + stats.multivariate_normal.logpdf(parameters[:d], family.mean, sigma / family.mean_strength)
        + 0.5 * (d + 1) * np.linalg.slogdet(sigma)[1]
    )


def _from_free(family, free):
    d = np.size(family.mean)
    factor = np.zeros((d, d))
    factor[np.tril_indices(d)] = free[d:]
    factor[np.diag_indices(d)] = np.exp(np.diag(factor))
    return np.concatenate([free[:d], *(factor[j:, j] for j in range(d))])


def _deviance(family, row, rows):
    """Half the squared Mahalanobis distance in the prior's scale / dof."""
    off = row - rows.mean(axis=0)
    return off @ np.linalg.solve(np.asarray(family.scale) / family.dof, off) / 2


def _moved(family, shift, scale):
    return replace(family, mean=(family.mean + shift) * scale, scale=np.asarray(family.scale) * np.outer(scale, scale))


def _wide_rows():
    """Fourteen columns: beyond twelve the family scores rows by their leading columns first."""
    rows = np.random.default_rng(14).standard_normal((7, 14))
    rows[4:, ::2] += 1.2
    return rows


CASE = FamilyCase(
    cells="real",
    rows=any_rows,
    two_groups=lambda n: far_apart(5, n),
    examples=(
        Example.of("gaussian-1d", Gaussian([0.3], 0.7, [[1.3]], 2.5), NORMAL[:, :1], 2),
        Example.of("gaussian-2d", Gaussian([0.2, 0.1], 0.5, SCALE[:2, :2], 4.5), NORMAL[:, :2], 5),
        Example.of("gaussian-3d", Gaussian([1.0, -0.5, 0.0], 2.0, SCALE, 6.0), NORMAL, 9),
    ),
    sevens=(
        Seven("gaussian", Gaussian([1.5, 1.5], 0.2, [[1.2, 0.2], [0.2, 1.0]], 5.0), PLANE),
        Seven("gaussian-14-columns", Gaussian(np.zeros(14), 0.6, 6.0 * np.eye(14), 20.0), _wide_rows()),
    ),
    log_evidence=lambda family, rows: log_normal_inverse_wishart(*_fields(family), rows),
    column=lambda family, rows, j: student_column(*_fields(family), rows, j),
    density=_density,
    predictive=_predictive,
    log_prior=_log_prior,
    from_free=_from_free,
    described=lambda named, k, family, row: stats.multivariate_normal(named["mean"][k], named["covariance"][k]).logpdf(
        row
    ),
    deviance=_deviance,
    moved=_moved,
    bad_hyperparameters=(
        *positive(["mean_strength", "scale"]),
        *one_per_column(["mean", "scale"]),
        *mean_is_finite(),
        *covariance(["scale"]),
        *(({"dof": bad}, r"^dof must ") for bad in (1.0, 0.5, -3.0, np.nan, np.inf, "many", [3.0, 4.0])),
        ({"mean_strength": [1.0, 2.0]}, r"^mean_strength must"),
        ({"scale": "wide"}, r"^scale must"),
    ),
)
