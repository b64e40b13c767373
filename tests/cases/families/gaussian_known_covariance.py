"""Gaussian clusters with one known covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from cases.family import Example, FamilyCase, Seven
from cases.gaussian_rows import NORMAL, PLANE, SCALE, WIDE, any_rows, far_apart, joint_log_density, known_column
from cases.oracles import covariance, log_gaussian_mean, mean_is_finite, one_per_column, positive
from countless.families import GaussianKnownCovariance


def _covariances(family):
    return np.atleast_2d(family.covariance), np.atleast_2d(family.mean_covariance)


def _log_evidence(family, rows):
    inner, outer = _covariances(family)
    return log_gaussian_mean(inner, family.mean, outer, rows)


def _predictive(family, rows, row):
    whole, given = (joint_log_density(family, *_covariances(family), part) for part in (np.vstack([rows, row]), rows))
    return whole - given


def _density(family, parameters, row):
    """Parameters are means in the basis of the whitener, which is the library's."""
    return stats.multivariate_normal(np.linalg.solve(family.prepare().whitener, parameters), family.covariance).logpdf(
        row
    )


def _log_prior(family, parameters):
    whitener = family.prepare().whitener
    spread = whitener @ np.asarray(family.mean_covariance) @ whitener.T
    return stats.multivariate_normal.logpdf(parameters, whitener @ np.asarray(family.mean), spread)


def _deviance(family, row, rows):
    off = row - rows.mean(axis=0)
    return off @ np.linalg.solve(np.asarray(family.covariance), off) / 2


def _moved(family, shift, scale):
    square = np.outer(scale, scale)
    return replace(
        family,
        mean=(family.mean + shift) * scale,
        covariance=np.asarray(family.covariance) * square,
        mean_covariance=np.asarray(family.mean_covariance) * square,
    )


CASE = FamilyCase(
    cells="real",
    rows=any_rows,
    two_groups=lambda n: far_apart(6, n),
    examples=(
        Example.of("known-1d", GaussianKnownCovariance([[1.2]], [0.4], [[3.0]]), NORMAL[:, :1], 1),
        Example.of("known-3d", GaussianKnownCovariance(SCALE, [0.4, 0.0, -1.0], WIDE), NORMAL, 3),
    ),
    sevens=(
        Seven(
            "gaussian-known-covariance",
            GaussianKnownCovariance([[0.7, 0.1], [0.1, 0.8]], [1.5, 1.5], [[5.0, -0.5], [-0.5, 4.0]]),
            PLANE,
        ),
    ),
    log_evidence=_log_evidence,
    column=lambda family, rows, j: known_column(family, *_covariances(family), rows, j),
    density=_density,
    predictive=_predictive,
    log_prior=_log_prior,
    from_free=lambda family, u: u,
    described=lambda named, k, family, row: stats.multivariate_normal(named["mean"][k], family.covariance).logpdf(row),
    deviance=_deviance,
    moved=_moved,
    quadrature=lambda family: (stats.norm(0.4, 3.0**0.5), lambda x, m: stats.norm(m, 1.2**0.5).logpdf(x)),
    bad_hyperparameters=(
        *positive(["covariance", "mean_covariance"]),
        *one_per_column(["covariance", "mean", "mean_covariance"]),
        *mean_is_finite(),
        *covariance(["covariance", "mean_covariance"]),
    ),
)
