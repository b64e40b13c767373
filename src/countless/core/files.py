"""Files that are whole or absent: everything is written under a temporary name and then renamed."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

# Names of files that are still being written begin with this.
STAGE = ".countless-"


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file so that nobody ever sees half of it.

    The content goes to a temporary file in the same folder, which then takes the name. Folders on the way are
    made. What was there under that name is replaced.

    Parameters
    ----------
    path : path
    content : str or bytes
        Text is written as UTF-8.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        Where the folder cannot be written; nothing is left behind.

    References
    ----------
    POSIX.1-2017, rename(): a name refers to the old or the new file throughout.

    Examples
    --------
    >>> import tempfile
    >>> from countless.io import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(folder + "/a/b.txt", "seven").read_text()
    'seven'
    """
    path = Path(path)
    return write_together(path.parent, {path.name: content})[0]


def write_together(
    folder: str | os.PathLike[str], contents: Mapping[str, str | bytes], what: str = "folder"
) -> list[Path]:
    """Write several files into one folder: all of them are staged before the first takes its name.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    contents : mapping of name to str or bytes
    what : str
        How an error calls the folder, e.g. ``"--out"``.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> import tempfile
    >>> from countless.io import write_together
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_together(folder, {"a.txt": "1", "b.txt": "2"})]
    ['a.txt', 'b.txt']
    """
    folder = check_folder(folder, what)
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    staged: dict[Path, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            target = folder / name
            if target.is_dir():
                raise IsADirectoryError(f"{target} is a folder")
            staged[target] = _stage(folder, content)
        for target, temporary in staged.items():
            temporary.replace(target)
    except OSError as error:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)
        for place in made:
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()
        raise ValueError(f"{what}: cannot write into {folder}: {error.strerror or error}") from None
    return list(staged)


def check_folder(folder: str | os.PathLike[str], what: str = "folder") -> Path:
    """Raise ValueError, in one sentence, unless files can be written into ``folder``; makes nothing.

    Parameters
    ----------
    folder : path
        It may not exist yet: then it must be possible to make it.
    what : str
        How an error calls the folder.

    Returns
    -------
    Path

    Examples
    --------
    >>> from countless.io import check_folder
    >>> check_folder("results").name
    'results'
    """
    folder = Path(folder)
    nearest = folder
    while not os.path.lexists(nearest) and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        raise ValueError(f"{what}: cannot write into {folder}: {nearest} is not a folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ValueError(f"{what}: cannot write into {folder}: no permission to write in {nearest}")
    return folder


def write_through(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let ``write`` fill a file that has its name, and is on the disk, only when all of it is there.

    For content that is made while it is written. The folder exists; OSError goes to the caller.
    """
    temporary = _stage(path.parent, write)
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    # Files that refer to each other must not reach the disk in another order than they were written in.
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def clear_stages(folder: Path) -> None:
    """Remove what writers that were killed have left behind; nobody else may be writing."""
    for temporary in folder.glob(f"{STAGE}*.tmp"):
        temporary.unlink(missing_ok=True)


def _stage(folder: Path, content: str | bytes | Callable[[IO[bytes]], object]) -> Path:
    """Write to a temporary file; leaves nothing behind on failure."""
    temporary = folder / f"{STAGE}{uuid.uuid4().hex}.tmp"
    try:
        with temporary.open("xb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
