"""Input that is nearly a table works, or is refused in one sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countless as cl
from countless.inference import CollapsedGibbs

ENGINE = CollapsedGibbs(chains=2, draws=20, warmup=20)
FAMILIES = pytest.mark.parametrize("family", ["gaussian", "auto"])


def _model(family):
    return cl.DPMixture(family, inference=ENGINE, random_state=0)


@pytest.fixture
def records(rng):
    return [{"x": 10.0 * group + rng.normal(), "kind": "yn"[group]} for group in np.repeat([0, 1], 20)]


def test_a_list_of_dicts_is_a_table(records):
    model = _model("auto").fit(records)
    np.testing.assert_array_equal(model.labels_, _model("auto").fit(pd.DataFrame(records)).labels_)
    assert model.predict(records[:3]).tolist() == model.labels_[:3].tolist()


@FAMILIES
def test_a_series_is_one_column(records, family):
    series = pd.Series([record["x"] for record in records], name="length")
    model = _model(family).fit(series)
    assert model.n_clusters_ == 2
    assert model.feature_names_in_.tolist() == ["length"]
    assert model.predict(series[:2]).tolist() == model.labels_[:2].tolist()


@FAMILIES
def test_two_columns_of_one_name_are_refused(records, family):
    frame = pd.DataFrame(records)[["x", "x"]]
    with pytest.raises(ValueError, match=r"two columns are called 'x'; give every column a name of its own"):
        _model(family).fit(frame)


def test_no_and_yes_may_be_written_as_numbers(records):
    model = _model("auto").fit(records)
    given = pd.DataFrame({"x": [0.0, 10.0], "kind": ["n", "y"]})
    density = model.score_samples(given.assign(kind=[0, 1]))
    assert density.tolist() == model.score_samples(given).tolist()
    assert density.tolist() != model.score_samples(given.assign(kind=[1, 0])).tolist()


def test_numbers_where_the_fit_had_words_are_unknown(records):
    model = _model("auto").fit(records)
    assert model.predict(pd.DataFrame({"x": [0.0, 10.0], "kind": [1, 0]})).tolist() == model.labels_[[0, -1]].tolist()
