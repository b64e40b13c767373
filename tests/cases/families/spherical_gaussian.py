"""Gaussian clusters with one known variance in every direction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from cases.family import Example, FamilyCase, Seven
from cases.gaussian_rows import NORMAL, PLANE, any_rows, far_apart, joint_log_density, known_column
from cases.oracles import log_gaussian_mean, mean_is_finite, one_per_column, positive
from countless.families import SphericalGaussian


def _covariances(family):
    identity = np.eye(np.size(family.mean))
    return family.variance * identity, family.mean_variance * identity


def _log_evidence(family, rows):
    """One column at a time: a small diagonal would otherwise be a product of small numbers."""
    return sum(
        log_gaussian_mean([[family.variance]], [family.mean[j]], [[family.mean_variance]], rows[:, [j]])
        for j in range(rows.shape[1])
    )


def _predictive(family, rows, row):
    whole, given = (joint_log_density(family, *_covariances(family), part) for part in (np.vstack([rows, row]), rows))
    return whole - given


def _moved(family, shift, scale):
    return replace(
        family,
        mean=(family.mean + shift) * scale,
        variance=family.variance * scale[0] ** 2,
        mean_variance=family.mean_variance * scale[0] ** 2,
    )


CASE = FamilyCase(
    cells="real",
    rows=any_rows,
    two_groups=lambda n: far_apart(10, n),
    examples=(
        Example.of("spherical-1d", SphericalGaussian(1.2, [0.4], 3.0), NORMAL[:, :1], 1),
        Example.of("spherical-3d", SphericalGaussian(0.8, [0.4, 0.0, -1.0], 2.5), NORMAL, 3),
    ),
    sevens=(Seven("spherical-gaussian", SphericalGaussian(0.95, [1.5, 1.5], 5.0), PLANE),),
    log_evidence=_log_evidence,
    column=lambda family, rows, j: known_column(family, *_covariances(family), rows, j),
    density=lambda family, mean, row: stats.norm(mean, np.sqrt(family.variance)).logpdf(row).sum(),
    predictive=_predictive,
    log_prior=lambda family, mean: stats.norm.logpdf(mean, family.mean, np.sqrt(family.mean_variance)).sum(),
    from_free=lambda family, u: u,
    described=lambda named, k, family, row: stats.norm(named["mean"][k], np.sqrt(family.variance)).logpdf(row).sum(),
    deviance=lambda family, row, rows: np.sum((row - rows.mean(axis=0)) ** 2) / (2 * family.variance),
    moved=_moved,
    one_scale=True,
    quadrature=lambda family: (stats.norm(0.4, 3.0**0.5), lambda x, m: stats.norm(m, 1.2**0.5).logpdf(x)),
    bad_hyperparameters=(
        *positive(["variance", "mean_variance"]),
        *one_per_column(["mean"]),
        *mean_is_finite(),
        *(({field: [1.0, 2.0]}, rf"^{field} must be one positive number") for field in ("variance", "mean_variance")),
        ({"variance": "wide"}, r"^variance must"),
    ),
)
