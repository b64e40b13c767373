"""@kernel and @inner_kernel: the one place that compiles. Numba, released GIL, an on-disk cache that is never stale.

Numba stamps a cached function with its own file only, so that an edit to a family would leave an engine in place that
was compiled with the old family. Here a kernel is stamped with the sources that it can reach: its own file, those of
the families in its arguments (wherever they were defined), and all that these import. An edit elsewhere compiles
nothing again.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching

from .linking import InnerKernel, Kernel

Function = TypeVar("Function", bound=Callable[..., Any])

# NaN and infinity keep their meaning: -inf is a legal log weight.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": FASTMATH,
    "no_cfunc_wrapper": True,
}

PACKAGE = Path(__file__).resolve().parents[1]
# Where else the code of a kernel comes from: functions from a type among its arguments to names of modules.
SOURCES_OF: list[Callable[[type], Iterable[str]]] = []


def source_stamp(modules: Iterable[str], root: Path = PACKAGE) -> str:
    """Hash of the sources of some modules of the package and of all that they import from it."""
    digest = hashlib.sha256()
    for name in sorted(reachable(frozenset(modules), root)):
        digest.update(name.encode())
        digest.update(_file(name, root).read_bytes())
    return digest.hexdigest()[:16]


@cache
def reachable(modules: frozenset[str], root: Path = PACKAGE) -> frozenset[str]:
    """Modules of the package, themselves among them, whose code some of its modules can use."""
    found: set[str] = set()
    waiting = [name for name in modules if _file(name, root).is_file()]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imports(name, root))
    return frozenset(found)


def _file(module: str, root: Path) -> Path:
    path = root.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _imports(module: str, root: Path) -> tuple[str, ...]:
    """Modules of the package that a module imports at its top level; kernels see no others."""
    path = _file(module, root)
    here = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found = []
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            name = ".".join([*base, *(node.module.split(".") if node.module else [])])
            if name.split(".")[0] == here[0]:
                parts = [f"{name}.{alias.name}" for alias in node.names]
                inside = [part for part in parts if _file(part, root).is_file()]
                found += inside if len(inside) == len(parts) else [*inside, name]
    return tuple(found)


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
        path = _cache_root() / "kernels"
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=path):
            return path
    return None


class _Locator(caching._CacheLocator):
    def __init__(self, py_func: Callable[..., Any], py_file: str, path: Path) -> None:
        self._py_file = py_file
        self._module = py_func.__module__
        self._path = path

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return source_stamp([self._module])

    def get_disambiguator(self) -> str:
        # Two modules may define kernels of one name.
        return hashlib.sha256(self._module.encode()).hexdigest()[:8]

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
        types = sorted(set(_named_tuples(sig)), key=lambda cls: (cls.__module__, cls.__qualname__))
        modules = [cls.__module__ for cls in types]
        modules += [module for cls in types for source in SOURCES_OF for module in source(cls)]
        digest.update(source_stamp(modules).encode())
        digest.update(str(self._py_func.__code__.co_firstlineno).encode())
        for source in (self._py_func, *types):
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


# --- decorators ----------------------------------------------------------------------------------------------


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
    return _compiled(Kernel, function, OPTIONS)


def inner_kernel(function: Function) -> Function:
    """``kernel`` that only kernels call: it becomes a part of each of them, which takes less time to compile.

    Examples
    --------
    >>> from countless.families import inner_kernel, kernel
    >>> @inner_kernel
    ... def half(x):
    ...     return 0.5 * x
    >>> @kernel
    ... def quarter(x):
    ...     return half(half(x))
    >>> quarter(3.0)
    0.75
    """
    return _compiled(InnerKernel, function, {**OPTIONS, "no_cpython_wrapper": True})


def exact_kernel(function: Function) -> Function:
    """``kernel`` whose arithmetic is done in the order in which it is written, where rounding depends on it."""
    return _compiled(Kernel, function, {**OPTIONS, "fastmath": False})


def _compiled(dispatcher: type[Kernel | InnerKernel], function: Function, options: dict[str, Any]) -> Function:
    if numba.config.DISABLE_JIT:
        return function
    compiled: Any = dispatcher(function, targetoptions={**options, "nopython": True, "boundscheck": None})
    if dispatcher is Kernel and cache_directory() is not None:
        compiled._cache = _KernelCache(function)
    return compiled
