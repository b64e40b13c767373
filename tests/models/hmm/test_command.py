"""``countless hmm`` from outside: sequences of a table, mistakes, new sequences."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cli.conftest import run

N = 60
RNG = np.random.default_rng(2)
WALKS = pd.DataFrame(
    {
        "walk": np.repeat(["a", "b"], N // 2),
        "t": np.tile(np.arange(N // 2), 2),
        "x": RNG.normal(size=N) + 8.0 * (np.arange(N) // 10 % 2),
        "y": RNG.normal(size=N),
    }
)
ASKED = ["--sequence", "walk", "--time", "t"]


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A folder to work in, and a table of two sequences in it."""
    monkeypatch.chdir(tmp_path)
    WALKS.to_csv("walks.csv", index=False)
    return "walks.csv"


def test_states_of_a_file_and_of_new_sequences(file, tmp_path):
    quick = ["--family", "gaussian", "--inference", "map", "--row-weight", "1"]
    done = run("hmm", file, *ASKED, "--columns", "x", *quick, "--out", "run", "--json", "--no-report")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["n_states"] == 2
    assert summary["data"] == {"file": "walks.csv", "rows": N, "sequences": 2}
    states = pd.read_csv("run/states.csv")
    assert states.columns[:4].tolist() == ["row", "sequence", "state", "probability"]
    assert states["sequence"].tolist() == [1] * 30 + [2] * 30
    assert len(set(states["state"][:10])) == 1
    assert run("predict", "run", file, "--out", "new.csv").exit_code == 0
    assert pd.read_csv("new.csv")["state"].tolist() == states["state"].tolist()
    WALKS.rename(columns={"x": "z"}).to_csv("other.csv", index=False)
    assert "other.csv has no column 'x'; it has 'walk', 't', 'z', 'y'" in run("predict", "run", "other.csv").output


def _changed(rows, column, value):
    table = WALKS.copy()
    table.loc[rows, column] = value
    return table


BAD = {
    "time": (_changed(5, "t", 2), [], "--time t: row 6 (2) does not come after row 5 (4); sort the table by time"),
    "split": (
        _changed(slice(40, None), "walk", "a"),
        [],
        "--sequence walk: the rows of sequence 'a' are in two places, the second begins in row 41; sort the table by",
    ),
    "no id": (_changed(3, "walk", None), [], "--sequence walk has no id in row 4; every row belongs to a sequence"),
    "hole": (
        _changed(3, "x", np.nan),
        ["--family", "gaussian"],
        "column 'x' has a missing cell in row 4; choose --family auto, which takes missing cells, or leave it out",
    ),
    "nothing": (WALKS, ["--columns", "walk"], "no column is left to fit"),
    "unknown": (WALKS.drop(columns="t"), [], "has no column 't'; it has 'walk', 'x', 'y'"),
    "weight": (WALKS, ["--row-weight", "2"], "--row-weight must be auto or a number above 0 and at most 1, got '2'"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_one_sentence(case, file):
    table, more, says = BAD[case]
    table.to_csv(file, index=False)
    done = run("hmm", file, *ASKED, *more)
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())
    assert "Traceback" not in done.output
