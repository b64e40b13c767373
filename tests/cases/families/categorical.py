"""Columns of categories."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import stats

from cases.bits import two_kinds_of_bits
from cases.family import Example, FamilyCase, Seven
from cases.oracles import dirichlet_log_prior, log_dirichlet, positive, soft_max_columns, whole_counts
from countless.families import Categorical

CONCENTRATION = [[0.7, 1.6], [1.0, 2.0, 0.5], [0.3, 0.6, 0.9, 1.2, 1.5]]


def _codes():
    rng = np.random.default_rng([20240, 3])
    return np.column_stack([rng.integers(0, levels, 14) for levels in (2, 3, 5)])


def _counts(family, rows, j):
    return [np.sum(rows[:, j] == level) for level in range(family.n_levels[j])]


def _column(family, rows, j):
    alpha = np.asarray(family.concentration[j]) + _counts(family, rows, j)
    return stats.rv_discrete(values=(np.arange(len(alpha)), alpha / alpha.sum()))


def _log_density(family, p, row):
    first = np.concatenate([[0], np.cumsum(family.n_levels)])
    return float(sum(np.log(p[first[j] + int(code)]) for j, code in enumerate(row)))


def _log_evidence(family, rows):
    return sum(log_dirichlet(family.concentration[j], _counts(family, rows, j)) for j in range(rows.shape[1]))


CASE = FamilyCase(
    cells="codes",
    rows=lambda rng, shape: rng.integers(0, 2, shape),
    two_groups=two_kinds_of_bits,
    examples=(
        Example.of("categorical-1", Categorical([[0.7, 1.6, 0.4]], n_levels=[3]), _codes()[:, 1:2], 2),
        Example.of("categorical-3", Categorical(CONCENTRATION, n_levels=[2, 3, 5]), _codes(), 1 + 2 + 4),
    ),
    sevens=(
        Seven(
            "categorical",
            Categorical([[0.8, 0.6], [0.9, 0.7, 0.5], [0.5, 0.6, 0.7, 0.8]], n_levels=[2, 3, 4]),
            [[0, 0, 1], [0, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 3], [1, 2, 3], [1, 1, 3]],
        ),
    ),
    log_evidence=_log_evidence,
    column=_column,
    density=_log_density,
    log_prior=lambda family, p: dirichlet_log_prior(family.concentration, p),
    from_free=lambda family, u: soft_max_columns(family.n_levels, u),
    described=lambda named, k, family, row: _log_density(family, named["probabilities"][k], row),
    deviance=lambda family, row, rows: -np.log(np.mean(rows == row, axis=0)).sum(),
    support=(1, np.array(list(itertools.product(range(2), range(3), range(5))), dtype=float), 1e-12),
    bad_rows=(
        *whole_counts("categorical"),
        ({"n_levels": 3}, [[1.0, 3.0]], r"X: column 1 has 3 levels, .* 0 to 2; got 3$"),
        ({"n_levels": [3, 4]}, [[3.0, 3.0]], r"X: column 0 has 3 levels, .* 0 to 2; got 3$"),
    ),
    bad_hyperparameters=(
        *positive(["concentration"]),
        ({"n_levels": 0}, r"^n_levels must be a whole number"),
        ({"n_levels": 2.5}, r"^n_levels must be a whole number"),
        ({"n_levels": [2, 2, 2]}, r"^n_levels must be a whole number for each of the 2 columns"),
        ({"concentration": [1.0, 1.0, 1.0]}, r"^concentration must have one entry for each of the 2"),
        ({"concentration": [[1.0, 1.0, 1.0], 1.0], "n_levels": 2}, r"^concentration .*levels"),
        ({"concentration": "flat"}, r"^concentration must"),
    ),
)
