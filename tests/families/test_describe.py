"""Parameters by name and in the user's units: densities of the user's rows by scipy agree with the family's own."""

from __future__ import annotations

import numpy as np
from scipy import stats

from countless.families import verbs
from countless.inference import Problem
from countless.priors import CRP

from .cases import CASES, every


def _mvn(named, k, family, row):
    if "covariance" in named:
        spread = named["covariance"][k]
    elif "variance" in named:
        spread = np.diag(named["variance"][k])
    else:
        spread = getattr(family, "covariance", None)
        spread = family.variance * np.eye(len(row)) if spread is None else np.asarray(spread)
    return stats.multivariate_normal(named["mean"][k], spread).logpdf(row)


def _levels(named, k, family, row):
    starts = np.concatenate([[0], np.cumsum([len(c) for c in family.concentration])])
    return sum(np.log(named["probabilities"][k][int(s + code)]) for s, code in zip(starts[:-1], row, strict=True))


DENSITIES = {
    "Gaussian": _mvn,
    "DiagonalGaussian": _mvn,
    "SphericalGaussian": _mvn,
    "GaussianKnownCovariance": _mvn,
    "Multinomial": lambda n, k, f, row: stats.multinomial(row.sum(), n["probabilities"][k]).logpmf(row),
    "Categorical": _levels,
    "Bernoulli": lambda n, k, f, row: stats.bernoulli(n["probability"][k]).logpmf(row).sum(),
    "Binomial": lambda n, k, f, row: stats.binom(np.asarray(f.trials), n["probability"][k]).logpmf(row).sum(),
    "Poisson": lambda n, k, f, row: stats.poisson(n["rate"][k]).logpmf(row).sum(),
    "Geometric": lambda n, k, f, row: stats.geom(n["probability"][k], loc=-1).logpmf(row).sum(),
    "Exponential": lambda n, k, f, row: stats.expon(scale=1.0 / n["rate"][k]).logpdf(row).sum(),
}
NAMED = [case for case in CASES if type(case.family).__name__ in DENSITIES]


@every(NAMED)
def test_named_parameters_give_the_density_of_the_users_rows(case):
    family = case.resolved()
    problem = Problem.of(case.rows, family, CRP(1.0))
    parameters = np.stack([problem.family.draw_parameters(seed, problem.rows) for seed in range(3)])
    named = problem.describe(parameters)
    assert all(len(values) == 3 for values in named.values())
    volume = np.log(problem.scale).sum()
    work = problem.family.scratch()
    for k in range(3):
        for row in case.rows[:4]:
            local = problem.local(row[None])[0]
            expected = verbs.log_likelihood(problem.hyper, parameters, k, local, work) - volume
            shown = DENSITIES[type(family).__name__](named, k, family, row)
            np.testing.assert_allclose(shown, expected, rtol=1e-7, atol=1e-8)


def test_every_family_of_the_library_names_its_parameters():
    for case in CASES:
        if type(case.family).__module__.startswith("countless."):
            assert type(case.family).__name__ in DENSITIES
