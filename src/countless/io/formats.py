"""What is in a file, by its first bytes: text, compressed text, Excel, JSON, or something that is no table."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# First bytes of files that hold no table that could be read here, what they are, and what helps.
STRANGE = {
    b"%PDF": ("a PDF file", "copy the table into a spreadsheet and save it as CSV"),
    b"\xd0\xcf\x11\xe0": ("an old Excel file (.xls)", "save it as .xlsx or CSV"),
    b"SQLite format 3": ("a SQLite database", "export the table as CSV"),
    b"\x93NUMPY": ("a NumPy array", "load it in Python and fit it there"),
    b"\x89HDF": ("an HDF5 file", "export the table as CSV or Parquet"),
    b"\x89PNG": ("a picture", "give a table"),
    b"\xff\xd8\xff": ("a picture", "give a table"),
    b"$FL2": ("an SPSS file", "export it as CSV"),
    b"<stata_dta>": ("a Stata file", "export it as CSV"),
    b"<!DOCTYPE": ("a web page", "save the table itself as CSV"),
    b"<html": ("a web page", "save the table itself as CSV"),
    **{bytes([0x80, n]): ("a Python pickle", "load it in Python and fit it there") for n in range(2, 6)},
    b"RDX": ("an R file", "export the table as CSV"),
    b"X\n": ("an R file", "export the table as CSV"),
    b"MATLAB": ("a MATLAB file", "export the table as CSV"),
    b"{\\rtf": ("a text document", "copy the table into a spreadsheet and save it as CSV"),
}
UNPACKERS = {
    b"\x1f\x8b": ("gzip", gzip.decompress),
    b"BZh": ("bzip2", bz2.decompress),
    b"\xfd7zXZ": ("xz", lzma.decompress),
}
ZIP = b"PK\x03\x04"
# Files in other zip files, what these are, and what helps.
DOCUMENTS = {
    "word/document.xml": ("a Word document", "copy the table into a spreadsheet and save it as CSV"),
    "content.xml": ("an OpenDocument file", "save the table as .xlsx or CSV"),
}
MARKS_OF_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def content(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is compressed; ValueError, in one sentence, where that cannot be."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    for beginning, (name, unpack) in UNPACKERS.items():
        if found.startswith(beginning):
            try:
                found = unpack(found)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
                raise ValueError(f"{path} is a {name} file that is damaged or not whole; copy it again") from None
    return _only_member(path, found) if found.startswith(ZIP) and not is_excel(found) else found


class _Strange(ValueError):
    """A file that is whole and holds no table."""


def _only_member(path: Path, packed: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
            if len(names) == 1:
                return archive.read(names[0])
            for name, (kind, advice) in DOCUMENTS.items():
                if name in names:
                    raise _Strange(f"{path} is {kind}, not a table; {advice}")
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, zlib.error):
        raise ValueError(f"{path} is a zip file that is damaged, encrypted or not whole; unpack it first") from None
    raise ValueError(f"{path} is a zip file with {len(names)} files; unpack it and give one of them")


def is_excel(found: bytes) -> bool:
    """Whether these are the bytes of an Excel workbook."""
    if not found.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(found)) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def read_excel(path: Path, found: bytes) -> pd.DataFrame:
    """The first sheet of a workbook, with names of the columns in its first row."""
    import pandas as pd

    try:
        table = pd.read_excel(io.BytesIO(found))
    except ImportError:
        raise ValueError(
            f"{path} is an Excel file, which openpyxl reads: pip install 'countless[excel]', or save it as CSV"
        ) from None
    except Exception as error:  # whatever a damaged workbook makes openpyxl raise
        raise ValueError(f"{path} cannot be read as Excel: {' '.join(str(error).split())[:200]}") from None
    return table.dropna(how="all").dropna(how="all", axis=1).reset_index(drop=True).infer_objects()


def is_json(found: bytes) -> bool:
    """Whether the first line is a JSON object, or this is a list of them."""
    start = found.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"["):
        return start[1:].lstrip().startswith(b"{")
    first = start.split(b"\n", 1)[0].strip()
    if not first.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except ValueError:
        return False


def read_json(path: Path, found: bytes) -> pd.DataFrame:
    """One object per line, or a list of objects; keys that an object lacks are missing cells."""
    import pandas as pd

    text = found.decode("utf-8-sig", errors="replace").strip()
    if text.startswith("["):
        objects = [(f"entry {number}", each) for number, each in enumerate(_parsed(path, "the list", text), start=1)]
    else:
        lines = [(f"line {number}", line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        objects = [(place, _parsed(path, place, line)) for place, line in lines]
    for place, each in objects:
        if not isinstance(each, dict) or any(isinstance(cell, (dict, list)) for cell in each.values()):
            raise ValueError(f"{path}: {place} must be one object of numbers, text and truth values")
    return pd.DataFrame([each for _, each in objects])


def _parsed(path: Path, place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path}: {place} is no JSON: {error}") from None


def decoded(path: Path, found: bytes) -> str:
    """Bytes as text; ValueError says what kind of file it is, where it is none, and what to do."""
    for beginning, (kind, advice) in STRANGE.items():
        if found.startswith(beginning):
            raise ValueError(f"{path} is {kind}, not a table; {advice}")
    try:
        text = found.decode("utf-16" if found.startswith(MARKS_OF_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 text (byte {error.start} is {error.object[error.start]:#04x}); save it as UTF-8 "
            "('CSV UTF-8' in spreadsheets)"
        ) from None
    if "\0" in text:
        raise ValueError(f"{path} is not a text file; save the table as CSV")
    if not text.strip():
        raise ValueError(f"{path} is empty")
    return text
