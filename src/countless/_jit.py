"""@kernel: the one place that compiles. Numba, released GIL, an on-disk cache that is never stale.

Numba stamps a cached function with its own file only, so an edit to a family would leave an engine that
was compiled with the old family in place. Here the cache lives in a folder named after a hash of all
package sources, and its keys carry the sources of any family that a user defined elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching

Function = TypeVar("Function", bound=Callable[..., Any])

# NaN and infinity keep their meaning: -inf is a legal log weight.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": FASTMATH,
    "no_cfunc_wrapper": True,
}

PACKAGE = Path(__file__).resolve().parent


@cache
def source_stamp(root: Path = PACKAGE) -> str:
    """Hash of every source file of the package: a change anywhere makes every kernel compile again."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    chosen = os.environ.get("COUNTLESS_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen) / "countless"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "countless" / "kernels"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "countless"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "countless"


@cache
def cache_directory() -> Path | None:
    """The writable folder for compiled kernels, or None where nothing can be written."""
    with contextlib.suppress(OSError, RuntimeError):
        path = _cache_root() / source_stamp()
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=path):
            return path
    return None


class _Locator(caching._CacheLocator):
    def __init__(self, py_func: Callable[..., Any], py_file: str, path: Path) -> None:
        self._py_file = py_file
        self._line = py_func.__code__.co_firstlineno
        self._module = py_func.__module__
        self._path = path

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return source_stamp()

    def get_disambiguator(self) -> str:
        # Two modules may define kernels of one name on one line.
        return f"{self._line}-{hashlib.sha256(self._module.encode()).hexdigest()[:8]}"

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator | None:
        path = cache_directory()
        return None if path is None else cls(py_func, py_file, path)


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


def _named_tuples(signature: Any) -> Iterator[type]:
    """NamedTuple classes among the argument types of a kernel: the families that it is compiled for."""
    for numba_type in signature:
        cls = getattr(numba_type, "instance_class", None)
        if cls is not None:
            yield cls
            yield from _named_tuples(numba_type.types)  # a table holds families


def _source_of(definition: Any) -> bytes:
    try:
        return Path(inspect.getfile(definition)).read_bytes()
    except (
        OSError,
        TypeError,
    ):  # an interactive session: what has no file cannot be told from its next version
        return os.urandom(16)


class _KernelCache(caching.FunctionCache):
    """Numba's cache with plain-text keys, so that reading an index never imports anything."""

    _impl_class = _Implementation

    def _index_key(self, sig: Any, codegen: Any) -> str:
        digest = hashlib.sha256(repr((str(sig), codegen.magic_tuple())).encode())
        for source in (self._py_func, *_named_tuples(sig)):
            digest.update(f"{source.__module__}.{source.__qualname__}".encode())
            if not source.__module__.startswith("countless."):
                digest.update(_source_of(source))
        return digest.hexdigest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # A damaged or foreign file costs a compilation, never an error.
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(Exception):
            super().save_overload(sig, data)


def kernel(function: Function) -> Function:
    """Compile ``function`` on first use and keep the machine code for later processes.

    With ``NUMBA_DISABLE_JIT=1`` the function is returned as it is and runs as its own reference.

    Examples
    --------
    >>> from countless.families import kernel
    >>> @kernel
    ... def half(x):
    ...     return 0.5 * x
    >>> half(3.0)
    1.5
    """
    compiled = numba.njit(**OPTIONS)(function)
    if hasattr(compiled, "_cache") and cache_directory() is not None:
        compiled._cache = _KernelCache(function)
    return compiled
