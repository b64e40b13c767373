"""Hyperparameters left as None are set from the data, and degenerate data give finite answers."""

from __future__ import annotations

import numpy as np
import pytest

from cases import FAMILY_CASES
from countless.families import FAMILIES, Family, resolve_family

from ..cases import EXAMPLES, NAMES, every, suitable_rows


def _fields(family: Family) -> dict:
    return vars(family)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_the_defaults(name):
    assert resolve_family(name) == FAMILIES[name]()
    given = FAMILIES[name]()
    assert resolve_family(given) is given


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"family: 'gausian' is not known; choose one of .*'gaussian'"):
        resolve_family("gausian")
    with pytest.raises(ValueError, match="family: 3 is not known"):
        resolve_family(3)


@every()
def test_resolve_sets_every_field(case):
    family = type(case.family)().resolve(case.rows)
    assert all(value is not None for value in _fields(family).values())
    assert all(value is None or np.ndim(value) == 0 for value in _fields(type(case.family)()).values())


@every()
def test_resolve_keeps_what_was_given(case):
    given = {name: value for name, value in _fields(case.family).items() if value is not None}
    for name, value in given.items():
        resolved = getattr(case.family.resolve(case.rows), name)
        if isinstance(resolved, tuple):
            assert all(np.array_equal(one, other) for one, other in zip(resolved, value, strict=True))
        else:
            np.testing.assert_array_equal(*np.broadcast_arrays(resolved, value))


@every()
def test_resolve_twice_is_resolve_once(case):
    once = type(case.family)().resolve(case.rows)
    twice = once.resolve(case.rows[:3])
    for name, value in _fields(once).items():
        other = getattr(twice, name)
        if isinstance(value, tuple):
            assert all(np.array_equal(x, y) for x, y in zip(value, other, strict=True))
        else:
            np.testing.assert_array_equal(value, other)
    assert once.log_marginal(case.rows) == pytest.approx(type(case.family)().log_marginal(case.rows), rel=1e-12)


@every()
def test_families_are_immutable(case):
    name = next(iter(_fields(case.family)))
    with pytest.raises(AttributeError):
        setattr(case.family, name, 1.0)


@every()
def test_families_compare_and_print(case):
    """Two families with equal hyperparameters are equal, whether those are lists or arrays."""
    resolved = case.resolved()
    assert resolved == case.resolved()
    assert resolved != type(case.family)()
    assert repr(resolved).startswith(type(resolved).__name__)


@every()
def test_rows_are_not_changed(case):
    rows, new = case.rows.copy(), case.new.copy()
    case.family.log_marginal(rows)
    case.family.log_predictive(new, rows)
    case.family.sample(2, 0, rows)
    np.testing.assert_array_equal(rows, case.rows)
    np.testing.assert_array_equal(new, case.new)


def _degenerate(name: str) -> dict[str, np.ndarray]:
    case = FAMILY_CASES[name]
    rows = case.suitable((6, 3))
    constant = rows.copy()
    constant[:, 1] = 1.0
    found = {
        "one row": rows[:1],
        "two rows": rows[:2],
        "constant column": constant,
        "equal rows": np.repeat(rows[:1], 6, axis=0),
        "more columns than rows": case.suitable((4, 30)),
        "the smallest value": np.full((5, 2), case.values[0]),
        "repeated column": np.repeat(rows[:, :1], 4, axis=1),
    }
    if case.cells in ("real", "positive"):
        found["far and narrow"] = 1e8 + 1e-3 * np.abs(rows)
        found["far and constant"] = np.full((50, 2), 1e8 + 0.1)
        found["tiny"] = np.abs(rows) * 1e-150
        found["unlike columns"] = np.abs(rows) * [1e-12, 1.0, 1e12]
        found["one far row"] = np.vstack([np.abs(rows), np.full((1, 3), 1e9)])
    elif case.cells == "counts":
        found["large counts"] = rows * 1e9
    return found


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in NAMES for kind in _degenerate(name)])
def test_degenerate_data_give_finite_answers(name, kind):
    rows = _degenerate(name)[kind]
    family = FAMILIES[name]()
    assert np.isfinite(family.log_marginal(rows))
    assert np.isfinite(family.log_predictive(rows, rows)).all()
    assert np.isfinite(family.sample(3, 0, rows)).all()


@pytest.mark.parametrize("name", [name for name, case in FAMILY_CASES.items() if case.cells == "real"])
def test_far_and_narrow_data_are_no_worse_than_near_ones(name):
    rows = np.round(np.random.default_rng(5).standard_normal((30, 2)) * 2**10) / 2**10
    near = FAMILIES[name]().log_marginal(rows)
    # Spacing of doubles at 1e8 is 1.5e-8, so these differences are exact.
    far = FAMILIES[name]().log_marginal(1e8 + rows * 2**-10)
    assert far == pytest.approx(near + rows.size * np.log(2**10), rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_input_forms(name):
    """Lists, integers, Fortran order, read-only arrays, and one-dimensional input as one column."""
    rows = np.abs(np.round(suitable_rows(name, (6, 2)))) + np.ceil(FAMILY_CASES[name].values[0])
    family = FAMILIES[name]()
    expected = family.log_marginal(rows)
    frozen = rows.copy()
    frozen.flags.writeable = False
    for form in (rows.tolist(), rows.astype(int), rows.astype(np.float32), np.asfortranarray(rows), frozen):
        assert family.log_marginal(form) == pytest.approx(expected, rel=1e-12)
    assert family.log_marginal(rows[:, 0]) == pytest.approx(family.log_marginal(rows[:, :1]), rel=1e-12)


def test_defaults_of_counts_are_not_those_of_the_table():
    """Rates begin half a count above the mean, pseudo-counts of categories at Jeffreys' half, as docstrings say."""
    rows = EXAMPLES["poisson"][1].rows
    poisson = FAMILIES["poisson"]().resolve(rows)
    np.testing.assert_allclose(poisson.shape / poisson.rate, rows.mean(axis=0) + 0.5)
    for pseudo in FAMILIES["categorical"]().resolve(EXAMPLES["categorical"][1].rows).concentration:
        np.testing.assert_array_equal(pseudo, 0.5)


def test_gaussian_default_scale_fills_a_fifth_of_the_volume():
    """The expected covariance has a determinant of 1/25 of the data's: a fifth of the volume."""
    rows = np.random.default_rng(1).standard_normal((20_000, 3)) @ np.diag([1.0, 5.0, 0.2])
    family = FAMILIES["gaussian"]().resolve(rows)
    ratio = np.linalg.det(family.scale / (family.dof - 4)) / np.linalg.det(np.cov(rows, rowvar=False, bias=True))
    assert ratio == pytest.approx(1 / 25, rel=1e-3)
