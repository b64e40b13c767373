"""Compiled functions of two kinds, those that Python calls and those that only kernels call, and a faster Numba.

Numba optimises every function that a kernel calls and makes machine code of it, and then does both again where it is a
part of its caller. What Python never calls needs no code of its own: inner kernels and the verbs of families are only
linked into the kernels that use them. Numba also compares sets of compiler flags ten thousand times in a first fit,
option by option. Without either, a first fit takes less than half of the time (``benchmarks/start_up.py``).

A kernel counts references to arrays only where it makes arrays (``references``).

All of this is done by replacing methods of Numba. Other code that uses Numba in the same process compiles as it did
before, and a Numba that has no such methods is left alone: it takes longer, with the same results.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import types
from numba.core import codegen, environment, targetconfig
from numba.core.registry import CPUDispatcher
from numba.core.typing.typeof import typeof_impl

from .references import without_counts

# How the function begins by which Python calls a kernel.
WRAPPER = "_ZN7cpython"

_here = threading.local()
_GENERATOR = types.NumPyRandomGeneratorType("a generator")
_defaults: dict[type, dict[str, Any]] = {}
_finalize: Any = getattr(codegen.JITCodeLibrary, "finalize", None)
_set_environment: Any = getattr(codegen.JITCPUCodegen, "set_env", None)


class _Collection:
    """Python's search for garbage, which finds none in a compilation and takes a tenth of its time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_compiling = 0
        self._was_on = False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Collect nothing until the last compilation that is under way, in any thread, has ended."""
        with self._lock:
            if not self._n_compiling:
                self._was_on = gc.isenabled()
                gc.disable()
            self._n_compiling += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_compiling -= 1
                if self._was_on and not self._n_compiling:
                    gc.enable()


_collection = _Collection()


class Kernel(CPUDispatcher):
    """A compiled function that Python calls."""

    def compile(self, sig: Any) -> Any:
        """Machine code for these types of arguments."""
        _here.depth = getattr(_here, "depth", 0) + 1
        try:
            with _collection.paused():
                return super().compile(sig)
        finally:
            _here.depth -= 1


class InnerKernel(CPUDispatcher):
    """A function that is compiled into the kernels that call it; Python runs it as it is written."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


def _finalize_or_link(library: Any) -> None:
    """Numba's ``finalize`` for what Python can call; of other code in a kernel, only put the parts together."""
    in_kernel = getattr(_here, "depth", 0) > 0
    called = any(function.name.startswith(WRAPPER) for function in library._final_module.functions)
    if in_kernel:
        _link(library)
    if called or not in_kernel:
        if in_kernel:
            _stop_counting(library)
        _finalize(library)
        _connect_environments(library)
        return
    library._final_module.verify()
    library._finalized = True


def _link(library: Any) -> None:
    """Put the parts of a library together."""
    library._raise_if_finalized()
    for other in dict.fromkeys(library._linking_libraries):
        if hasattr(other, "_reload_init"):  # newer versions of Numba
            library._reload_init.update(other._reload_init)
        library._final_module.link_in(other._get_module_for_linking(), preserve=True)
    library._linking_libraries.clear()


def _stop_counting(library: Any) -> None:
    """Let a kernel count references only where it makes arrays."""
    text = without_counts(str(library._final_module), WRAPPER)
    if text is None:
        return
    # A version of LLVM that writes its text in another way is left alone.
    with contextlib.suppress(RuntimeError):
        module = codegen.ll.parse_assembly(text)
        module.name = library._final_module.name
        library._final_module = module


def _connect_environments(library: Any) -> None:
    """Set the environments of functions that were linked in: their own libraries have no place for them."""
    for variable in library._final_module.global_variables:
        if variable.name.startswith("_ZN08NumbaEnv"):
            found = environment.lookup_environment(variable.name)
            if found is not None:
                library.codegen.set_env(variable.name, found)


def _set_environment_where_there_is_one(generator: Any, name: str, value: Any) -> None:
    if generator._engine.get_global_value_address(name):
        _set_environment(generator, name, value)


def _values_of_flags(flags: Any) -> dict[str, Any]:
    """All options of a set of compiler flags: what Numba finds, without a call for each of them."""
    cls = type(flags)
    if cls not in _defaults:
        _defaults[cls] = {name: option.default for name, option in cls.options.items()}
    return {**_defaults[cls], **flags._values}


@typeof_impl.register(np.random.Generator)
def _type_of_generator(generator: Any, context: Any) -> Any:
    """The one type of all random generators, which Numba would make again for every call of a kernel."""
    return _GENERATOR


if _finalize and _set_environment and hasattr(codegen.JITCodeLibrary, "_get_module_for_linking"):
    codegen.JITCodeLibrary.finalize = _finalize_or_link
    codegen.JITCPUCodegen.set_env = _set_environment_where_there_is_one
if hasattr(targetconfig.TargetConfig, "values"):
    targetconfig.TargetConfig.values = _values_of_flags
