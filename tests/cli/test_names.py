"""Names stay with their rows: in labels.csv, for new rows, in the report, after loading; traits are what people say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import countless as cl
from countless.inference import CollapsedGibbs

from .conftest import SHORT, run

ENGINE = CollapsedGibbs(chains=2, draws=30, warmup=30)


@pytest.fixture
def animals(rng):
    """Two kinds of animals; the name of one holds a comma."""
    kind = np.repeat([0, 1], 20)
    return pd.DataFrame(
        {
            "animal": [f"cow {i}" for i in range(39)] + ["seal, grey"],
            "weight": rng.normal(100.0 + 400.0 * kind, 20.0),
            "horns": 1 - kind,
            "price": [f"${amount:,.0f}" for amount in rng.normal(2000.0 + 6000.0 * kind, 200.0)],
            "born": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 9, 40) + 900 * kind, unit="D"),
        }
    )


def test_a_column_of_names_names_the_rows(animals, tmp_path):
    model = cl.DPMixture("auto", inference=ENGINE, random_state=0).fit(animals)
    assert model.row_names_ == animals["animal"].tolist()
    assert cl.load(model.save(tmp_path / "model.npz")).row_names_ == model.row_names_
    assert '"seal, grey"' in cl.report.render(model)


def test_the_index_of_a_frame_comes_first(animals):
    named = animals.drop(columns="animal").set_axis([f"row {i}" for i in range(40)])
    assert cl.DPMixture("auto", inference=ENGINE, random_state=0).fit(named).row_names_[3] == "row 3"
    numbers = named[["weight"]].to_numpy()
    assert cl.DPMixture(inference=ENGINE, random_state=0).fit(numbers).row_names_ is None


def test_on_the_command_line(animals, tmp_path):
    table, out = tmp_path / "farm.csv", tmp_path / "run"
    animals.to_csv(table, index=False)
    run("fit", table, "--out", out, *SHORT)
    labels = pd.read_csv(out / "labels.csv")
    assert labels.columns.tolist()[:3] == ["row", "name", "label"]
    assert labels["name"].tolist() == animals["animal"].tolist()
    run("predict", out, table, "--out", tmp_path / "new.csv")
    assert pd.read_csv(tmp_path / "new.csv")["name"].tolist() == animals["animal"].tolist()
    traits = {
        trait["column"]: trait["text"]
        for found in json.loads((out / "summary.json").read_text())["clusters"]
        for trait in found["traits"]
        if trait["level"] != "1"
    }
    assert traits["horns"] == "horns: no 100% (others 0%)"
    assert "$" in traits["price"]
    assert "(others 202" in traits["born"]


def test_a_column_may_be_asked_for(animals, tmp_path):
    table, out = tmp_path / "farm.csv", tmp_path / "run"
    animals.to_csv(table, index=False)
    run("fit", table, "--name", "weight", "--ignore", "animal", "--out", out, *SHORT)
    np.testing.assert_allclose(pd.read_csv(out / "labels.csv")["name"], animals["weight"], rtol=1e-14)


def test_saved_names_that_are_damaged_are_refused(animals, tmp_path):
    from countless.models.mixture.data import MixtureData

    data = cl.DPMixture("auto", inference=ENGINE, random_state=0).fit(animals).posterior_.data
    for names in (["animal", np.array(["a"], dtype=object)], ["animal", np.arange(40.0)], [3, data.row_names.values]):
        with pytest.raises(ValueError, match="names of rows"):
            MixtureData.revived({**data.settings(), "row names": names}, data.arrays())
