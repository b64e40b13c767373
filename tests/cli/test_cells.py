"""Cells as people write them, from the file to the screen: what each column is read as, marks of missing cells."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from .conftest import SHORT, run


@pytest.fixture
def people(here, rng):
    kind = np.repeat([0, 1], 20)
    frame = pd.DataFrame(
        {
            "person": [f"Ann {i}" for i in range(40)],
            "spent": [f"${amount:,.0f}" for amount in rng.normal(2000.0 + 6000.0 * kind, 200.0)],
            "share": [f"{share:.0f}%" for share in rng.normal(20.0 + 40.0 * kind, 4.0)],
            "euros": [f"{amount:_.2f}".translate(str.maketrans("_.", ".,")) for amount in rng.normal(1e4, 9e2, 40)],
            "joined": pd.date_range("2024-01-13", periods=40).strftime("%d/%m/%Y"),
            "lasted": [f"{minutes // 60}:{minutes % 60:02d}" for minutes in rng.integers(50, 300, 40)],
            "temperature": np.where(np.arange(40) % 9 == 3, -999.0, rng.normal(20.0 + kind, 1.0).round(1)),
            "date": 45000 + rng.permutation(40) * 3,
            "smokes": np.where(rng.random(40) < 0.2 + 0.6 * kind, "y", "n"),
        }
    )
    frame.to_csv("people.csv", index=False)
    return frame


def test_every_column_is_read_as_a_person_would(people, here):
    fit = run("fit", "people.csv", *SHORT, "--no-report", "--missing", "-999", "--columns", "joined=month", "--json")
    assert fit.exit_code == 0, fit.stderr
    summary = json.loads(fit.stdout)
    assert "holds -999" not in fit.stderr
    read = {column["name"]: column for column in summary["data"]["columns"]}
    assert {name: column["note"].split(";")[0] for name, column in read.items()} == {
        "person": "a different text in most rows: a name, not a category",
        "spent": "measurements: numbers in $",
        "share": "measurements: numbers in %",
        "euros": "measurements",
        "joined": "the month of dates",
        "lasted": "measurements: durations, in hours",
        "temperature": "measurements",
        "date": "dates (serial numbers of a spreadsheet), in days since 1970",
        "smokes": "categories",
    }
    assert read["temperature"]["missing"] == 5
    assert (read["date"]["low"], read["date"]["high"]) == ("2023-03-15", "2023-07-10")
    names = pd.read_csv(here / "people-countless" / "labels.csv")["name"]
    assert names.tolist() == people["person"].tolist()
    # A number for an answer is understood, another word is named.
    people.head(2).assign(smokes=[1, 0]).to_csv("answers.csv", index=False)
    assert "has not seen" not in run("predict", "people-countless", "answers.csv").stdout
    people.head(2).assign(smokes=["sometimes", "y"]).to_csv("words.csv", index=False)
    says = "'smokes' holds categories that the fit has not seen, each read as a missing cell: sometimes."
    assert says in run("predict", "people-countless", "words.csv").stdout.splitlines()


def test_a_mark_of_missing_cells_is_named_before_the_fit(people, here):
    fit = run("fit", "people.csv", "--columns", "temperature,smokes", *SHORT, "--no-report")
    assert fit.stderr.splitlines()[1] == (
        "warning: X: column 'temperature' holds -999 in 5 cells, far from all its other numbers; if it marks missing "
        "cells, leave them empty (on the command line, --missing -999)"
    )
    refused = run("fit", "people.csv", "--columns", "share=weekday", "--out", "none")
    assert refused.stderr == "error: --columns: 'share' holds no dates, so that there is no weekday to read\n"
