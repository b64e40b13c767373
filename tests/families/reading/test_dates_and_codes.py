"""Days of a spreadsheet are dates; small whole numbers are codes where most columns of the table are."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from countless.families.columns import Column
from countless.families.table.frames import decode, encode, read_frame, unseen
from countless.report.rows import Shown, cells
from countless.report.settings import columns_of

DAYS = np.array([41275.0, 41276.5, 45292.0])


@pytest.mark.parametrize("name", ["date", "date_of_launch", "Launch date", "releaseDate", "DATE_2"])
def test_serial_numbers_in_a_column_of_dates_are_dates(name):
    frame = pd.DataFrame({name: [*DAYS, np.nan]})
    (column,) = read_frame(frame, {})
    assert column.note == "dates (serial numbers of a spreadsheet), in days since 1970"
    rows = encode(frame, [column])
    shown = [column.number_in_words(day, "") for day in rows[:3, 0]]
    assert shown == ["2013-01-01", "2013-01-02", "2024-01-01"]
    # Cells that are drawn are serial numbers, as those that were given; dates are understood as well.
    assert decode(rows, [column])[name].tolist()[:3] == np.round(DAYS).tolist()
    assert encode(pd.DataFrame({name: pd.to_datetime(["2013-01-01"])}), [column])[0, 0] == rows[0, 0]


@pytest.mark.parametrize(
    ("name", "values"), [("mass", DAYS), ("update", DAYS), ("candidates", DAYS), ("date", DAYS - 40000.0)]
)
def test_other_numbers_are_not(name, values):
    assert read_frame(pd.DataFrame({name: values}), {})[0].note == "measurements"


def test_the_page_of_a_report_holds_dates():
    frame = pd.DataFrame({"date": DAYS})
    schema = read_frame(frame, {})
    data = SimpleNamespace(rows=encode(frame, schema), columns=schema)
    (held,) = cells(data, Shown(np.arange(3), np.arange(1)))
    assert held["dates"] is True
    assert held["cells"][0] == 15706

    (read,) = columns_of(SimpleNamespace(posterior_=SimpleNamespace(data=data)))
    assert (read["low"], read["high"]) == ("2013-01-01", "2024-01-01")


def _codes(rng, n_columns):
    frame = {f"code {j}": rng.choice([0, 2, 3], size=200, p=[0.5, 0.1, 0.4]) for j in range(n_columns)}
    return pd.DataFrame({**frame, "damage": rng.choice([0, 1, 2], size=200, p=[0.8, 0.15, 0.05])})


def test_what_may_be_counts_are_codes_among_codes(rng):
    alone, among = read_frame(_codes(rng, 1), {}), read_frame(_codes(rng, 4), {})
    assert (alone[-1].family, alone[-1].note) == ("poisson", "counts")
    assert (among[-1].family, among[-1].note) == ("categorical", "codes of categories, as in other columns")
    assert among[-1].levels == ("0", "1", "2")
    assert read_frame(_codes(rng, 4), {"damage": "poisson"})[-1].note == "as asked"


def test_answers_in_other_words_and_categories_that_were_never_seen():
    column = Column("smokes", "categorical", ("n", "y"))
    for answers in ([0, 1], ["no", "yes"], [False, True]):
        frame = pd.DataFrame({"smokes": answers})
        assert encode(frame, [column])[:, 0].tolist() == [0.0, 1.0]
        assert unseen(frame, [column]) == {}
    frame = pd.DataFrame({"smokes": ["y", "sometimes", "7"]})
    assert unseen(frame, [column]) == {"smokes": ["7", "sometimes"]}
    assert np.isnan(encode(frame, [column])[1:, 0]).all()


def test_sex_is_no_question():
    assert Column("sex", "categorical", ("0", "1")).level_in_words(0) == "0"
    assert Column("toothed", "categorical", ("0", "1")).level_in_words(0) == "no"
