"""Evidences and predictives under extreme hyperparameters, against mpmath with 80 digits.

Hyperparameters that are learned wander: each of them, and all together, are multiplied by factors from 1e-12 to 1e18.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from cases import FAMILY_CASES
from countless.families import Categorical, Gaussian, Poisson, Table

from .cases import CASES, every, filled
from .drivers import evidence, in_python, without_member

FACTORS = [1e-12, 1e-6, 1e6, 1e12, 1e15, 1e18]
# Below this an error in a log evidence has no effect on any draw.
RIGHT = {"rel": 1e-9, "abs": 1e-12}


def _tuned(case, factor):
    """The family with each hyperparameter multiplied in turn, then all of them."""
    family = case.resolved()
    names = list(family.tunable())
    for chosen in [*([name] for name in names), *([names] if len(names) > 1 else [])]:
        yield ", ".join(chosen), family.with_tuned(dict.fromkeys(chosen, math.log(factor)))


def _few(case):
    """A single row, or just enough that their scatter has full rank where a cluster has a free covariance.

    With fewer rows P is singular but for the scale, and one of 1e-12 is next to the rounding of the sums of squares.
    """
    return case.rows[: 1 if case.family.missing != "drawn" else case.rows.shape[1] + 1]


@every()
@pytest.mark.parametrize("factor", FACTORS)
def test_evidence(case, factor):
    for names, family in _tuned(case, factor):
        for rows in (_few(case), case.rows):
            expected = float(case.oracle.log_evidence(family, rows))
            for run in (lambda function: function, in_python):
                hyper, clusters = filled(family, rows)
                assert run(evidence)(hyper, *clusters[:2], 0) == pytest.approx(expected, **RIGHT), names


@every()
@pytest.mark.parametrize("factor", FACTORS)
def test_predictive(case, factor):
    for names, family in _tuned(case, factor):
        log_evidence = case.oracle.log_evidence
        for given in (case.rows[:0], case.rows):
            before = log_evidence(family, given)
            expected = [float(log_evidence(family, np.vstack([given, row])) - before) for row in case.new]
            shown = family.log_predictive(case.new, given if len(given) else None)
            assert shown == pytest.approx(expected, **RIGHT), names


@every()
@pytest.mark.parametrize("factor", FACTORS)
def test_predictive_without_a_member(case, factor):
    """The verb itself, compiled and plain, of a cluster of one row and of one that holds all."""
    for names, family in _tuned(case, factor):
        log_evidence = case.oracle.log_evidence
        for rows in (case.rows[:1], case.rows):
            hyper, clusters = filled(family, rows)
            expected = float(log_evidence(family, rows) - log_evidence(family, rows[1:]))
            for run in (lambda function: function, in_python):
                shown = run(without_member)(hyper, *clusters, 0, rows[0])
                assert shown == pytest.approx(expected, **RIGHT), names


@pytest.mark.parametrize("factor", FACTORS)
def test_rows_that_show_some_of_the_columns(factor):
    """A block of a table whose row misses a cell: the Gaussian of the other columns has less degrees of freedom."""
    case = FAMILY_CASES["gaussian"].examples[-1]
    table = Table({(0, 1, 2): case.resolved()}).read(case.rows)[0].resolve(case.rows)
    new = case.new[:1].copy()
    new[0, 1] = np.nan
    for name in ("mean_strength", "scale", "dof"):
        tuned = table.with_tuned({f"gaussian.{name}": math.log(factor)})
        whole = tuned.blocks[0].family
        seen = Gaussian(whole.mean[[0, 2]], whole.mean_strength, whole.scale[np.ix_([0, 2], [0, 2])], whole.dof - 1)
        rows = case.rows[:, [0, 2]]
        log_evidence = case.oracle.log_evidence
        expected = float(log_evidence(seen, np.vstack([rows, new[:, [0, 2]]])) - log_evidence(seen, rows))
        assert tuned.log_predictive(new, case.rows)[0] == pytest.approx(expected, **RIGHT), name


def test_many_categorical_rows_under_a_prior_that_is_sure():
    """500 rows of 20 columns: every cell has the probability that the prior says, and no evidence is positive."""
    rows = np.random.default_rng(0).integers(0, 4, (500, 20)).astype(float)
    family = Categorical().resolve(rows)
    shares = [np.asarray(c) / np.sum(c) for c in family.concentration]
    expected = sum(np.log(shares[j][rows[:, j].astype(int)]).sum() for j in range(20))
    for factor in (1e15, 1e18, 1e24):
        sure = family.with_tuned({"concentration": math.log(factor)})
        assert sure.log_marginal(rows) == pytest.approx(expected, rel=1e-9)


def test_many_counts_under_a_prior_that_is_sure():
    """Gamma(shape, rate) with both of size 1e15 is a known rate."""
    rows = np.random.default_rng(1).poisson(3.0, (500, 1)).astype(float)
    sure = Poisson(3e15, 1e15)
    coefficient = sum(math.lgamma(x + 1) for x in rows[:, 0])
    assert sure.log_marginal(rows) == pytest.approx(rows.sum() * math.log(3.0) - 1500.0 - coefficient, rel=1e-9)


def test_the_oracle_has_digits_to_spare():
    """Evidences with 80 digits and with 160 agree far beyond what is asked above."""
    for case in CASES:
        for _, family in _tuned(case, 1e18):
            short = case.oracle.log_evidence(family, case.rows)
            with mpmath.workdps(160):
                long = case.oracle.log_evidence(family, case.rows)
            assert abs(short - long) <= mpmath.mpf(10) ** -20 * abs(long)


@every()
def test_rows_in_local_units_lose_no_more(case):
    for factor in (1e-12, 1e18):
        for names, family in _tuned(case, factor):
            expected = float(case.oracle.log_evidence(family, case.rows))
            assert family.log_marginal(case.rows) == pytest.approx(expected, **RIGHT), names
