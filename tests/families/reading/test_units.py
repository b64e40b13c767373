"""Data far from zero and columns of very different units give the same answer as centred and scaled data."""

from __future__ import annotations

import numpy as np
import pytest

from countless.families import FAMILIES, localise

from ..cases import CASES, every

WITH_UNITS = [case for case in CASES if case.has_units]
SHIFT = 1e6


def _change(case, seed=3):
    """Shift and scale per column that the family can follow."""
    d = case.rows.shape[1]
    scale = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, size=d)
    if case.oracle.one_scale:
        scale[:] = scale[0]
    return np.full(d, SHIFT if case.oracle.shifts else 0.0), scale


def _on_a_grid(rows):
    """Rows that a shift by a million leaves exact, so that what is measured is the library's rounding."""
    return np.maximum(np.round(rows * 2**20), 1 if np.all(rows >= 0) else -np.inf) / 2**20


@every()
def test_every_family_with_units_is_moved_by_hand(case):
    assert (case.oracle.moved is not None) == case.has_units


@every(WITH_UNITS)
@pytest.mark.parametrize("seed", [3, 4])
def test_evidence_follows_a_change_of_units(case, seed):
    shift, scale = _change(case, seed)
    rows = _on_a_grid(case.rows)
    family = case.resolved()
    moved = case.oracle.moved(family, shift, scale)
    expected = family.log_marginal(rows) - len(rows) * np.log(scale).sum()
    assert moved.log_marginal((rows + shift) * scale) == pytest.approx(expected, rel=1e-7)


@every(WITH_UNITS)
def test_predictive_follows_a_change_of_units(case):
    shift, scale = _change(case)
    rows, new = _on_a_grid(case.rows), _on_a_grid(case.new)
    family = case.resolved()
    moved = case.oracle.moved(family, shift, scale)
    expected = family.log_predictive(new, rows) - np.log(scale).sum()
    np.testing.assert_allclose(moved.log_predictive((new + shift) * scale, (rows + shift) * scale), expected, rtol=1e-7)


@every(WITH_UNITS)
def test_defaults_follow_a_change_of_units(case):
    shift, scale = _change(case)
    rows = _on_a_grid(case.rows)
    family = type(case.family)()
    expected = family.log_marginal(rows) - len(rows) * np.log(scale).sum()
    assert family.log_marginal((rows + shift) * scale) == pytest.approx(expected, rel=1e-6)


@every(WITH_UNITS)
def test_in_units_is_undone_by_its_inverse(case):
    family = case.resolved()
    shift, scale = family.units(case.rows)
    back = family.in_units(shift, scale).in_units(-shift / scale, 1 / scale)
    for name, value in vars(family).items():
        np.testing.assert_allclose(getattr(back, name), value, rtol=1e-12, atol=1e-12)


@every(WITH_UNITS)
def test_localised_rows_are_of_size_one(case):
    shift, scale = _change(case)
    moved = (case.rows + shift) * scale
    _, local, log_jacobian = localise(type(case.family)().resolve(moved), moved)
    assert np.abs(local).max() < 10
    assert np.isfinite(log_jacobian)


@pytest.mark.parametrize("n_rows", [10, 1_000_000])
def test_a_constant_column_is_recognised_whatever_the_number_of_rows(n_rows):
    """A running sum of 0.1 rounds; the mean of a constant column must still be that constant."""
    rows = np.column_stack([np.full(n_rows, 0.1), np.arange(n_rows, dtype=float)])
    family = FAMILIES["diagonal-gaussian"]().resolve(rows)
    assert family.scale[0] == pytest.approx(1 / 5)


@pytest.mark.parametrize("name", ["gaussian", "diagonal-gaussian", "gaussian-known-covariance", "spherical-gaussian"])
def test_samples_of_far_data_are_as_wide_as_the_data(name):
    """Posterior samples given rows around 1e8 with a spread of 0.001 have that spread."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((400, 2))
    family = FAMILIES[name]()
    near = family.sample(4000, 7, noise)
    far = family.sample(4000, 7, 1e8 + 1e-3 * noise) - 1e8
    # Standard errors of a difference: the sample's own, and that of the parameters given 400 rows.
    mean_error = near.std(axis=0) * np.sqrt(2 / 4000 + 2 / 400)
    assert np.all(np.abs(far.mean(axis=0) * 1e3 - near.mean(axis=0)) < 5 * mean_error)
    log_ratio = np.log(far.std(axis=0) * 1e3 / near.std(axis=0))
    assert np.all(np.abs(log_ratio) < 5 * np.sqrt(2 / 8000 + 2 / 800))


def test_a_constant_column_does_not_set_the_size_of_spherical_clusters():
    """The default variance is in the units of the columns that vary."""
    rows = np.column_stack([1e-6 * np.random.default_rng(0).standard_normal(50), np.ones(50)])
    assert FAMILIES["spherical-gaussian"]().resolve(rows).variance < 1e-11
