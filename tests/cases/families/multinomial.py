"""Histograms."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import stats

from cases.family import Example, FamilyCase, Seven
from cases.oracles import (
    dirichlet_log_prior,
    exact,
    log_dirichlet,
    log_gamma,
    mean_deviance,
    one_per_column,
    positive,
    soft_max_columns,
    whole_counts,
)
from countless.families import Multinomial


def _rows():
    rows = np.random.default_rng([20240, 2]).multinomial(9, [0.1, 0.2, 0.3, 0.4], size=13)
    rows[2] = 0
    rows[5] = [0, 40, 1, 0]
    return rows


def _two_groups(n):
    rng = np.random.default_rng([4711, 8])
    return rng.multinomial(40, [0.8, 0.1, 0.1], n), rng.multinomial(40, [0.1, 0.1, 0.8], n)


def _log_evidence(family, rows):
    coefficients = sum(log_gamma(sum(exact(row)) + 1) - sum(log_gamma(x + 1) for x in exact(row)) for row in rows)
    return coefficients + log_dirichlet(family.concentration, rows.sum(axis=0))


def _posterior(family, rows):
    return np.asarray(family.concentration) + rows.sum(axis=0)


def _predictive(family, rows, row):
    total = int(row.sum())
    law = stats.dirichlet_multinomial(_posterior(family, rows), total)
    return float(law.logpmf(row.astype(int))) if total else 0.0


def _column(family, rows, j):
    alpha = _posterior(family, rows)
    return stats.betabinom(family.trials, alpha[j], alpha.sum() - alpha[j])


def _log_density(row, p):
    return stats.multinomial(int(row.sum()), p / p.sum()).logpmf(row) if row.sum() else 0.0


CASE = FamilyCase(
    cells="counts",
    rows=lambda rng, shape: rng.integers(0, 4, shape),
    two_groups=_two_groups,
    examples=(
        Example.of("multinomial-2", Multinomial([0.6, 1.7], trials=6), _rows()[:, :2], 1),
        Example.of("multinomial-4", Multinomial([0.5, 2.0, 1.0, 3.3], trials=9), _rows(), 3),
    ),
    sevens=(
        Seven(
            "multinomial",
            Multinomial([0.8, 1.1, 0.6], trials=12),
            [[7, 3, 2], [8, 3, 1], [6, 5, 1], [5, 4, 3], [2, 5, 5], [3, 3, 6], [1, 6, 5]],
        ),
    ),
    log_evidence=_log_evidence,
    column=_column,
    density=lambda family, p, row: _log_density(row, p),
    predictive=_predictive,
    log_prior=lambda family, p: dirichlet_log_prior([family.concentration], p),
    from_free=lambda family, u: soft_max_columns([np.size(family.concentration)], u),
    described=lambda named, k, family, row: stats.multinomial(row.sum(), named["probabilities"][k]).logpmf(row),
    deviance=mean_deviance(lambda family, row, mean: _log_density(row, mean) if row.sum() else 0.0),
    support=(1, np.array([row for row in itertools.product(range(7), repeat=4) if sum(row) == 6], dtype=float), 1e-12),
    padding=((), (0.0,)),
    bad_rows=tuple(whole_counts("multinomial")),
    bad_hyperparameters=(*positive(["concentration"]), *one_per_column(["concentration"])),
)
