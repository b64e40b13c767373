"""Labels of one's own, the family that the rows call for, and cells that are drawn as they were given."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import countless as cl

MAP = cl.inference.MAP(restarts=2, perturbations=1)


@pytest.fixture(scope="module")
def three():
    X = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0.0], [8.0], [24.0]], 30, axis=0)
    return cl.DPMixture("gaussian", inference=MAP, random_state=0, tune=None).fit(X), X


def test_everything_follows_labels_of_ones_own(three, tmp_path):
    model, X = three
    assert model.n_clusters_ == 3
    mine = model.relabel(np.repeat(["near", "near", "far"], 30))
    assert (model.n_clusters_, model.is_relabelled_) == (3, False)
    assert (mine.n_clusters_, mine.is_relabelled_) == (2, True)
    assert mine.labels_.tolist() == [1] * 60 + [0] * 30
    # A joined cluster is the mixture of its parts.
    shares, parts = mine.predict_proba(X), model.predict_proba(X)
    near = model.labels_[0], model.labels_[30]
    np.testing.assert_allclose(shares[:, 1], parts[:, near[0]] + parts[:, near[1]], atol=1e-12)
    np.testing.assert_array_equal(mine.predict(X), mine.labels_)
    np.testing.assert_allclose(mine.score_samples(X), model.score_samples(X))
    np.testing.assert_allclose(mine.certainty_.probability, shares[np.arange(90), mine.labels_])
    assert [each.size for each in mine.posterior_.summaries(mine.labels_)] == [30, 60]
    assert (
        cl.plots.sentence(mine)
        == "2 clusters in 90 rows, as in the labels that were given in place of the clusters found"
    )
    _, labels = mine.sample(50)
    assert set(labels) <= {-1, 0, 1}
    again = cl.load(mine.save(tmp_path / "mine.npz"))
    assert again.is_relabelled_
    np.testing.assert_allclose(again.predict_proba(X), shares)
    page = cl.report.write(model, tmp_path / "report.html", labels=mine.labels_).read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    assert data["shared"]["rows"]["cluster"] == mine.labels_.tolist()
    assert "As in the labels that were given in place of the clusters found." in page


def test_labels_that_split_clusters_are_asked_from_their_rows(three):
    model, X = three
    mine = model.relabel(np.where(np.arange(90) % 2 == 0, 0, 1))
    assert mine.predict_proba(X).shape == (90, 3)
    with pytest.raises(ValueError, match="labels must hold 90 labels, one per row"):
        model.relabel([0, 1])
    quick = cl.inference.Variational(restarts=1)
    approximate = cl.DPMixture("gaussian", inference=quick, random_state=0, tune=None).fit(X)
    with pytest.raises(ValueError, match="labels: a variational fit keeps its clusters whole"):
        approximate.relabel(np.arange(90) % 2)
    assert approximate.relabel(np.zeros(90)).n_clusters_ == 1
    with pytest.raises(ValueError, match="DPMeans"):
        cl.report.write(cl.DPMeans(penalty=5.0).fit(X), "nowhere.html", labels=np.zeros(90))


@pytest.mark.parametrize(
    "model",
    [cl.FiniteMixture(2), cl.InfiniteHMM(), cl.MixedEffects(), cl.InfiniteBiclustering(), cl.LatentAttributes()],
)
def test_other_models_say_that_they_keep_their_labels(model):
    sentence = (
        f"{type(model).__name__} keeps the labels that it found; cl.metrics.compare puts labels of your own beside"
    )
    with pytest.raises(AttributeError, match=sentence):
        model.relabel([0, 1])


def _family(X):
    return type(cl.models.rows.family_for(None, X)).__name__


def test_the_default_family_follows_what_is_handed_in():
    floats = np.random.default_rng(0).normal(size=(30, 2))
    binary = (floats > 0).astype(float)
    assert _family(floats) == _family(floats.tolist()) == _family(np.arange(30).reshape(15, 2)) == "Gaussian"
    assert _family(pd.DataFrame(floats)) == _family(pd.Series(floats[:, 0])) == "Table"
    assert _family(np.column_stack([floats, binary])) == _family(binary.astype(bool)) == "Table"
    assert _family([["a", 1.0], ["b", 2.0]]) == _family([{"x": 1.0}, {"x": 2.0}]) == "Table"
    model = cl.DPMixture(inference=MAP, random_state=0).fit(pd.DataFrame({"b": binary[:, 0], "c": list("xyz") * 10}))
    assert [column.family for column in model.family_.schema] == ["categorical", "categorical"]
    with pytest.warns(UserWarning, match=r"^X: 2 columns hold nothing but 0 and 1 \(column 0, column 1\)") as told:
        cl.DPMixture("gaussian", inference=MAP, random_state=0, tune=None).fit(binary)
    assert len(told) == 1


def test_cells_are_drawn_as_they_were_given_and_dates_have_parts():
    rng = np.random.default_rng(0)
    group, days = np.repeat([0, 1], 30), rng.integers(1, 28, 60)
    table = pd.DataFrame(
        {
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(180 * group + rng.integers(0, 50, 60), unit="D"),
            "written": [f"{day:02d}/{month:02d}/2024" for day, month in zip(days, 6 * group + 1, strict=True)],
            "ok": np.where(rng.random(60) < 0.1 + 0.8 * group, "y", "n"),
            "flag": rng.random(60) < 0.1 + 0.8 * group,
            "visits": rng.poisson(1 + 5 * group),
        }
    )
    family = cl.families.Table({"written": "month"})
    model = cl.DPMixture(family, inference=MAP, random_state=0).fit(table)
    month = next(column for column in model.family_.schema if column.name == "written")
    assert (month.family, month.levels[:2], month.note) == ("categorical", ("Jan", "Feb"), "the month of dates")
    rows, labels = model.sample(40)
    assert list(rows) == list(table)
    assert rows["when"].dtype.kind == "M"
    assert set(rows["ok"]) == {"n", "y"}
    assert set(rows["flag"]) == {False, True}
    assert rows["visits"].dtype.kind == "i"
    assert set(rows["written"]) <= set(month.levels)
    known = labels >= 0
    assert np.mean(model.predict(rows)[known] == labels[known]) > 0.8
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    with pytest.raises(ValueError, match="columns: 'ok' holds no dates, so that there is no weekday to read"):
        cl.DPMixture(cl.families.Table({"ok": "weekday"}), inference=MAP).fit(table)
