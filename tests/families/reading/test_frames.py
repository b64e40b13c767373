"""How tables are read: what each column is taken for, what can be overridden, and how new rows are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from countless.families import Gaussian, Table
from countless.families.columns import OTHER
from countless.families.table.codes import are_codes


def _read(frame, columns=None):
    table, rows = Table(columns).read(frame)
    return {column.name: column for column in table.schema}, rows, table


@pytest.fixture
def frame(rng):
    n = 200
    return pd.DataFrame(
        {
            "height": rng.normal(170, 10, n),
            "weight": rng.normal(70, 10, n),
            "visits": rng.poisson(2, n),
            "sex": rng.choice(["female", "male"], n),
            "smokes": rng.random(n) < 0.3,
            "grade": rng.integers(1, 5, n),
            "answer": rng.integers(0, 2, n),
            "pulse": rng.integers(50, 180, n),
            "id": np.arange(n) + 1000,
            "name": [f"person {i}" for i in range(n)],
            "country": "CH",
            "born": pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D"),
            "region": pd.Categorical(rng.choice(["north", "south"], n), categories=["south", "north", "west"]),
            "nothing": np.full(n, np.nan),
        }
    )


def test_kinds_are_read_off_the_cells(frame):
    columns, rows, _ = _read(frame)
    assert {name: column.family for name, column in columns.items()} == {
        "height": "gaussian",
        "weight": "gaussian",
        "visits": "poisson",
        "sex": "categorical",
        "smokes": "categorical",
        "grade": "categorical",
        "answer": "categorical",
        "pulse": "gaussian",
        "id": "ignore",
        "name": "ignore",
        "country": "ignore",
        "born": "gaussian",
        "region": "categorical",
        "nothing": "ignore",
    }
    assert columns["region"].levels == ("south", "north", "west")
    assert columns["grade"].levels == ("1", "2", "3", "4")
    assert columns["smokes"].levels == ("False", "True")
    assert all(column.note for column in columns.values())
    assert rows.shape == (200, 10)
    np.testing.assert_array_equal(rows[:, 3], frame["sex"] == "male")
    np.testing.assert_array_equal(rows[:, 8], (frame["born"] - pd.Timestamp(0)).dt.days)


def test_choices_can_be_overridden(frame):
    columns, _, table = _read(
        frame,
        {"visits": "gaussian", "height": "diagonal-gaussian", "sex": "ignore", "pulse": "poisson", "id": "gaussian"},
    )
    kinds = {name: column.family for name, column in columns.items()}
    assert (kinds["visits"], kinds["height"], kinds["sex"], kinds["pulse"]) == (
        "gaussian",
        "diagonal-gaussian",
        "ignore",
        "poisson",
    )
    assert kinds["id"] == "gaussian"
    assert [block.name for block in table.blocks].count("gaussian") == 1


def test_a_block_of_columns_has_one_family(frame):
    block = Gaussian(dof=9.0)
    _, _, table = _read(frame[["height", "weight", "pulse"]], {("height", "pulse"): block})
    blocks = {block.columns: block.family for block in table.blocks}
    assert blocks[0, 2] is block
    assert (1,) in blocks


def test_many_missing_cells_mean_no_correlations(frame):
    incomplete = frame[["height", "weight"]].copy()
    incomplete.loc[:80, "weight"] = np.nan
    kinds, _, _ = _read(incomplete)
    assert (kinds["height"].family, kinds["weight"].family) == ("gaussian", "diagonal-gaussian")


def test_rare_categories_are_gathered_and_unseen_ones_join_them(rng):
    towns = [f"town {k}" for k in rng.zipf(1.3, 3000) % 90]
    columns, rows, table = _read(pd.DataFrame({"town": towns, "x": rng.normal(size=3000)}))
    levels = columns["town"].levels
    assert len(levels) == 40
    assert levels[-1] == OTHER
    new = table.read_new(pd.DataFrame({"town": ["nowhere", None], "x": [0.0, 1.0]}))
    assert new[0, 0] == 39
    assert np.isnan(new[1, 0])
    assert np.nanmax(rows[:, 0]) == 39


def test_an_unseen_category_is_missing_where_no_rest_exists(frame):
    _, _, table = _read(frame[["sex", "height"]])
    new = table.read_new(pd.DataFrame({"height": [170.0], "sex": ["other"]}))
    assert np.isnan(new[0, 0])
    assert new[0, 1] == 170.0


def test_missing_cells_stay_missing_and_whole_numbers_stay_counts(frame):
    incomplete = frame[["visits", "grade", "smokes", "sex"]].astype({"visits": float, "grade": float, "smokes": object})
    incomplete.iloc[3] = None
    columns, rows, _ = _read(incomplete)
    assert np.isnan(rows[3]).all()
    assert not np.isnan(np.delete(rows, 3, axis=0)).any()
    assert columns["visits"].family == "poisson"
    assert columns["grade"].levels == ("1", "2", "3", "4")


def test_polars_frames_read_like_pandas_ones(frame):
    polars = pytest.importorskip("polars")
    chosen = frame[["height", "visits", "sex", "smokes"]].copy()
    chosen["sex"] = chosen["sex"].mask(chosen.index < 3)
    ours, rows, _ = _read(chosen)
    cells = {name: [None if cell is None or cell != cell else cell for cell in chosen[name]] for name in chosen.columns}
    theirs, again, _ = _read(polars.DataFrame(cells))
    assert {n: (c.family, c.levels) for n, c in ours.items()} == {n: (c.family, c.levels) for n, c in theirs.items()}
    np.testing.assert_array_equal(rows, again)


def test_arrays_are_read_by_their_cells(rng):
    array = np.column_stack([rng.normal(size=80), rng.poisson(1.0, 80), rng.integers(0, 2, 80)])
    columns, _, table = _read(array)
    assert [column.family for column in columns.values()] == ["gaussian", "poisson", "categorical"]
    assert table.read_new(array[:2]).shape == (2, 3)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"nose": "gaussian"}, "no column 'nose'"),
        ({40: "gaussian"}, "no column number 40"),
        ({"height": "gauss"}, "gauss"),
        (["gaussian"], "lists 1 families"),
        ("gaussian", "must be a dict"),
        ({"sex": "gaussian"}, "column 'sex' must hold numbers, got '(fe)?male'"),
        ({"height": Table()}, "cannot be a column"),
    ],
)
def test_mistakes_are_one_sentence(frame, columns, says):
    with pytest.raises(ValueError, match=says) as caught:
        Table(columns).read(frame)
    assert "\n" not in str(caught.value)


def test_infinity_and_missing_columns_are_refused(frame):
    bad = frame[["height", "weight"]].copy()
    bad.loc[3, "height"] = np.inf
    with pytest.raises(ValueError, match="column 'height' holds infinity"):
        Table().read(bad)
    _, _, table = _read(frame[["height", "weight"]])
    with pytest.raises(ValueError, match="no column 'weight'"):
        table.read_new(frame[["height"]])
    with pytest.raises(ValueError, match="no column is left"):
        Table().read(frame[["name", "country"]])


def test_a_table_that_was_read_reads_more_of_the_kind(frame):
    table, rows = Table().read(frame)
    again, same = table.read(frame)
    assert again == table
    np.testing.assert_array_equal(rows, same)
    shuffled = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(table.read_new(shuffled), rows)


def test_codes_that_begin_with_zero_are_told_from_counts(rng):
    counts = rng.poisson(np.repeat([0.4, 2.0], 100)).clip(max=10)
    overdispersed = rng.poisson(rng.gamma(0.5, 2.0, 300)).clip(max=10)
    grades = rng.binomial(4, 0.5, 300)  # variance 1, mean 2: no mixture of Poisson laws varies so little
    codes = rng.choice(3, 300, p=[0.48, 0.04, 0.48])
    assert [are_codes(values.astype(float)) for values in (counts, overdispersed, grades, codes)] == [0, 0, 1, 1]


def test_counts_from_zero_are_hardly_ever_taken_for_codes(rng):
    cases = [(rate, size) for rate in (0.5, 1.0, 3.0) for size in (30, 300, 3000) * 20]
    columns = [rng.poisson(rate, size).astype(float) for rate, size in cases]
    taken = [are_codes(values) for values in columns if values.min() == 0 and len(np.unique(values)) > 2]
    assert sum(taken) <= 3
