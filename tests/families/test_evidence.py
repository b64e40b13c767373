"""Evidence and predictive of every family against mpmath and scipy's distributions; chain rule, order, total mass."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate

from cases import FAMILY_CASES

from .cases import CASES, EXAMPLES, every


@every()
def test_evidence_agrees_with_mpmath(case):
    for n in (1, 2, len(case.rows)):
        rows = case.rows[:n]
        assert case.family.log_marginal(rows) == pytest.approx(
            float(case.oracle.log_evidence(case.resolved(), rows)), rel=1e-9
        )


@every()
def test_predictive_agrees_with_scipy(case):
    for n in (1, 3, len(case.rows)):
        rows = case.rows[:n]
        expected = [case.oracle.predict(case.resolved(), rows, row) for row in case.new]
        np.testing.assert_allclose(case.family.log_predictive(case.new, rows), expected, rtol=1e-9, atol=1e-13)


@every()
def test_prior_predictive_agrees_with_scipy(case):
    expected = [case.oracle.predict(case.resolved(), case.rows[:0], row) for row in case.new]
    np.testing.assert_allclose(case.family.log_predictive(case.new), expected, rtol=1e-9, atol=1e-13)


@every()
def test_evidence_is_the_sum_of_sequential_predictives(case):
    total = case.family.log_predictive(case.rows[:1])[0]
    for i in range(1, len(case.rows)):
        total += case.family.log_predictive(case.rows[i : i + 1], case.rows[:i])[0]
    assert case.family.log_marginal(case.rows) == pytest.approx(total, rel=1e-10)


@every()
def test_evidence_does_not_depend_on_the_order_of_the_rows(case):
    expected = case.family.log_marginal(case.rows)
    rng = np.random.default_rng(1)
    for _ in range(5):
        assert case.family.log_marginal(rng.permutation(case.rows)) == pytest.approx(expected, rel=1e-12)


@every()
def test_predictives_of_several_rows_are_asked_one_at_a_time(case):
    together = case.family.log_predictive(case.new, case.rows)
    alone = [case.family.log_predictive(row[None], case.rows)[0] for row in case.new]
    np.testing.assert_allclose(together, alone, rtol=1e-10)


@every()
def test_no_rows_have_evidence_one(case):
    assert case.family.log_marginal(case.rows[:0]) == pytest.approx(0.0, abs=1e-12)


ONE_COLUMN = [case for case in CASES if case.rows.shape[1] == 1 and case.has_units]


@every(ONE_COLUMN)
def test_one_column_densities_integrate_to_one(case):
    law = case.oracle.column(case.resolved(), case.rows, 0)
    centre, width = law.median(), law.ppf(0.75) - law.ppf(0.25)

    def density(x: float) -> float:
        return float(np.exp(case.family.log_predictive([[x]], case.rows)[0]))

    lowest = 0.0 if law.support()[0] == 0 else -np.inf
    left = integrate.quad(density, lowest, centre, epsabs=1e-10)[0]
    middle = integrate.quad(density, centre, centre + width, epsabs=1e-10)[0]
    right = integrate.quad(density, centre + width, np.inf, epsabs=1e-10)[0]
    assert left + middle + right == pytest.approx(1.0, abs=1e-8)


def test_two_column_gaussian_density_integrates_to_one():
    """Trapezium rule in sinh-stretched coordinates, where power tails die away exponentially."""
    case = EXAMPLES["gaussian"][1]
    grid = np.linspace(-9.0, 9.0, 241)
    axis, jacobian = 3 * np.sinh(grid), 3 * np.cosh(grid) * (grid[1] - grid[0])
    points = np.array(list(itertools.product(axis, axis))) + case.rows.mean(axis=0)
    density = np.exp(case.family.log_predictive(points, case.rows)).reshape(len(axis), -1)
    assert jacobian @ density @ jacobian == pytest.approx(1.0, abs=1e-8)


SUPPORTS = [
    pytest.param(case.examples[case.support[0]], *case.support[1:], id=name)
    for name, case in FAMILY_CASES.items()
    if case.support is not None
]


@pytest.mark.parametrize(("case", "support", "tolerance"), SUPPORTS)
def test_probabilities_of_the_whole_support_sum_to_one(case, support, tolerance):
    total = np.exp(case.family.log_predictive(support, case.rows)).sum()
    assert total == pytest.approx(1.0, abs=tolerance)


@every([case for case in CASES if case.family.missing == "integrated" and case.rows.shape[1] > 1])
def test_columns_are_independent(case):
    """Evidence of several columns is the sum over columns of the one-column family."""
    columns = range(case.rows.shape[1])
    total = sum(case.resolved().one_column(j).log_marginal(case.rows[:, [j]]) for j in columns)
    assert case.family.log_marginal(case.rows) == pytest.approx(total, rel=1e-12)
