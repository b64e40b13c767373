"""Evidence and predictive of every family against scipy's distributions; chain rule, order, total mass."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate

from countless.families import FAMILIES

from .cases import CASES, EXAMPLES, every
from .oracles import ORACLES, log_evidence

WITH_ORACLE = [case for case in CASES if type(case.family).__name__ in ORACLES]


def test_every_family_has_an_example():
    assert set(FAMILIES) - set(EXAMPLES) == set(), "add hyperparameters and rows to tests/families/cases.py"


def test_every_family_has_an_oracle():
    names = {cls.__name__ for cls in FAMILIES.values()}
    assert names - set(ORACLES) == set(), "add scipy's answer to tests/families/oracles.py"


@every(WITH_ORACLE)
def test_evidence_agrees_with_scipy(case):
    for n in (1, 2, len(case.rows)):
        rows = case.rows[:n]
        assert case.family.log_marginal(rows) == pytest.approx(log_evidence(case.resolved(), rows), rel=1e-9)


@every(WITH_ORACLE)
def test_predictive_agrees_with_scipy(case):
    predictive = ORACLES[type(case.family).__name__].predictive
    for n in (1, 3, len(case.rows)):
        rows = case.rows[:n]
        expected = [predictive(case.resolved(), rows, row) for row in case.new]
        np.testing.assert_allclose(case.family.log_predictive(case.new, rows), expected, rtol=1e-9, atol=1e-13)


@every(WITH_ORACLE)
def test_prior_predictive_agrees_with_scipy(case):
    predictive = ORACLES[type(case.family).__name__].predictive
    expected = [predictive(case.resolved(), case.rows[:0], row) for row in case.new]
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


ONE_COLUMN = [case for case in WITH_ORACLE if case.rows.shape[1] == 1 and case.has_units]


@every(ONE_COLUMN)
def test_one_column_densities_integrate_to_one(case):
    law = ORACLES[type(case.family).__name__].column(case.resolved(), case.rows, 0)
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


def _supports() -> list:
    """Every possible row of the families on finite sets, and counts far into the tail of the others."""
    found = []
    for name, rows in {
        "categorical": itertools.product(range(2), range(3), range(5)),
        "bernoulli": itertools.product(range(2), repeat=3),
        "binomial": itertools.product(range(5), range(31), range(2)),
    }.items():
        found.append(pytest.param(EXAMPLES[name][-1], np.array(list(rows), dtype=float), 1e-12, id=name))
    whole = [row for row in itertools.product(range(7), repeat=4) if sum(row) == 6]
    found.append(pytest.param(EXAMPLES["multinomial"][1], np.array(whole, dtype=float), 1e-12, id="multinomial"))
    tail = np.arange(400.0)[:, None]
    found.append(pytest.param(EXAMPLES["poisson"][0], tail, 1e-12, id="poisson"))
    # The tail of the beta-geometric falls like x^-(a + n), here x^-11.
    found.append(pytest.param(EXAMPLES["geometric"][0], np.arange(4000.0)[:, None], 1e-10, id="geometric"))
    return found


@pytest.mark.parametrize(("case", "support", "tolerance"), _supports())
def test_probabilities_of_the_whole_support_sum_to_one(case, support, tolerance):
    total = np.exp(case.family.log_predictive(support, case.rows)).sum()
    assert total == pytest.approx(1.0, abs=tolerance)


@pytest.mark.parametrize(
    "name",
    ["diagonal-gaussian", "categorical", "bernoulli", "binomial", "poisson", "geometric", "exponential"],
)
def test_columns_are_independent(name):
    """Evidence of several columns is the sum over columns of the one-column family."""
    case = EXAMPLES[name][-1]
    fields = vars(case.resolved())
    total = 0.0
    for j in range(case.rows.shape[1]):
        one = type(case.family)(**{field: [values[j]] for field, values in fields.items()})
        total += one.log_marginal(case.rows[:, [j]])
    assert case.family.log_marginal(case.rows) == pytest.approx(total, rel=1e-12)
