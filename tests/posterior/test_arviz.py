"""Draws handed to ArviZ: on the version that is installed, and on the data half of ArviZ 1.x."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import countless as cl
from countless.families.columns import Column
from countless.posterior.data import Data

from .chains import independent_labels, posterior_of


@pytest.fixture
def arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return pytest.importorskip("arviz")


@pytest.fixture
def posterior(rng):
    data = Data(
        rows=np.column_stack([rng.normal(size=12), rng.integers(2, size=12)]),
        columns=(Column("age", "gaussian"), Column("sex", "categorical", ("female", "male"))),
        family=cl.families.Gaussian(),
        prior=cl.priors.CRP(cl.priors.Gamma(1.0, 1.0)),
    )
    shape = (3, 20)
    return posterior_of(
        independent_labels(rng, *shape, 12),
        log_joint=rng.normal(size=shape),
        concentration=rng.gamma(1.0, size=shape),
        hyperparameters={"scale": rng.gamma(1.0, size=shape)},
        truncation=cl.inference.Truncation(np.full(shape, 20), np.full(shape, 1e-3), np.full(shape, 1e-3)),
        data=data,
    )


def check(tree, posterior):
    drawn, stats, rows = tree["posterior"], tree["sample_stats"], tree["observed_data"]["rows"]
    for name in ("n_clusters", "log_joint", "concentration"):
        assert drawn[name].dims == ("chain", "draw")
        np.testing.assert_array_equal(drawn[name].values, getattr(posterior, name))
    assert {"entropy", "largest_share", "scale", "labels"} <= set(drawn.data_vars)
    assert drawn["labels"].dims == ("chain", "draw", "row")
    np.testing.assert_array_equal(drawn["labels"].values, posterior.labels)
    np.testing.assert_array_equal(stats["lp"].values, posterior.log_joint)
    assert int(stats["n_sticks"].max()) == 20
    assert rows.dims == ("row", "column")
    assert rows.coords["column"].values.tolist() == ["age", "sex"]
    np.testing.assert_array_equal(rows.values, posterior.data.rows)
    for attrs in (tree.attrs, drawn.attrs):
        assert attrs["inference_library"] == "countless"
        assert attrs["inference_library_version"] == cl.__version__
        assert attrs["engine"] == "gibbs"
        assert attrs["levels"] == '{"sex": ["female", "male"]}'
        assert all(isinstance(value, str | int | float) for value in attrs.values())


def test_what_arviz_takes(arviz, posterior):
    tree = posterior.to_arviz(labels=True, attrs={"engine": "gibbs"})
    old = int(arviz.__version__.split(".")[0]) < 1
    expected = arviz.InferenceData if old else pytest.importorskip("xarray").DataTree
    assert isinstance(tree, expected)
    check(tree, posterior)


def test_arviz_computes_what_diagnostics_does(arviz, posterior):
    tree = posterior.to_arviz()
    assert "labels" not in tree["posterior"].data_vars
    found = posterior.diagnostics().table().set_index("quantity")
    for name in ("log_joint", "entropy", "scale"):
        rhat = float(arviz.rhat(tree["posterior"][name].values))
        assert found.loc[name, "rhat"] == pytest.approx(rhat, rel=1e-9)


def test_the_data_half_of_arviz_is_enough(posterior, monkeypatch):
    pytest.importorskip("arviz_base")
    monkeypatch.setitem(sys.modules, "arviz", None)
    tree = posterior.to_arviz(labels=True, attrs={"engine": "gibbs"})
    assert isinstance(tree, pytest.importorskip("xarray").DataTree)
    check(tree, posterior)
    single = posterior_of(np.zeros((5, 1, 6), dtype=np.int64)).to_arviz()  # more chains than draws
    assert single["posterior"]["n_clusters"].shape == (5, 1)


def test_without_arviz_one_sentence_says_what_to_install(posterior, monkeypatch):
    for name in ("arviz", "arviz_base"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"^to_arviz: ArviZ is not installed; install it with: pip install arviz$"):
        posterior.to_arviz()


def test_more_chains_than_draws_and_no_rows(rng, arviz):
    posterior = posterior_of(independent_labels(rng, 5, 1, 6))
    tree = posterior.to_arviz(labels=True)
    assert tree["posterior"]["labels"].shape == (5, 1, 6)
    assert tree["posterior"]["concentration"].shape == (5, 1)
    assert "observed_data" not in (tree.groups() if callable(tree.groups) else tree.children)
