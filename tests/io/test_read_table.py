"""Tables in, whole files out: each mistake is one sentence that says what to do."""

from __future__ import annotations

import os

import numpy as np
import pytest

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
    "UTF-16": ("a.csv", "x\n1\n".encode("utf-16"), "is not UTF-8 text"),
    "binary": ("a.csv", b"x\x00y\n1\n", "is not a text file"),
    "same name twice": ("a.csv", b"x,x\n1,2\n", "two columns are called 'x'"),
    "no name": ("a.csv", b",x\n0,2\n", "column 1 has no name"),
    "no names": ("a.csv", b"1.5,2\n3,4\n", "the first line holds numbers"),
    "text": ("a.csv", b"x,who\n1,Ada\n2,Jan\n", r"column 'who' holds text \(such as 'Ada'\).*--ignore"),
    "texts": ("a.csv", b"a,b,x\np,q,1\n", "columns 'a', 'b' hold text"),
    "one word among numbers": ("a.csv", b"x\n1\nunknown\n3\n", r"column 'x' holds text \(such as 'unknown'\)"),
    "missing cells": ("a.csv", b"x,y\n1,2\n,3\n,4\n", r"column 'x' has 2 empty cells \(first in row 2; 2 of 3 rows"),
    "one missing cell": ("a.csv", b"x,y\n1,2\n3,NA\n", r"column 'y' has 1 empty cell \(first in row 2"),
    "infinity": ("a.csv", b"x\n1\ninf\n", "column 'x' has 1 infinite cell"),
    "open quote": ("a.csv", b'x,y\n1,"2\n3,4\n', "line 3"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(tmp_path, mistake):
    name, content, says = MISTAKES[mistake]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says) as caught:
        read_table(path)
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
    table = read_table(path)
    assert table.columns.tolist() == ["x", "y"]
    np.testing.assert_array_equal(table.to_numpy(), [[1.0, 2.0], [3.0, 4.5]])
    assert (table.dtypes == np.float64).all()


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
    np.testing.assert_array_equal(read_table(path).to_numpy(), [[1.5, 1.0], [2.5, 0.0]])


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
