"""Tables in other files than CSV: the same rows from each, and one sentence where a file is none."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from countless.io import read_table

TABLE = pd.DataFrame({"size": [1.5, np.nan, 3.0], "kind": ["a", "b", "a"], "n": [1, 2, -999]})
TEXT = TABLE.to_csv(index=False).encode()


def _zip(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, held in members.items():
            archive.writestr(name, held)
    return packed.getvalue()


def _excel() -> bytes:
    pytest.importorskip("openpyxl")
    packed = io.BytesIO()
    TABLE.to_excel(packed, index=False)
    return packed.getvalue()


FILES = {
    "t.csv.gz": lambda: gzip.compress(TEXT),
    "t.csv.bz2": lambda: bz2.compress(TEXT),
    "t.csv.xz": lambda: lzma.compress(TEXT),
    "t.zip": lambda: _zip(t=TEXT),
    "t.xlsx": _excel,
    "no-suffix": _excel,
    "t.jsonl": lambda: TABLE.to_json(orient="records", lines=True).encode(),
    "t.json": lambda: TABLE.to_json(orient="records", indent=2).encode(),
    "utf16.csv": lambda: TEXT.decode().encode("utf-16"),
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_gives_the_same_rows(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name]())
    table = read_table(tmp_path / name)
    pd.testing.assert_frame_equal(table, TABLE, check_dtype=False)
    assert read_table(tmp_path / name, missing=["-999"])["n"].isna().tolist() == [False, False, True]
    assert list(read_table(tmp_path / name, columns=["n", "size"])) == ["n", "size"]


MISTAKES = {
    "a zip of two": (lambda: _zip(a=TEXT, b=TEXT), "is a zip file with 2 files; unpack it"),
    "half of a gzip": (lambda: gzip.compress(TEXT * 99)[:80], "is a gzip file that is damaged or not whole"),
    "half of a zip": (lambda: _zip(a=TEXT * 99)[:200], "is a zip file that is damaged"),
    "a damaged workbook": (lambda: _zip(**{"xl/workbook.xml": b"<nothing/>"}), "cannot be read as Excel"),
    "an old workbook": (lambda: b"\xd0\xcf\x11\xe0" + bytes(99), r"is an old Excel file \(.xls\).*save it as .xlsx"),
    "a PDF": (lambda: b"%PDF-1.7 ...", "is a PDF file"),
    "a web page": (lambda: b"<!DOCTYPE html><p>no</p>", "is a web page"),
    "nested JSON": (lambda: json.dumps({"a": [1]}).encode(), "line 1 must be one object of numbers, text"),
    "JSON that ends": (lambda: b'{"a": 1}\n{"a": ', "line 2 is no JSON"),
    "half of a list": (lambda: b'[{"a": 1}, {"a": ', "the list is no JSON"),
    "a list in a list": (lambda: b'[{"a": 1}, [2]]', "entry 2 must be one object of numbers, text"),
    "a Word document": (lambda: _zip(**{"word/document.xml": b"", "x": b""}), "is a Word document, not a table; copy"),
    "a spreadsheet": (lambda: _zip(**{"content.xml": b"", "mimetype": b""}), "is an OpenDocument file.* as .xlsx or"),
    "a pickle": (lambda: b"\x80\x04\x95", "is a Python pickle, not a table; load it in Python"),
    "nothing": (lambda: b" \n", "is empty"),
    "Latin-1": (lambda: "größe\n1\n".encode("latin-1"), "is not UTF-8 text.*'CSV UTF-8' in spreadsheets"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_other_files_are_named_in_one_sentence(tmp_path, mistake):
    make, says = MISTAKES[mistake]
    path = tmp_path / "t"
    path.write_bytes(make())
    with pytest.raises(ValueError, match=says) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_without_openpyxl_the_sentence_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    path.write_bytes(_excel())
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"pip install 'countless\[excel\]'"):
        read_table(path)
