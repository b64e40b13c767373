"""Learnable hyperparameters: any log factors give a valid family, and they mean the same in all units."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import countless as cl
from countless.families import FAMILIES, localise

from .cases import CASES, every, statistics_of


@every()
def test_sizes_are_multiplied(case):
    family = case.resolved()
    sizes = family.tunable()
    assert sizes
    assert all(0.0 < size < np.inf for size in sizes.values())
    logs = dict(zip(sizes, np.linspace(-2.0, 1.5, len(sizes)), strict=True))
    tuned = family.with_tuned(logs)
    for name, size in tuned.tunable().items():
        bound = family.lower_bound(name)
        assert size - bound == pytest.approx((sizes[name] - bound) * np.exp(logs[name]), rel=1e-10)
    assert family.with_tuned({}) == family
    assert family.with_tuned(dict.fromkeys(sizes, 0.0)) == family
    assert type(tuned.prepare()) is type(family.prepare())
    back = tuned.with_tuned({name: -value for name, value in logs.items()})
    for name, size in back.tunable().items():
        assert size == pytest.approx(sizes[name], rel=1e-10)


@every()
def test_tuning_and_units_commute(case):
    """Evidence of a tuned family in the user's units and in local ones."""
    family, rows = case.resolved(), case.rows
    logs = dict.fromkeys(family.tunable(), 0.7)
    local, moved, log_jacobian = localise(family, rows)
    inside = local.with_tuned(logs).log_marginal(moved) + log_jacobian
    assert family.with_tuned(logs).log_marginal(rows) == pytest.approx(inside, rel=1e-9, abs=1e-9)


@every()
def test_statistics_stay_where_the_family_says_so(case):
    family = case.resolved()
    if family.statistics_stay:
        logs = {name: 0.3 * (1 + at) for at, name in enumerate(family.tunable())}
        width = family.layout().statistics
        before, after = (statistics_of(one.prepare(), case.rows, width) for one in (family, family.with_tuned(logs)))
        np.testing.assert_array_equal(before, after)


def test_every_built_in_family_names_its_own():
    built_in = [cls for cls in FAMILIES.values() if cls.__module__.startswith("countless.")]
    assert len(built_in) >= 11
    assert all(cls.learnable for cls in built_in)
    assert {case.family.__class__ for case in CASES} >= set(built_in)


class _NewPoisson(cl.families.Poisson):
    """A family that says nothing about what may be learned."""

    learnable: ClassVar = None
    statistics_stay: ClassVar = False


def test_a_new_family_offers_its_positive_fields():
    family = _NewPoisson(shape=[2.0, 8.0], rate=[1.0, 3.0])
    assert family.tunable() == pytest.approx({"shape": 4.0, "rate": np.sqrt(3.0)})
    np.testing.assert_allclose(family.with_tuned({"rate": np.log(2.0)}).rate, [2.0, 6.0])


def test_the_default_leaves_out_what_is_no_scale():
    """Whole numbers, locations of any sign, and fields that are None."""
    plain = type("Plain", (cl.families.Gaussian,), {"learnable": None})
    family = plain([-1.0, 2.0], 0.5, [[2.0, -0.5], [-0.5, 1.0]], 4.0).resolve(np.empty((0, 2)))
    assert list(family.tunable()) == ["mean_strength", "scale", "dof"]
    assert family.tunable()["scale"] == pytest.approx(np.sqrt(1.75))
    histogram = type("Plain", (cl.families.Multinomial,), {"learnable": None})(concentration=np.ones(3))
    assert list(histogram.tunable()) == ["concentration"]


def test_the_degrees_of_freedom_stay_above_their_bound():
    family = cl.families.Gaussian(mean=np.zeros(3), mean_strength=1.0, scale=1.0, dof=3.0).resolve(np.empty((0, 3)))
    assert family.with_tuned({"dof": -30.0}).dof > 2.0
    assert family.with_tuned({"dof": np.log(4.0)}).dof == pytest.approx(6.0)


def test_unknown_names_are_named():
    with pytest.raises(ValueError, match="'mean' is not learnable; choose among 'shape', 'rate'"):
        cl.families.Poisson(1.0, 1.0).resolve(np.zeros((1, 1))).with_tuned({"mean": 1.0})
