"""Inner kernels are linked into their callers, without machine code of their own; other users of Numba see nothing."""

from __future__ import annotations

import gc
import math

import numba
import numpy as np
import pytest
from numba.core import compiler
from numba.core.caching import NullCache

from countless.core.jit import inner_kernel, kernel
from countless.core.linking import _collection


@inner_kernel
def _square(x):
    return x * x


@inner_kernel
def _fourth(x):
    return _square(_square(x))


@inner_kernel
def _refuse(x):
    if x < 0.0:
        raise ValueError("below zero")
    return math.sqrt(x)


@kernel
def _sum_of_fourths(values):
    total = 0.0
    for value in values:
        total += _fourth(value)
    return total


@kernel
def _root_of_fourth(x):
    return _refuse(_fourth(x) - 1.0)


def test_kernels_use_them():
    values = np.array([0.5, -1.0, 3.0])
    assert _sum_of_fourths(values) == pytest.approx((values**4).sum(), rel=1e-15)
    assert _root_of_fourth(2.0) == pytest.approx(math.sqrt(15.0), rel=1e-15)


def test_python_runs_them_as_they_are_written():
    assert _fourth(np.float32(2.0)) == 16.0
    assert _fourth(2) == 16


def test_errors_come_through():
    with pytest.raises(ValueError, match=r"^below zero$"):
        _root_of_fourth(0.5)


def test_they_have_no_machine_code():
    """Nothing in the engine of Numba answers to their names."""
    fresh = kernel(_sum_of_fourths.py_func)
    fresh._cache = NullCache()  # a kernel from the cache compiles nothing
    fresh(np.ones(2))
    names = [found.fndesc.llvm_func_name for found in _fourth.overloads.values()]
    (library,) = {found.library for found in fresh.overloads.values()}
    assert names
    assert not any(library.codegen._engine.is_symbol_defined(name) for name in names)


def test_other_code_compiles_as_before():
    """A function of somebody else that calls an inner kernel, or what kernels were linked with, has code of its own."""
    _sum_of_fourths(np.ones(2))

    @numba.njit
    def theirs(values):
        return np.sort(values)[0] + _fourth(values[0])

    assert theirs(np.array([2.0, 1.0])) == 17.0
    assert theirs.inspect_asm()


def test_flags_have_the_values_that_numba_finds():
    flags = compiler.Flags()
    flags.nrt = True
    flags.error_model = "numpy"
    assert flags.values() == {name: getattr(flags, name) for name in flags.options}
    assert flags == flags.copy()
    assert flags != compiler.Flags()


def test_garbage_is_collected_again_after_a_compilation():
    @kernel
    def double(x):
        return 2.0 * x

    with _collection.paused():
        assert not gc.isenabled()
    for was_on in (True, False):
        (gc.enable if was_on else gc.disable)()
        try:
            double(1.0 if was_on else 1)
            assert gc.isenabled() == was_on
        finally:
            gc.enable()
