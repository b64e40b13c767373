"""Numbers, dates and durations as people write them, in frames and in files, at the fit and for new rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countless.families import Table
from countless.families.table.sentinels import suspected_missing
from countless.families.table.written import Style, style_of
from countless.io import read_table

DAY = (pd.Timestamp("2024-01-31") - pd.Timestamp(0)).days


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["45%", "3.5 %"], [45.0, 3.5]),
        (["$1,200", "$20,000.50", "($3,000)", "-$5"], [1200.0, 20000.5, -3000.0, -5.0]),
        (["20,000", "1,500", "7"], [20000.0, 1500.0, 7.0]),
        (["1.200,50", "3,1"], [1200.5, 3.1]),
        (["1 200,50 €", "3,1 €"], [1200.5, 3.1]),
        (["1e6", "2.5E-3"], [1e6, 2.5e-3]),
        (["1,5", "2,25"], [1.5, 2.25]),
        (["12 kg", "7.5kg"], [12.0, 7.5]),
        (["31/01/2024", "01/02/2024"], [DAY, DAY + 1]),
        (["01/31/2024", "02/01/2024"], [DAY, DAY + 1]),
        (["31.01.2024", "01.02.2024"], [DAY, DAY + 1]),
        (["2024-01-31 12:00", "2024-02-01 06:00"], [DAY + 0.5, DAY + 1.25]),
        (["1:30", "0:15:36", "-2:00"], [1.5, 0.26, -2.0]),
        (["1h 30m", "45 min", "2 days"], [1.5, 0.75, 48.0]),
    ],
)
def test_cells_as_people_write_them(cells, values):
    style = style_of(cells)
    np.testing.assert_allclose(style.values([*cells, None]), [*values, np.nan], rtol=1e-12)
    assert Style.of_code(style.code) == style


@pytest.mark.parametrize("cells", [["A1", "A2"], ["$5", "€5"], ["12", "12.5.3"], ["yes", "no"], ["3a", "4b"]])
def test_other_text_stays_text(cells):
    assert style_of(cells) is None


def test_a_bracket_that_is_not_closed_is_no_number():
    with pytest.raises(ValueError, match=r"\(5"):
        style_of(["(5)", "6"]).values(["(5"])


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=20))
def test_money_is_read_back(amounts):
    cells = [f"-${-amount:,}" if amount < 0 else f"${amount:,}" for amount in amounts]
    np.testing.assert_array_equal(style_of(cells).values(cells), [float(amount) for amount in amounts])


@pytest.fixture
def frame(rng):
    amounts = rng.integers(900, 40_000, 60)
    return pd.DataFrame({"price": [f"${amount:,}" for amount in amounts], "share": [f"{i % 50}%" for i in range(60)]})


def test_written_columns_are_measurements_and_new_rows_are_read_alike(frame):
    table, rows = Table().read(frame)
    assert [column.family for column in table.schema] == ["gaussian", "gaussian"]
    assert [column.note for column in table.schema] == ["measurements: numbers in $", "measurements: numbers in %"]
    new = pd.DataFrame({"price": ["$5", None, "$1,000,000"], "share": [12.5, 3.0, np.nan]})
    np.testing.assert_array_equal(table.read_new(new), [[5.0, 12.5], [np.nan, 3.0], [1e6, np.nan]])
    with pytest.raises(ValueError, match=r"column 'price' must hold numbers in \$, got '5 EUR'"):
        table.read_new(new.assign(price="5 EUR"))
    assert rows[:, 1].max() == 49.0


def test_asked_kinds_are_read_alike(frame):
    table, rows = Table({"price": "exponential"}).read(frame)
    assert table.schema[0].family == "exponential"
    assert rows[:, 0].min() >= 900.0


def test_a_file_with_decimal_commas_and_dates(tmp_path):
    path = tmp_path / "sales.csv"
    lines = [f"{i}.200,{i}0;{1 + i % 28:02d}/03/2024;{'x' if i % 3 else 'y'}" for i in range(1, 61)]
    path.write_text("amount;day;shop\n" + "\n".join(lines) + "\n", encoding="utf-8")
    table, rows = Table().read(read_table(path))
    assert [column.family for column in table.schema] == ["gaussian", "gaussian", "categorical"]
    assert rows[0, 0] == 1200.1
    assert "day/month/year" in table.schema[1].note


def test_a_column_of_numbers_that_is_left_out_is_no_secret(frame):
    cells = [f"{i / 7:.3f}" + ("" if i % 5 else " or so") for i in range(60)]
    with pytest.warns(UserWarning, match=r"column 'guess' is left out, but 48 of its 60 cells.*such as '0.000 or so'"):
        Table().read(frame.assign(guess=cells))


def test_numbers_that_stand_for_missing_cells_are_named(rng):
    ages = np.append(rng.integers(20, 60, 50), [-999, -999])
    with pytest.warns(UserWarning, match=r"column 'age' holds -999 in 2 cells.*--missing -999"):
        Table().read(pd.DataFrame({"age": ages, "x": rng.normal(size=52)}))


@pytest.mark.parametrize(
    ("values", "found"),
    [([-999.0, -999, 3, 40], -999.0), ([9999.0, 9999, 3, 40], 9999.0), ([-9.0, -9, 0, 5], -9.0)],
)
def test_suspected(values, found):
    assert suspected_missing(np.array(values)) == found


@pytest.mark.parametrize("values", [[99.0, 99, 3, 80], [-999.0, 3, 40], [-1.0, -1, 1, 1], [5.0, 5, 5]])
def test_not_suspected(values):
    assert suspected_missing(np.array(values)) is None


def test_marks_of_missing_cells_in_any_spelling(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("age,weight\n-999,70.5\n31,-999.0\n45,80\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(path, missing=["-999"])
    assert table.isna().to_numpy().tolist() == [[True, False], [False, True], [False, False]]
