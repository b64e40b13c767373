"""Users are told which columns of measurements are rounded, and which are redundant."""

from __future__ import annotations

import numpy as np

import countless as cl
from countless.families.gaussian.notes import collinear, with_notes


def _notes(X, names):
    family = cl.families.Gaussian().resolve(X)
    return [column.note for column in with_notes(family.describe_columns(names), family, X)]


def test_rows_that_add_up_are_told(rng):
    X = rng.dirichlet(np.ones(5), size=200)
    notes = _notes(X, list("abcde"))
    assert notes[0] == "collinear with b, c, d and 1 more; leave one of them out"
    assert notes[4] == "collinear with a, b, c and 1 more; leave one of them out"


def test_columns_that_only_resemble_each_other_are_not(rng):
    X = rng.normal(size=(200, 3))
    X[:, 2] = X[:, 0] + X[:, 1] + 1e-3 * rng.normal(size=200)
    assert not any(_notes(X, list("abc")))


def test_units_do_not_matter_and_missing_cells_are_passed_over(rng):
    X = rng.normal(size=(100, 4))
    X[:, 3] = 2.0 * X[:, 1] - 1.0
    X *= [1e-6, 1e6, 1.0, 1e9]
    X[::7, 0] = np.nan
    np.testing.assert_array_equal(collinear(X), [False, True, False, True])


def test_wide_tables_and_constant_columns_have_no_such_note(rng):
    assert not collinear(rng.normal(size=(10, 12))).any()
    assert not collinear(np.column_stack([np.ones(30), 2.0 * np.ones(30), rng.normal(size=30)])).any()
