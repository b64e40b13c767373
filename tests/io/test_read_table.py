"""Tables in, whole files out: each mistake is one sentence that says what to do."""

from __future__ import annotations

import datetime
import decimal
import os
import sys

import numpy as np
import pandas as pd
import pytest

import countless as cl
from countless.io import check_folder, read_table, write_together, write_whole

# Name of the file, its bytes, and what the sentence must say.
MISTAKES = {
    "empty": ("a.csv", b"", "is empty"),
    "blank": ("a.csv", b"\n \n\n", "is empty"),
    "header only": ("a.csv", b"x,y\n", "holds a header and no rows"),
    "long row": ("a.csv", b"x,y\n1,2\n3,4,5\n", "line 3 has 3 cells and the header 2 cells"),
    "short row": ("a.csv", b"x,y\n1,2\n3\n", "line 3 has 1 cell and the header 2 cells"),
    "all rows too long": ("a.csv", b"x\n1,2\n3,4\n", "line 2 has 2 cells and the header 1 cell"),
    "Latin-1": ("a.csv", "größe\n1\n".encode("latin-1"), r"is not UTF-8 text \(byte 2 is 0xf6\); save it as UTF-8"),
    "binary": ("a.csv", b"x\x00y\n1\n", "is not a text file"),
    "same name twice": ("a.csv", b"x,x\n1,2\n", "two columns are called 'x'"),
    "no name": ("a.csv", b",x\n0,2\n", "column 1 has no name"),
    "infinity": ("a.csv", b"x\n1\ninf\n", "column 'x' has 1 infinite cell"),
    "open quote": ("a.csv", b'x,y\n1,"2\n3,4\n', "line 3"),
    "no names": ("a.csv", b"1.5,2\n3,4\n", "the first line holds numbers"),
}

# The same where only numbers are wanted.
NOT_NUMBERS = {
    "text": ("a.csv", b"x,who\n1,Ada\n2,Jan\n", r"column 'who' holds text \(such as 'Ada'\).*--ignore"),
    "texts": ("a.csv", b"a,b,x\np,q,1\n", "columns 'a', 'b' hold text"),
    "one word among numbers": ("a.csv", b"x\n1\nunknown\n3\n", r"column 'x' holds text \(such as 'unknown'\)"),
    "missing cells": ("a.csv", b"x,y\n1,2\n,3\n,4\n", r"column 'x' has 2 empty cells \(first in row 2 of 3\)"),
    "one missing cell": ("a.csv", b"x,y\n1,2\n3,NA\n", r"column 'y' has 1 empty cell \(first in row 2"),
}


@pytest.mark.parametrize("numbers_only", [False, True])
@pytest.mark.parametrize("mistake", [*MISTAKES, *NOT_NUMBERS])
def test_a_mistake_is_one_sentence(tmp_path, mistake, numbers_only):
    name, content, says = {**MISTAKES, **NOT_NUMBERS}[mistake]
    path = tmp_path / name
    path.write_bytes(content)
    if mistake in NOT_NUMBERS and not numbers_only:
        assert len(read_table(path)) > 0
        return
    with pytest.raises(ValueError, match=says) as caught:
        read_table(path, numbers_only=numbers_only)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_and_a_folder(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="is a folder; give the path of a CSV file"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "x,y\n1,2\n3,4.5\n"),
        ("a.csv", "x;y\n1;2\n3;4.5\n"),
        ("a.tsv", "x\ty\n1\t2\n3\t4.5\n"),
        ("a.txt", "x\ty\n1\t2\n3\t4.5\n"),
        ("a.csv", "\ufeffx, y\r\n1,2\r\n\r\n3,4.5\r\n"),
        ("a.csv", '"x","y"\n"1","2"\n3,4.5'),
    ],
    ids=["comma", "semicolon", "tsv", "tab by sight", "Excel", "quotes"],
)
def test_ways_to_write_the_same_table(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content.encode())
    table = read_table(path, numbers_only=True)
    assert table.columns.tolist() == ["x", "y"]
    np.testing.assert_array_equal(table.to_numpy(), [[1.0, 2.0], [3.0, 4.5]])
    assert (table.dtypes == np.float64).all()
    assert read_table(path).dtypes.tolist() == [np.int64, np.float64]


def test_columns_are_chosen_and_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("name,x,y,z\nAda,1,,3\nJan,4,5,6\n")
    assert read_table(path, ["z", "x"]).columns.tolist() == ["z", "x"]
    assert read_table(path, ignore=["name", "y"]).columns.tolist() == ["x", "z"]
    with pytest.raises(ValueError, match="has no column 'w'; it has 'name', 'x', 'y', 'z'"):
        read_table(path, ["w"])
    with pytest.raises(ValueError, match="has no column 'w'"):
        read_table(path, ignore=["w"])
    with pytest.raises(ValueError, match="no column is left to cluster"):
        read_table(path, ["x"], ["x"])


def test_numbered_names_of_pandas_and_truth_values_are_fine(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("0,1\n1.5,True\n2.5,False\n")
    np.testing.assert_array_equal(read_table(path, numbers_only=True).to_numpy(), [[1.5, 1.0], [2.5, 0.0]])


MIXED = """id,height, age,colour,member,since,grade,note,empty
a1,1.65,30,red,True,2020-01-31,3,long text,
a2,?,41,green,false,2021-02-01,1,NA,-
a3,1.80, ,N/A,,null,2,"with, comma",n/a
a4,-,52, red ,TRUE,2019-12-24,2,?,NaN
"""


def test_mixed_columns_keep_their_types(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(MIXED)
    table = read_table(path)
    assert table["height"].tolist()[::2] == [1.65, 1.8]
    assert table["height"].isna().tolist() == [False, True, False, True]
    assert table["age"].dtype == np.float64
    assert table["age"].dropna().tolist() == [30, 41, 52]
    assert table["grade"].dtype == np.int64
    assert table["colour"].dropna().tolist() == ["red", "green", "red"]
    assert table["member"].dropna().tolist() == [True, False, True]
    assert pd.api.types.is_bool_dtype(table["member"].dropna())
    assert table["since"].dt.year.dropna().tolist() == [2020, 2021, 2019]
    assert table["note"].dropna().tolist() == ["long text", "with, comma"]
    assert table["id"].tolist() == ["a1", "a2", "a3", "a4"]
    assert table["empty"].isna().all()
    assert table.isna().sum().sum() == 12
    assert cl.families.Table().read(table)[1].shape[0] == 4


def test_other_markers_and_words_among_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "\n".join(f"{i}.5,{i}" for i in range(99)) + "\nunknown,none\n")
    with pytest.warns(
        UserWarning, match=r"column '[xy]' holds numbers but for 1 cell with '\w+', which count as missing"
    ):
        table = read_table(path)
    assert table.isna().sum().tolist() == [1, 1]
    table = read_table(path, missing=["unknown", "None"])
    assert table.isna().sum().tolist() == [1, 1]
    path.write_text("x\n1\n2\nthree\n4\n")
    assert read_table(path)["x"].tolist() == ["1", "2", "three", "4"]


def test_decimal_commas_where_columns_are_separated_by_semicolons(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y;z\n1,5;a,b;1\n-2,25;c;2\n")
    table = read_table(path)
    assert table["x"].tolist() == [1.5, -2.25]
    assert table["y"].tolist() == ["a,b", "c"]
    assert table["z"].dtype == np.int64


def test_what_looks_like_a_date_and_is_none(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n2020-13-45,2020-01-01T10:00\n2020-01-01,2020-06-01 12:30:15\n")
    table = read_table(path)
    assert table["x"].tolist() == ["2020-13-45", "2020-01-01"]
    assert table["y"].dt.hour.tolist() == [10, 12]


# --- Parquet and Feather -------------------------------------------------------------------------------------


def _frame():
    return pd.DataFrame(
        {
            "height": [1.5, None, 1.7],
            "count": [1, 2, 3],
            "holes": pd.array([1, None, 3], dtype="Int64"),
            "member": [True, None, False],
            "colour": pd.Categorical(["red", None, "blue"]),
            "name": ["a", "b", None],
            "day": [datetime.date(2020, 1, 2), None, datetime.date(2021, 3, 4)],
            "when": pd.to_datetime(["2020-01-02 03:04", None, "2021-05-06 00:00"]),
            "price": [decimal.Decimal("1.25"), None, decimal.Decimal("2.50")],
        },
        index=[5, 6, 7],
    )


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "table"])
def test_parquet_and_feather(tmp_path, name):
    """The third has no suffix: its first bytes say what it is."""
    pytest.importorskip("pyarrow")
    path = tmp_path / name
    if name == "a.feather":
        _frame().reset_index(drop=True).to_feather(path)
    else:
        _frame().to_parquet(path)
    table = read_table(path)
    assert table.columns.tolist() == _frame().columns.tolist()
    assert table.index.tolist() == [0, 1, 2]
    assert table["count"].dtype == np.int64
    assert table["holes"].dropna().tolist() == [1, 3]
    assert table["member"].dropna().tolist() == [True, False]
    assert pd.api.types.is_bool_dtype(table["member"].dropna())
    assert isinstance(table["colour"].dtype, pd.CategoricalDtype)
    assert table["day"].dt.day.dropna().tolist() == [2, 4]
    assert table["price"].dropna().tolist() == [1.25, 2.5]
    assert table["price"].dtype == np.float64
    assert (table.isna().sum() == [1, 0, 1, 1, 1, 1, 1, 1, 1]).all()
    assert read_table(path, ["price", "count"]).columns.tolist() == ["price", "count"]
    assert (read_table(path, ["count"], numbers_only=True).dtypes == np.float64).all()
    with pytest.raises(ValueError, match="column 'name' holds text"):
        read_table(path, ["name"], numbers_only=True)
    with pytest.raises(ValueError, match="has no column 'w'"):
        read_table(path, ["w"])


def test_damaged_and_odd_parquet_files_are_one_sentence(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(ValueError, match="cannot be read as Parquet") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
    pd.DataFrame({"x": [[1, 2], [3]]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"column 'x' holds list<.*>; save numbers, text, dates or truth values"):
        read_table(path)
    pd.DataFrame({"x": []}).to_parquet(path)
    with pytest.raises(ValueError, match="holds column names and no rows"):
        read_table(path)
    pd.DataFrame({"x": [1.0, np.inf]}).to_parquet(path)
    with pytest.raises(ValueError, match="column 'x' has 1 infinite cell"):
        read_table(path)


def test_without_pyarrow_the_sentence_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"is a Parquet file, which pyarrow reads: pip install 'countless\[parquet\]'"):
        read_table(path)


# --- writing --------------------------------------------------------------------------------------------------


def test_files_are_written_whole(tmp_path):
    path = write_whole(tmp_path / "new" / "folder" / "a.txt", "größe")
    assert path.read_text(encoding="utf-8") == "größe"
    write_whole(path, b"again")
    assert path.read_bytes() == b"again"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("below", ["file", "file/deeper", "file/deeper/still"])
def test_a_folder_below_a_file_cannot_be_written(tmp_path, below):
    (tmp_path / "file").write_text("here first")
    with pytest.raises(ValueError, match="is not a folder"):
        check_folder(tmp_path / below)
    with pytest.raises(ValueError, match="is not a folder"):
        write_whole(tmp_path / below / "a.txt", "x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ValueError, match="no permission"):
            write_whole(tmp_path / "new" / "a.txt", "x")
    finally:
        tmp_path.chmod(0o700)


def test_several_files_or_none(tmp_path, monkeypatch):
    """The second file cannot be staged: the first must not appear, nor the folder."""

    def full(handle):
        if any(tmp_path.rglob("*.tmp")) and calls:
            raise OSError(28, "No space left on device")
        calls.append(handle)

    calls: list[int] = []
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ValueError, match=r"cannot write into .*: No space left on device"):
        write_together(tmp_path / "out" / "deep", {"a": "1", "b": "2"})
    assert len(calls) == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_in_the_place_of_a_file(tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        write_together(tmp_path, {"a": "1", "b": "2"})
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]
