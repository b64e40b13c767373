"""Columns of Poisson counts."""

from __future__ import annotations

import numpy as np
from scipy import stats

from cases.family import Example, FamilyCase, Seven
from cases.oracles import (
    exact,
    gamma_log_prior,
    log,
    log_gamma,
    mean_deviance,
    one_per_column,
    per_column,
    positive,
    whole_counts,
)
from countless.families import Poisson

ROWS = np.random.default_rng([20240, 1]).poisson([1.0, 4.0, 25.0], size=(13, 3))


def _two_groups(n):
    rng = np.random.default_rng([4711, 9])
    return rng.poisson([2.0, 60.0], (n, 2)), rng.poisson([60.0, 2.0], (n, 2))


def _column(family, rows, j):
    rate = per_column(family.rate, rows)[j] + len(rows)
    return stats.nbinom(per_column(family.shape, rows)[j] + rows[:, j].sum(), rate / (rate + 1))


def _log_evidence(family, rows):
    value, n = 0, len(rows)
    fields = (exact(per_column(field, rows)) for field in (family.shape, family.rate))
    for j, (shape, rate) in enumerate(zip(*fields, strict=True)):
        cells = exact(rows[:, j])
        value += log_gamma(shape + sum(cells)) - log_gamma(shape) - sum(log_gamma(x + 1) for x in cells)
        value += shape * log(rate) - (shape + sum(cells)) * log(rate + n)
    return value


CASE = FamilyCase(
    cells="counts",
    rows=lambda rng, shape: rng.integers(0, 4, shape),
    two_groups=_two_groups,
    examples=(
        Example.of("poisson-1", Poisson(1.3, 0.6), ROWS[:, 1:2], 1),
        Example.of("poisson-3", Poisson([1.3, 0.5, 4.0], [0.6, 0.2, 0.3]), ROWS, 3),
    ),
    sevens=(
        Seven(
            "poisson",
            Poisson([1.0, 1.5], [0.3, 0.2]),
            [[1, 10], [2, 8], [0, 9], [3, 7], [5, 4], [4, 6], [7, 3]],
        ),
    ),
    log_evidence=_log_evidence,
    column=_column,
    density=lambda family, rate, row: stats.poisson(rate).logpmf(row).sum(),
    log_prior=lambda family, rate: gamma_log_prior(family.shape, family.rate, rate),
    from_free=lambda family, u: np.exp(u),
    described=lambda named, k, family, row: stats.poisson(named["rate"][k]).logpmf(row).sum(),
    deviance=mean_deviance(lambda family, row, mean: stats.poisson(mean).logpmf(row).sum()),
    quadrature=lambda family: (stats.gamma(1.3, scale=1 / 0.6), lambda x, rate: stats.poisson(rate).logpmf(x)),
    support=(0, np.arange(400.0)[:, None], 1e-12),
    bad_rows=tuple(whole_counts("poisson")),
    bad_hyperparameters=(
        *positive(["shape", "rate"]),
        *one_per_column(["shape", "rate"]),
        ({"rate": "fast"}, r"^rate must"),
    ),
)
