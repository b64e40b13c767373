"""The files of a run: JSON, or a zip of arrays (npz) with JSON beside them. Whole or absent, checked when read.

Every file says what it is (``format``, ``version``, ``part``) and carries a SHA-256 of all that it holds. Reading
trusts nothing: no array is made before its size is compared with what the archive holds, headers are matched against
one pattern and never evaluated, objects are refused, and whatever is wrong is one ValueError that names the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from ..core.errors import NotRegistered
from ..core.files import write_through

FORMAT, VERSION = "countless-run", 2
ABOUT = "about.json"
# Deflate cannot shrink more than this: an archive that says so lies.
LARGEST_RATIO = 1100
# Bytes of JSON, of one header of an array, and files of one archive.
LONGEST_JSON, LONGEST_HEADER, MOST_MEMBERS = 1 << 28, 1 << 12, 10_000
HEADER = re.compile(
    r"\{'descr': '(<f8|<f4|<i8|<i4|<i2|\|i1|\|u1|\|b1)', 'fortran_order': (False|True), "
    r"'shape': \((|\d{1,15},|\d{1,15}(?:, \d{1,15})+)\), \} *\n"
)
# Other characters of a name are quoted as in the address of a page.
MEMBER = re.compile(r"(?!.*\.\.)[A-Za-z0-9_%][A-Za-z0-9_./%~-]{0,999}")

Arrays = Mapping[str, NDArray[Any]]


class Unreadable(ValueError):
    """A file that is no part of a run, or a damaged one; the message is one sentence that names it."""


def write_json(path: Path, part: str, about: Mapping[str, Any]) -> None:
    """Write a JSON file that describes itself."""
    content = _sealed(part, about, {})
    write_through(path, lambda file: file.write((json.dumps(content, indent=1, allow_nan=False) + "\n").encode()))


def read_json(path: Path, part: str) -> dict[str, Any]:
    """What ``write_json`` wrote."""
    with _complaints(path):
        if path.stat().st_size > LONGEST_JSON:
            raise Unreadable(f"{path} is not a run of countless")
        about = _parse(path, path.read_bytes())
        _check_kind(path, part, about)
        _check_seal(path, about, {})
        return about


def write_arrays(path: Path, part: str, about: Mapping[str, Any], arrays: Arrays) -> None:
    """Write named arrays with JSON beside them: an npz that NumPy can open too."""
    # ascontiguousarray would give a single number an axis.
    arrays = {name: np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C") for name, array in arrays.items()}
    content = _sealed(part, about, arrays)

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            with archive.open(ABOUT, "w") as member:  # members have no date: the same content gives the same bytes
                member.write(json.dumps(content, allow_nan=False).encode())
            for name, array in arrays.items():
                with archive.open(f"{quote(name)}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, _packed(array), version=(1, 0), allow_pickle=False)

    write_through(path, write)


def read_arrays(path: Path, part: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What ``write_arrays`` wrote."""
    with _complaints(path):
        if not zipfile.is_zipfile(path):
            raise Unreadable(f"{path} is not a run of countless, or only a piece of one")
        with zipfile.ZipFile(path) as archive:
            members = _check_members(path, archive)
            about = _parse(path, archive.read(members.pop(ABOUT)))
            _check_kind(path, part, about)
            arrays = {name: _read_array(path, archive, info) for name, info in members.items()}
        _check_seal(path, about, arrays)
        return about, arrays


@contextlib.contextmanager
def _complaints(path: Path) -> Iterator[None]:
    """Whatever goes wrong while a file is read is the fault of the file, and one sentence."""
    try:
        yield
    except Unreadable:
        raise
    except FileNotFoundError:
        raise Unreadable(f"{path}: there is no such file") from None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or 'it is damaged'}") from None
    except MemoryError:
        raise Unreadable(f"{path} does not fit into memory") from None
    except Exception as error:
        raise Unreadable(f"{path} is damaged: {_one_line(error)}") from None


def damaged(path: Path, error: Exception) -> Unreadable:
    """The sentence for content that was read whole and makes no sense, or not here."""
    if isinstance(error, Unreadable):
        return error
    if isinstance(error, NotRegistered):
        return Unreadable(f"{path}: {error}")
    return Unreadable(f"{path} is damaged: {_one_line(error)}")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def _packed(array: NDArray[Any]) -> NDArray[Any]:
    """Labels with the draws of a row side by side, which are much alike: a tenth of the bytes when deflated."""
    return np.asfortranarray(array) if array.ndim > 1 and array.dtype.kind == "i" else array


def _sealed(part: str, about: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    content = {"format": FORMAT, "version": VERSION, "part": part, **about}
    return {**content, "sha256": _digest(content, arrays)}


def _digest(about: Mapping[str, Any], arrays: Arrays) -> str:
    content = {name: value for name, value in about.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.newbyteorder("<").str, list(array.shape)]).encode())
        digest.update(np.ascontiguousarray(array).data if array.size else b"")
    return digest.hexdigest()


def array_digest(arrays: Arrays) -> str:
    """SHA-256 of named arrays, e.g. to tell whether two tables are the same."""
    return _digest({}, arrays)


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number")

    try:
        about = json.loads(text.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise Unreadable(f"{path} is not a run of countless, or a damaged one: it is not JSON") from None
    if not isinstance(about, dict):
        raise Unreadable(f"{path} is not a run of countless")
    return about


def _check_kind(path: Path, part: str, about: Mapping[str, Any]) -> None:
    if about.get("format") != FORMAT:
        raise Unreadable(f"{path} is not a run of countless")
    version = about.get("version")
    if type(version) is int and version > VERSION:
        raise Unreadable(
            f"{path} was written by a newer countless (format {version}, this one reads up to {VERSION}); "
            "update countless to read it"
        )
    if type(version) is int and 0 < version < VERSION:
        raise Unreadable(
            f"{path} was written by an earlier countless (format {version}, this one reads format {VERSION}); "
            "fit the model again"
        )
    if type(version) is not int or version != VERSION:
        raise Unreadable(f"{path} is damaged: {version!r} is not a version of the format")
    if about.get("part") != part:
        raise Unreadable(f"{path} should be the part {part!r} of a run and says {about.get('part')!r}")


def _check_seal(path: Path, about: Mapping[str, Any], arrays: Arrays) -> None:
    if about.get("sha256") != _digest(about, arrays):
        raise Unreadable(f"{path} is damaged: its content does not match its checksum")


def _check_members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Members by the name of their array, if their sizes can be true and all of them fit into memory."""
    listed = archive.infolist()
    members: dict[str, zipfile.ZipInfo] = {}
    for info in listed:
        name = info.filename
        if not (name == ABOUT or name.endswith(".npy")) or not MEMBER.fullmatch(name) or info.flag_bits & 0x1:
            raise Unreadable(f"{path} is damaged, or not a run of countless: it holds {name!r}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unreadable(f"{path} is damaged: {name!r} is packed in a way that runs are not")
        if info.file_size > LARGEST_RATIO * info.compress_size + 1000:
            raise Unreadable(f"{path} is damaged: {name!r} cannot be as large as it claims")
        members[unquote(name.removesuffix(".npy"))] = info
    if ABOUT not in members:
        raise Unreadable(f"{path} is not a run of countless")
    total = sum(info.file_size for info in listed)
    if len(members) != len(listed) or len(listed) > MOST_MEMBERS or members[ABOUT].file_size > LONGEST_JSON:
        raise Unreadable(f"{path} is damaged: its list of contents makes no sense")
    if total > _memory():
        raise Unreadable(f"{path} needs {total / 1e9:.1f} GB, more than the memory of this machine")
    return members


def _memory() -> float:
    """Bytes of memory of this machine; where nobody knows, 16 GB."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return 16e9


def _read_array(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """One array; its header must be the one that NumPy writes for plain numbers."""
    wrong = Unreadable(f"{path} is damaged: {info.filename!r} is not an array of numbers of the size that it says")
    with archive.open(info) as member:
        start = member.read(10)
        length = int.from_bytes(start[8:10], "little")
        if start[:8] != b"\x93NUMPY\x01\x00" or length > LONGEST_HEADER:
            raise wrong
        found = HEADER.fullmatch(member.read(length).decode("latin-1"))
        if found is None:
            raise wrong
        dtype = np.dtype(found[1])
        shape = tuple(int(number) for number in re.findall(r"\d+", found[3]))
        size = math.prod(shape) * dtype.itemsize
        if size != info.file_size - 10 - length or len(shape) > 8:
            raise wrong
        content = bytearray(size)
        at = 0
        while at < size:
            block = member.read(min(size - at, 1 << 24))
            if not block:
                raise wrong
            content[at : at + len(block)] = block
            at += len(block)
        if member.read(1):  # at the end, where the checksum of the archive is compared
            raise wrong
    array = np.frombuffer(content, dtype=dtype.newbyteorder("="))
    return array.reshape(shape) if found[2] == "False" else np.ascontiguousarray(array.reshape(shape[::-1]).T)
