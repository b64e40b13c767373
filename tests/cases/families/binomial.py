"""Columns of successes in a known number of trials."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import special, stats

from cases.family import Example, FamilyCase, Seven
from cases.oracles import (
    beta_log_prior,
    exact,
    log_beta,
    log_choose,
    mean_deviance,
    one_per_column,
    per_column,
    positive,
    whole_counts,
)
from countless.families import Binomial

TRIALS = np.array([4, 30, 1])
ROWS = np.random.default_rng([20240, 4]).binomial(TRIALS, [0.3, 0.8, 0.5], size=(12, 3))


def _two_groups(n):
    rng = np.random.default_rng([4711, 2])
    return rng.binomial(30, 0.1, (n, 2)), rng.binomial(30, 0.9, (n, 2))


def _column(family, rows, j):
    trials, successes = per_column(family.trials, rows)[j], rows[:, j].sum()
    b = per_column(family.b, rows)[j] + len(rows) * trials - successes
    return stats.betabinom(int(trials), per_column(family.a, rows)[j] + successes, b)


def _log_evidence(family, rows):
    value, n = 0, len(rows)
    fields = (exact(per_column(field, rows)) for field in (family.trials, family.a, family.b))
    for j, (trials, a, b) in enumerate(zip(*fields, strict=True)):
        cells = exact(rows[:, j])
        value += sum(log_choose(trials, x) for x in cells)
        value += log_beta(a + sum(cells), b + n * trials - sum(cells)) - log_beta(a, b)
    return value


def _log_density(family, p, row):
    return stats.binom(np.asarray(family.trials), p).logpmf(row).sum()


CASE = FamilyCase(
    cells="counts",
    rows=lambda rng, shape: rng.integers(0, 2, shape),
    two_groups=_two_groups,
    examples=(
        Example.of("binomial-1", Binomial(30, 0.8, 1.7), ROWS[:, 1:2], 1),
        Example.of("binomial-3", Binomial(TRIALS, [0.8, 2.0, 1.0], [1.7, 0.6, 1.0]), ROWS, 3),
    ),
    sevens=(
        Seven(
            "binomial",
            Binomial([12, 7], [0.7, 1.1], [1.0, 0.6]),
            [[2, 5], [1, 6], [3, 4], [5, 5], [7, 2], [6, 4], [8, 3]],
        ),
    ),
    log_evidence=_log_evidence,
    column=_column,
    density=_log_density,
    log_prior=lambda family, p: beta_log_prior(family.a, family.b, p),
    from_free=lambda family, u: special.expit(u),
    described=lambda named, k, family, row: _log_density(family, named["probability"][k], row),
    deviance=mean_deviance(lambda family, row, mean: _log_density(family, mean / np.asarray(family.trials), row)),
    quadrature=lambda family: (stats.beta(0.8, 1.7), lambda x, p: stats.binom(30, p).logpmf(x)),
    support=(1, np.array(list(itertools.product(range(5), range(31), range(2))), dtype=float), 1e-12),
    bad_rows=(
        *whole_counts("binomial"),
        ({"trials": 4}, [[0.0, 5.0]], r"X: column 1 counts successes in 4 trials, got 5$"),
        ({"trials": [4, 9]}, [[6.0, 5.0]], r"X: column 0 counts successes in 4 trials, got 6$"),
    ),
    bad_hyperparameters=(
        *positive(["trials", "a", "b"]),
        *one_per_column(["trials", "a", "b"]),
        ({"trials": 2.5}, r"^trials must be whole numbers, got 2\.5$"),
    ),
)
