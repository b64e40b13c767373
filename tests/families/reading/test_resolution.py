"""How coarse measurements are, and what happens to cells that are equal because they were rounded."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl
from countless.families.gaussian.resolution import resolution, spread_equal_cells
from countless.inference import Problem


@pytest.mark.parametrize("step", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("law", ["normal", "two humps", "skewed"])
def test_the_step_of_rounded_values_is_found(law, step, rng):
    """The estimate is a ratio of two numbers of pairs; with 4,000 values it is within a third for all three laws."""
    values = rng.normal(size=4000)
    if law == "two humps":
        values += 6.0 * (rng.random(4000) < 0.4)
    if law == "skewed":
        values = np.exp(values)
    found = resolution(step * np.round(values / step))
    assert 0.67 * step < found < 1.5 * step


def test_values_that_differ_have_no_resolution(rng):
    values = rng.normal(size=500)
    assert resolution(values) == 0.0
    assert resolution(np.full(20, 3.0)) == 0.0
    assert resolution(np.append(values, values[0])) < 0.01  # one chance repetition


def test_repeated_rows_stay_equal(rng):
    X = np.round(rng.normal(size=(100, 2)), 1)
    X = X[np.unique(X, axis=0, return_index=True)[1]]
    counts = rng.integers(1, 4, size=len(X))
    once, repeated = (spread_equal_cells(rows, np.array([0, 1])) for rows in (X, np.repeat(X, counts, axis=0)))
    np.testing.assert_array_equal(repeated, np.repeat(once, counts, axis=0))
    assert not np.array_equal(once, X)


def test_a_column_of_zeros_and_numbers_keeps_half_a_deviation(rng):
    values = np.where(rng.random(1000) < 0.8, 0.0, rng.normal(50.0, 10.0, size=1000))
    assert resolution(values) <= 0.5 * values.std() + 1e-12


def test_equal_cells_are_spread_and_others_stay(rng):
    X = np.column_stack([np.round(rng.normal(size=200), 1), rng.normal(size=200)])
    X[3, 0] = np.nan
    out = spread_equal_cells(X, np.array([0, 1]))
    step = resolution(X[~np.isnan(X[:, 0]), 0])
    assert np.nanmax(np.abs(out - X)) <= 0.5 * step
    np.testing.assert_array_equal(out[:, 1], X[:, 1])
    assert np.isnan(out[3, 0])
    # Equal distances between the cells that were equal, so that their variance is that of the rounding.
    tied = out[X[:, 0] == 0.0, 0]
    np.testing.assert_allclose(np.diff(np.sort(tied)), step / len(tied), rtol=1e-9)
    np.testing.assert_array_equal(out, spread_equal_cells(X, np.array([0, 1])))


def test_only_those_who_leave_something_open_have_cells_spread(rng):
    X = np.round(rng.normal(size=(50, 2)), 1)
    family, prior = cl.families.Gaussian().resolve(X), cl.priors.CRP(1.0)
    np.testing.assert_array_equal(Problem.of(X, family, prior).X, X)
    assert not np.array_equal(Problem.of(X, family, prior, left_open=("scale",)).X, X)
    counts = rng.integers(0, 3, size=(50, 2)).astype(float)
    poisson = cl.families.Poisson().resolve(counts)
    np.testing.assert_array_equal(Problem.of(counts, poisson, prior, left_open=("rate",)).X, counts)


def test_a_value_that_many_rows_share_makes_no_cluster(rng):
    """Ages in years, and more people than usual say that they are forty: one cluster, without a spike of its own."""
    ages = np.round(rng.normal(40.0, 12.0, size=300))
    ages[rng.random(300) < 0.15] = 40.0
    X = np.column_stack([ages, rng.normal(size=300)])
    model = cl.DPMixture(inference="map", random_state=0).fit(X)
    assert model.n_clusters_ == 1
