"""Columns of exponential waiting times."""

from __future__ import annotations

from dataclasses import replace

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
)
from countless.families import Exponential

ROWS = np.random.default_rng([20240, 5]).exponential([0.3, 2.0], size=(12, 2))


def _two_groups(n):
    rng = np.random.default_rng([4711, 4])
    return rng.exponential(0.01, (n, 6)), rng.exponential(100.0, (n, 6))


def _column(family, rows, j):
    rate = per_column(family.rate, rows)[j] + rows[:, j].sum()
    return stats.lomax(per_column(family.shape, rows)[j] + len(rows), scale=rate)


def _log_evidence(family, rows):
    value, n = 0, len(rows)
    fields = (exact(per_column(field, rows)) for field in (family.shape, family.rate))
    for j, (shape, rate) in enumerate(zip(*fields, strict=True)):
        value += log_gamma(shape + n) - log_gamma(shape)
        value += shape * log(rate) - (shape + n) * log(rate + sum(exact(rows[:, j])))
    return value


CASE = FamilyCase(
    cells="positive",
    rows=lambda rng, shape: rng.exponential(1.0, shape),
    two_groups=_two_groups,
    examples=(
        Example.of("exponential-1", Exponential(3.1, 0.9), ROWS[:, 1:], 1),
        Example.of("exponential-2", Exponential([3.1, 5.0], [0.9, 4.0]), ROWS, 2),
    ),
    sevens=(
        Seven(
            "exponential",
            Exponential([2.0, 1.5, 2.0], [1.0, 0.8, 1.0]),
            [
                [0.4, 2.0, 0.5],
                [0.2, 2.8, 0.3],
                [0.6, 1.4, 0.4],
                [0.9, 0.9, 0.8],
                [2.6, 0.5, 1.7],
                [3.5, 0.3, 1.3],
                [2.1, 0.6, 2.4],
            ],
        ),
    ),
    log_evidence=_log_evidence,
    column=_column,
    density=lambda family, rate, row: stats.expon(scale=1 / rate).logpdf(row).sum(),
    log_prior=lambda family, rate: gamma_log_prior(family.shape, family.rate, rate),
    from_free=lambda family, u: np.exp(u),
    described=lambda named, k, family, row: stats.expon(scale=1.0 / named["rate"][k]).logpdf(row).sum(),
    deviance=mean_deviance(lambda family, row, mean: stats.expon(scale=mean).logpdf(row).sum()),
    moved=lambda family, shift, scale: replace(family, rate=np.asarray(family.rate) * scale),
    shifts=False,
    quadrature=lambda family: (stats.gamma(3.1, scale=1 / 0.9), lambda x, rate: stats.expon(scale=1 / rate).logpdf(x)),
    bad_rows=(({}, [[1.0], [-0.5]], r"X: exponential data must not be negative, got -0\.5$"),),
    bad_hyperparameters=(*positive(["shape", "rate"]), *one_per_column(["shape", "rate"])),
)
