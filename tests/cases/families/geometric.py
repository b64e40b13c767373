"""Columns of failures before the first success."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from cases.family import Example, FamilyCase, Seven
from cases.oracles import (
    beta_log_prior,
    exact,
    log_beta,
    mean_deviance,
    one_per_column,
    per_column,
    positive,
    whole_counts,
)
from countless.families import Geometric

ROWS = np.random.default_rng([20240, 6]).geometric([0.2, 0.6], size=(12, 2)) - 1


class BetaGeometric:
    """Geometric count (from 0) with p ~ Beta(a, b); only newer releases of scipy have it (betanbinom)."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def logpmf(self, x):
        return special.betaln(self.a + 1, self.b + np.asarray(x)) - special.betaln(self.a, self.b)

    def pmf(self, x):
        return np.exp(self.logpmf(x))


def _two_groups(n):
    rng = np.random.default_rng([4711, 7])
    return rng.geometric(0.6, (n, 6)) - 1, rng.geometric(0.005, (n, 6)) - 1


def _column(family, rows, j):
    return BetaGeometric(per_column(family.a, rows)[j] + len(rows), per_column(family.b, rows)[j] + rows[:, j].sum())


def _log_evidence(family, rows):
    a, b = exact(per_column(family.a, rows)), exact(per_column(family.b, rows))
    totals = exact(rows.sum(axis=0))
    return sum(
        log_beta(a_j + len(rows), b_j + x) - log_beta(a_j, b_j) for a_j, b_j, x in zip(a, b, totals, strict=True)
    )


CASE = FamilyCase(
    cells="counts",
    rows=lambda rng, shape: rng.integers(0, 4, shape),
    two_groups=_two_groups,
    examples=(
        Example.of("geometric-1", Geometric(3.2, 2.5), ROWS[:, :1], 1),
        Example.of("geometric-2", Geometric([3.2, 4.0], [2.5, 0.8]), ROWS, 2),
    ),
    sevens=(
        Seven(
            "geometric",
            Geometric([2.5, 2.0, 1.5], [2.5, 1.0, 2.0]),
            [[0, 8, 1], [1, 5, 1], [0, 11, 1], [2, 4, 3], [7, 1, 4], [11, 1, 6], [8, 1, 7]],
        ),
    ),
    log_evidence=_log_evidence,
    column=_column,
    density=lambda family, p, row: stats.geom(p, loc=-1).logpmf(row).sum(),
    log_prior=lambda family, p: beta_log_prior(family.a, family.b, p),
    from_free=lambda family, u: special.expit(u),
    described=lambda named, k, family, row: stats.geom(named["probability"][k], loc=-1).logpmf(row).sum(),
    deviance=mean_deviance(lambda family, row, mean: stats.geom(1 / (1 + mean), loc=-1).logpmf(row).sum()),
    quadrature=lambda family: (stats.beta(3.2, 2.5), lambda x, p: stats.geom(p, loc=-1).logpmf(x)),
    # The tail of the beta-geometric falls like x^-(a + n), here x^-11.
    support=(0, np.arange(4000.0)[:, None], 1e-10),
    bad_rows=tuple(whole_counts("geometric")),
    bad_hyperparameters=(*positive(["a", "b"]), *one_per_column(["a", "b"])),
)
