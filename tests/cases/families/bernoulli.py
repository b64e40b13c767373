"""Columns of zeros and ones."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import stats

from cases.bits import two_kinds_of_bits
from cases.family import Example, FamilyCase, Seven
from cases.oracles import (
    beta_log_prior,
    exact,
    log_beta,
    mean_deviance,
    one_per_column,
    per_column,
    positive,
    soft_max_columns,
)
from countless.families import Bernoulli


def _rows():
    rng = np.random.default_rng([20240, 3])
    return np.column_stack([rng.integers(0, levels, 14) % 2 for levels in (2, 3, 5)])


def _column(family, rows, j):
    ones = rows[:, j].sum()
    a, b = per_column(family.a, rows)[j] + ones, per_column(family.b, rows)[j] + len(rows) - ones
    return stats.betabinom(1, a, b)


def _log_evidence(family, rows):
    a, b = exact(per_column(family.a, rows)), exact(per_column(family.b, rows))
    ones, n = exact(rows.sum(axis=0)), len(rows)
    return sum(log_beta(a_j + x, b_j + n - x) - log_beta(a_j, b_j) for a_j, b_j, x in zip(a, b, ones, strict=True))


CASE = FamilyCase(
    cells="codes",
    rows=lambda rng, shape: rng.integers(0, 2, shape),
    two_groups=two_kinds_of_bits,
    examples=(
        Example.of("bernoulli-1", Bernoulli(0.7, 1.8), _rows()[:, :1], 1),
        Example.of("bernoulli-3", Bernoulli([0.7, 2.0, 1.0], [1.8, 0.4, 1.0]), _rows(), 3),
    ),
    sevens=(
        Seven(
            "bernoulli",
            Bernoulli([0.8, 0.7, 0.9, 0.8, 0.6], [0.7, 0.8, 0.9, 0.6, 0.8]),
            [
                [0, 0, 1, 0, 0],
                [0, 0, 1, 0, 1],
                [0, 0, 1, 1, 0],
                [0, 1, 0, 0, 0],
                [1, 1, 0, 1, 1],
                [1, 1, 0, 1, 0],
                [1, 1, 1, 1, 1],
            ],
        ),
    ),
    log_evidence=_log_evidence,
    column=_column,
    # Parameters are the probabilities of zero and of one, column after column.
    density=lambda family, p, row: stats.bernoulli(p[1::2]).logpmf(row).sum(),
    log_prior=lambda family, p: beta_log_prior(family.a, family.b, p[1::2]),
    from_free=lambda family, u: soft_max_columns([2] * np.size(family.a), u),
    described=lambda named, k, family, row: stats.bernoulli(named["probability"][k]).logpmf(row).sum(),
    deviance=mean_deviance(lambda family, row, mean: stats.bernoulli(mean).logpmf(row).sum()),
    quadrature=lambda family: (stats.beta(0.7, 1.8), lambda x, p: stats.bernoulli(p).logpmf(x)),
    support=(1, np.array(list(itertools.product(range(2), repeat=3)), dtype=float), 1e-12),
    values=(0.0, 1.0),
    bad_rows=(
        ({}, [[0.0, 2.0]], r"X: bernoulli data must be 0 or 1, got 2$"),
        ({}, [[0.0, 0.5]], r"X: bernoulli data must be 0 or 1, got 0\.5$"),
    ),
    bad_hyperparameters=(*positive(["a", "b"]), *one_per_column(["a", "b"])),
)
