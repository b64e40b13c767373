"""Checks of a model: tables drawn from it look like the table where it is right, and show what it lacks where not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats.contingency import association

import countless as cl
from countless.families.columns import Column
from countless.inference import CollapsedGibbs
from countless.posterior.checks import compare

ONE = cl.priors.FiniteDirichlet(1)
SHORT = CollapsedGibbs(chains=1, draws=40, warmup=10)


def _striking(family, rows, prior=ONE):
    model = cl.DPMixture(family, prior=prior, inference=SHORT, random_state=0).fit(rows)
    return {(check.columns, check.what) for check in model.posterior_.checks(40).striking}


def test_what_a_model_lacks_is_named():
    rng = np.random.default_rng(0)
    long = np.exp(rng.normal(size=(300, 1)))
    assert _striking("gaussian", long) == {(("column 0",), "left tail"), (("column 0",), "right tail")}
    few = rng.poisson(4.0, size=(300, 1)) * (rng.random((300, 1)) < 0.7)
    assert (("column 0",), "zeros") in _striking("poisson", few)
    prices = np.where(rng.random((300, 1)) < 0.2, 7.5, rng.normal(7.0, 2.0, size=(300, 1)))
    assert (("column 0",), "repeats") in _striking("gaussian", prices)
    pair = rng.normal(size=(300, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]])
    assert _striking("diagonal-gaussian", pair) == {(("column 0", "column 1"), "association")}
    assert not _striking("gaussian", pair)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_striking_where_the_model_is_right(seed):
    rng = np.random.default_rng([20261119, seed])
    assert not _striking("gaussian", rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)))
    assert not _striking("poisson", rng.poisson(2.0, size=(200, 4)))


def test_replicates_have_the_moments_of_the_posterior_and_miss_what_the_table_misses():
    """One cluster with known parameters: each cell of a replicate is a draw of its predictive density."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(3.0, 2.0, size=400), "sort": rng.choice(["a", "b"], size=400, p=[0.8, 0.2])})
    frame.loc[:39, "x"] = np.nan
    family = cl.families.Table({"x": "diagonal-gaussian", "sort": "categorical"})
    model = cl.DPMixture(family, prior=ONE, inference=SHORT, random_state=0).fit(frame)
    from countless.models.mixture.replicates import _replicates

    tables = np.array(list(_replicates(model.posterior_, model.posterior_.data, 40, rng)))
    assert tables.shape == (40, 400, 2)
    np.testing.assert_array_equal(np.isnan(tables), np.broadcast_to(np.isnan(model.posterior_.data.rows), tables.shape))
    # Over tables the mean varies by the posterior of the parameter and by the rows, each 1 / sqrt(360) of the spread.
    error = 4.0 * np.sqrt(2.0) * 2.0 / np.sqrt(360 * 40)
    assert abs(np.nanmean(tables[:, :, 0]) - np.nanmean(frame["x"])) < error
    share = np.mean(tables[:, :, 1] == 1.0) - np.mean(frame["sort"] == "b")
    assert abs(share) < 4.0 * np.sqrt(2.0) * 0.4 / np.sqrt(400 * 40)


def test_associations_are_those_of_scipy():
    rng = np.random.default_rng(2)
    codes = rng.integers(4, size=200)
    rows = np.column_stack([codes, (codes + rng.integers(2, size=200)) % 3]).astype(float)
    columns = [Column("a", "categorical", tuple("abcd")), Column("b", "categorical", tuple("xyz"))]
    (found,) = compare(rows, columns, [rows, rows]).checks
    counts = pd.crosstab(rows[:, 0], rows[:, 1]).to_numpy()
    assert found.observed == pytest.approx(association(counts, method="cramer"), rel=1e-12)
    assert not found.striking


@pytest.mark.parametrize("engine", ["variational", "map"])
def test_other_engines_are_checked_too(engine):
    model = cl.DPMixture("gaussian", inference=engine, random_state=0).fit(cl.datasets.load_faithful())
    found = model.posterior_.checks(30)
    assert len(found.checks) == 7
    assert not found.striking
    assert len(found.frame()) == 7


def test_a_posterior_without_rows_says_so():
    model = cl.DPMixture("gaussian", inference=SHORT, random_state=0).fit(cl.datasets.load_faithful())
    with pytest.raises(ValueError, match="n_replicates must be"):
        model.posterior_.checks(1)
