"""Rows drawn from a cluster follow its predictive; the parameters are drawn once per call."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cases.family import is_discrete
from countless.families import FAMILIES

from .cases import EXAMPLES, every

N_CALLS = 800
# With about a hundred such checks, a right sampler fails one of them once in ten thousand choices of seeds.
SIGNIFICANCE = 1e-6


def _calls(case, rows, n=1, n_calls=N_CALLS):
    """One call per entry: an array (calls, n, columns)."""
    rng = np.random.default_rng(9)
    return np.array([case.family.sample(n, rng, rows) for _ in range(n_calls)])


def _p_value(values, law) -> float:
    """Kolmogorov-Smirnov for densities; chi-square over cells of at least ten expected counts for counts."""
    if not is_discrete(law):
        return stats.kstest(values, law.cdf).pvalue
    cells = np.arange(values.max() + 1)
    expected = len(values) * law.pmf(cells)
    observed = np.bincount(values.astype(int), minlength=len(cells))
    likely = expected >= 10
    rest = len(values) - np.array([expected[likely].sum(), observed[likely].sum()])
    wanted, seen = np.append(expected[likely], rest[0]), np.append(observed[likely], rest[1])
    if wanted[-1] < 10:  # too little for a cell of its own: it joins the last
        wanted, seen = np.append(wanted[:-2], wanted[-2:].sum()), np.append(seen[:-2], seen[-2:].sum())
    return stats.chisquare(seen, wanted).pvalue if len(seen) > 1 else 1.0


@every()
@pytest.mark.parametrize("n_given", [0, 8])
def test_samples_follow_the_predictive(case, n_given):
    rows = case.rows[:n_given]
    samples = _calls(case, rows if n_given else None)[:, 0]
    column = case.oracle.column
    for j in range(samples.shape[1]):
        law = column(case.resolved(), rows, j)
        assert _p_value(samples[:, j], law) > SIGNIFICANCE


@every()
def test_the_check_notices_samples_of_the_prior(case):
    """Negative control: samples that ignore the rows fail the check in some column."""
    samples = _calls(case, None)[:, 0]
    column = case.oracle.column
    p_values = [_p_value(values, column(case.resolved(), case.rows, j)) for j, values in enumerate(samples.T)]
    assert min(p_values) < SIGNIFICANCE


@pytest.mark.parametrize("name", ["gaussian", "gaussian-known-covariance"])
def test_samples_have_the_right_correlations(name):
    """A projection on any direction follows the projected predictive, which scipy has in closed form."""
    case = EXAMPLES[name][-1]
    direction = np.array([1.0, -2.0, 0.7])
    samples = _calls(case, case.rows)[:, 0] @ direction
    # In a basis whose first axis is the direction, the predictive of column 0 is that of the projection.
    basis = np.linalg.qr(np.column_stack([direction, np.eye(3)[:, :2]]))[0]
    basis[:, 0] *= np.sign(basis[:, 0] @ direction)
    fields = {
        field: basis.T @ np.asarray(value) @ basis if np.ndim(value) == 2 else value
        for field, value in vars(case.resolved()).items()
    }
    fields["mean"] = np.asarray(case.resolved().mean) @ basis
    turned = type(case.family)(**fields)
    law = case.oracle.column(turned, case.rows @ basis, 0)
    assert stats.kstest(samples / np.linalg.norm(direction), law.cdf).pvalue > SIGNIFICANCE


def _transforms(case, pairs):
    """Where the second row of a pair falls in its predictive given the first; uniform if that is its law."""
    column = case.oracle.column
    family, rng = case.resolved(), np.random.default_rng(3)
    for first, second in pairs:
        law = column(family, first[None], 0)
        if is_discrete(law):
            yield law.pmf(np.arange(second[0])).sum() + rng.random() * law.pmf(second[0])
        else:
            yield law.cdf(second[0])


@every()
def test_rows_of_one_call_share_their_parameters(case):
    pairs = _calls(case, None, n=2, n_calls=300)
    assert stats.kstest(list(_transforms(case, pairs)), "uniform").pvalue > SIGNIFICANCE


@every([EXAMPLES[name][0] for name in ("gaussian", "poisson", "binomial")])
def test_the_check_notices_rows_of_different_calls(case):
    """Negative control: rows that do not share their parameters fail the check above."""
    singles = _calls(case, None)
    pairs = np.concatenate([singles, np.roll(singles, 1, axis=0)], axis=1)
    assert stats.kstest(list(_transforms(case, pairs)), "uniform").pvalue < SIGNIFICANCE


@every()
def test_shapes_and_seeds(case):
    d = case.rows.shape[1]
    for n in (0, 1, 7):
        rows = case.family.sample(n, 1)
        assert rows.shape == (n, d)
        assert rows.dtype == np.float64
    np.testing.assert_array_equal(case.family.sample(5, 3, case.rows), case.family.sample(5, 3, case.rows))
    assert not np.array_equal(case.family.sample(40, 3, case.rows), case.family.sample(40, 4, case.rows))
    case.family.check(case.family.sample(50, 5, case.rows))


@every()
def test_samples_leave_the_global_stream_alone(case):
    before = np.random.get_state()[1].copy()
    case.family.sample(3, None, case.rows)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_totals_of_sampled_histograms():
    rows = FAMILIES["multinomial"]([1.0, 2.0, 3.0], trials=11).sample(20, 0)
    np.testing.assert_array_equal(rows.sum(axis=1), 11)
