"""The tables that come with the package: sizes and facts known from the literature."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl


def test_galaxies_are_the_82_velocities_of_the_mixture_literature():
    table = cl.datasets.load_galaxies()
    assert table.shape == (82, 1)
    assert table.columns.tolist() == ["velocity"]
    velocity = table["velocity"].to_numpy()
    assert np.all(np.diff(velocity) > 0)
    assert (velocity[0], velocity[-1]) == (9.172, 34.279)
    assert velocity[77] == 26.690  # the misprint that everyone keeps
    # Mean and standard deviation of MASS::galaxies in R.
    assert velocity.mean() == pytest.approx(20.828, abs=1e-3)
    assert velocity.std(ddof=1) == pytest.approx(4.564, abs=1e-3)


def test_faithful_is_the_272_eruptions_of_r():
    table = cl.datasets.load_faithful()
    assert table.shape == (272, 2)
    assert table.columns.tolist() == ["eruptions", "waiting"]
    # summary(faithful) in R.
    assert table["eruptions"].describe()[["min", "50%", "max"]].tolist() == [1.6, 4.0, 5.1]
    assert table["waiting"].describe()[["min", "50%", "max"]].tolist() == [43.0, 76.0, 96.0]
    assert table.mean().round(3).tolist() == [3.488, 70.897]
    assert table.corr().iloc[0, 1] == pytest.approx(0.9008, abs=1e-4)


def test_each_call_gives_a_table_of_its_own():
    table = cl.datasets.load_faithful()
    table.iloc[0, 0] = -1.0
    assert cl.datasets.load_faithful().iloc[0, 0] == 3.6
