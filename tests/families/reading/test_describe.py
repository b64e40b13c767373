"""Parameters by name and in the user's units: densities of the user's rows by scipy agree with the family's own."""

from __future__ import annotations

import numpy as np

from countless.families import verbs
from countless.inference import Problem
from countless.priors import CRP

from ..cases import every


@every()
def test_named_parameters_give_the_density_of_the_users_rows(case):
    family = case.resolved()
    problem = Problem.of(case.rows, family, CRP(1.0))
    parameters = np.stack([problem.family.draw_parameters(seed, problem.rows) for seed in range(3)])
    named = problem.family.describe(parameters, problem.shift, problem.scale)
    assert all(len(values) == 3 for values in named.values())
    volume = np.log(problem.scale).sum()
    work = problem.family.scratch()
    for k in range(3):
        for row in case.rows[:4]:
            local = problem.local(row[None])[0]
            expected = verbs.log_likelihood(problem.hyper, parameters, k, local, work) - volume
            shown = case.oracle.described(named, k, family, row)
            np.testing.assert_allclose(shown, expected, rtol=1e-7, atol=1e-8)
