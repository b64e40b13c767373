"""Bregman divergences: what the deviance of scipy's densities says (Banerjee et al. 2005)."""

from __future__ import annotations

import numpy as np
import pytest

from cases import FAMILY_CASES
from countless.families import FAMILIES, verbs

from .cases import every, statistics_of


def _everything(case):
    return np.concatenate([case.rows, case.new])


def _mean_statistics(hyper, rows, width):
    return statistics_of(hyper, rows, width).mean(axis=0)


@every()
def test_divergence_of_a_row_from_itself_is_zero(case):
    family = case.resolved()
    hyper, width = family.prepare(), family.layout().statistics
    for row in _everything(case):
        centre = _mean_statistics(hyper, row[None], width)
        assert verbs.divergence(hyper, row, centre) == pytest.approx(0.0, abs=1e-12)


@every()
def test_divergence_is_not_negative(case):
    family = case.resolved()
    hyper, width = family.prepare(), family.layout().statistics
    rng = np.random.default_rng(0)
    rows = _everything(case)
    for _ in range(30):
        centre = _mean_statistics(hyper, rows[rng.integers(0, len(rows), 3)], width)
        for row in rows:
            value = verbs.divergence(hyper, row, centre)
            assert np.isfinite(value)
            assert value >= -1e-12


@every()
def test_the_mean_is_the_best_centre(case):
    """Proposition 1 of Banerjee et al.: of all centres the mean has the least total divergence."""
    family = case.resolved()
    hyper, width = family.prepare(), family.layout().statistics
    rows = case.rows
    mean = _mean_statistics(hyper, rows, width)

    def total(centre):
        return sum(verbs.divergence(hyper, row, centre) for row in rows)

    rng = np.random.default_rng(1)
    for _ in range(30):
        other = _mean_statistics(hyper, _everything(case)[rng.integers(0, len(_everything(case)), 5)], width)
        for share in (0.05, 0.5, 1.0):
            assert total(mean) <= total((1 - share) * mean + share * other) + 1e-10


@every()
def test_divergence_is_the_deviance(case):
    """What the log density of a row loses at the mean of a cluster; a free covariance is that of the prior."""
    family = case.resolved()
    hyper, width = family.prepare(), family.layout().statistics
    centre = _mean_statistics(hyper, case.rows, width)
    for row in case.new:
        expected = case.oracle.deviance(family, row, case.rows)
        assert verbs.divergence(hyper, row, centre) == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("name", [name for name, case in FAMILY_CASES.items() if case.cells in ("counts", "codes")])
def test_a_cluster_of_zeros_is_far_from_a_count_but_not_infinitely(name):
    """A cluster that never saw a count is a bad home for it, yet divergences must stay numbers."""
    options = {"trials": 2} if name == "binomial" else {"n_levels": 2} if name == "categorical" else {}
    family = FAMILIES[name](**options).resolve(np.array([[0.0, 1.0], [1.0, 0.0]]))
    hyper, width = family.prepare(), family.layout().statistics
    centre = _mean_statistics(hyper, np.array([[0.0, 1.0]] * 3), width)
    value = verbs.divergence(hyper, np.array([1.0, 1.0]), centre)
    assert np.isfinite(value)
    assert value > 100


@every()
def test_what_rows_lose_at_another_centre_is_the_divergence_of_their_mean(case):
    """Equation 12 of Banerjee et al., by which a union of clusters is priced from their means."""
    family = case.resolved()
    hyper, width = family.prepare(), family.layout().statistics
    rows, everything = case.rows, _everything(case)
    mean = _mean_statistics(hyper, rows, width)
    centre = _mean_statistics(hyper, everything, width)
    loss = sum(verbs.divergence(hyper, row, centre) - verbs.divergence(hyper, row, mean) for row in rows)
    expected = len(rows) * verbs.mean_divergence(hyper, rows.mean(axis=0), mean, centre)
    assert loss == pytest.approx(expected, rel=1e-8, abs=1e-10)
