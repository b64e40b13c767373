"""Mixed tables through DPMixture: fit, predict with holes and unseen categories, impute, engines that fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countless as cl

ENGINE = cl.inference.CollapsedGibbs(chains=2, draws=40, warmup=30)


def _table(n=240, seed=4, missing=0.12, shared=0.8):
    """Three groups in two measurements (correlated by 0.8), a category and a count, with holes everywhere."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    centre = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])
    pair = centre[truth] + rng.normal(size=(n, 2)) @ np.array([[1.0, shared], [0.0, np.sqrt(1.0 - shared**2)]])
    probabilities = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    sort = np.array([rng.choice(["ash", "elm", "oak"], p=probabilities[k]) for k in truth], dtype=object)
    count = rng.poisson(np.array([1.0, 5.0, 12.0])[truth]).astype(float)
    whole = pd.DataFrame({"length": pair[:, 0], "sort": sort, "width": pair[:, 1], "count": count})
    holes = rng.random(whole.shape) < missing
    frame = whole.mask(holes)
    return frame, whole, holes, truth


@pytest.fixture(scope="module")
def fitted():
    frame, whole, holes, truth = _table()
    model = cl.DPMixture(family="auto", inference=ENGINE, random_state=0).fit(frame)
    return model, frame, whole, holes, truth


def test_the_groups_are_found(fitted):
    model, _, _, _, truth = fitted
    assert model.n_clusters_ == 3
    assert cl.metrics.adjusted_rand_index(model.labels_, truth) > 0.9
    assert {column.name: column.family for column in model.family_.schema} == {
        "length": "gaussian",
        "sort": "categorical",
        "width": "gaussian",
        "count": "poisson",
    }


def test_the_posterior_knows_the_table(fitted):
    model, frame, _, holes, _ = fitted
    data = model.posterior_.data
    assert data.names == list(frame.columns)
    assert data.columns[1].levels == ("ash", "elm", "oak")
    np.testing.assert_array_equal(np.isnan(data.rows), holes)


def test_prediction_takes_holes_and_unseen_categories(fitted):
    model, _, whole, _, truth = fitted
    names = [np.bincount(model.labels_[truth == k]).argmax() for k in range(3)]
    new = pd.DataFrame(
        {"sort": ["ash", None, "larch"], "length": [None, 4.0, 1.0], "width": [0.0, None, 5.0], "count": 1}
    )
    new["count"] = [1.0, 5.0, np.nan]
    np.testing.assert_array_equal(model.predict(new), names)
    probabilities = model.predict_proba(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.isfinite(model.score_samples(new)).all()
    empty = pd.DataFrame([[None] * 4], columns=list(whole.columns))
    # A row that shows nothing has density one, and the weights of the clusters.
    assert model.score_samples(empty)[0] == pytest.approx(0.0, abs=1e-9)
    shares = np.bincount(model.labels_) / len(model.labels_)
    np.testing.assert_allclose(model.predict_proba(empty)[0, :3], shares, atol=0.02)


def test_a_hole_is_the_sum_over_what_it_could_hold(fitted):
    """The density of a row without its category is the sum over categories: exactly, draw by draw."""
    model, _, whole, _, _ = fitted
    row = whole.iloc[[3]]
    each = [model.score_samples(row.assign(sort=sort))[0] for sort in ("ash", "elm", "oak")]
    assert model.score_samples(row.assign(sort=None))[0] == pytest.approx(np.logaddexp.reduce(each), abs=1e-9)


def test_imputation_beats_the_means_of_columns(fitted):
    model, frame, whole, holes, _ = fitted
    missing = model.posterior_.impute(n_draws=100)
    assert len(missing.rows) == holes.sum()
    filled = missing.filled()
    assert not filled.isna().any().any()
    for name in ("length", "width", "count"):
        gone = holes[:, list(whole.columns).index(name)]
        ours = np.mean((filled[name][gone] - whole[name][gone].astype(float)) ** 2)
        means = np.mean((frame[name].astype(float).mean() - whole[name][gone].astype(float)) ** 2)
        assert ours < 0.5 * means, name
    gone = holes[:, 1]
    assert np.mean(filled["sort"][gone] == whole["sort"][gone]) > 0.6
    told = missing.frame()
    assert len(told) == holes.sum()
    numbers = told[told["column"] != "sort"]
    assert np.all(numbers["low"] <= numbers["high"])
    truth = whole.to_numpy()[numbers["row"], [list(whole.columns).index(name) for name in numbers["column"]]].astype(
        float
    )
    covered = np.mean((numbers["low"] <= truth) & (truth <= numbers["high"]))
    # 90% intervals over some 85 cells: three standard errors.
    assert abs(covered - 0.9) < 3 * np.sqrt(0.9 * 0.1 / len(numbers))


def test_nothing_missing_nothing_imputed():
    model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [5.0]])
    missing = model.posterior_.impute()
    assert missing.draws.shape == (200, 0)
    assert len(missing.frame()) == 0


@pytest.mark.parametrize("inference", ["map", "variational", "blocked", "uncollapsed"])
def test_engines_that_cannot_draw_missing_cells_say_so(inference):
    frame, *_ = _table(60)
    family = cl.families.Table({"length": "gaussian", "width": "gaussian"})
    with pytest.raises(ValueError, match=r"missing in correlated Gaussian columns.*inference='gibbs'"):
        cl.DPMixture(family=family, inference=inference).fit(frame)


def test_other_engines_take_holes_in_independent_columns():
    frame, _, _, truth = _table(shared=0.0)
    family = cl.families.Table({"length": "diagonal-gaussian", "width": "diagonal-gaussian"})
    for inference in ("map", "variational"):
        model = cl.DPMixture(family=family, inference=inference, random_state=0).fit(frame)
        assert cl.metrics.adjusted_rand_index(model.labels_, truth) > 0.8, inference
        assert np.isfinite(model.score_samples(frame)).all()
        assert model.posterior_.impute(n_draws=5).filled().notna().all().all()


def test_a_saved_table_predicts_the_same(fitted, tmp_path):
    model, frame, *_ = fitted
    twin = cl.load(model.save(tmp_path / "table.npz"))
    np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(twin.posterior_.impute(5).draws, model.posterior_.impute(5).draws)


def test_refusals_point_to_auto():
    frame, *_ = _table(20)
    with pytest.raises(ValueError, match="family='auto'"):
        cl.DPMixture("gaussian").fit(frame[["length", "width"]])
    with pytest.raises(ValueError, match="family='auto'"):
        cl.DPMixture("gaussian").fit(frame[["sort"]])
