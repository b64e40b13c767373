"""Kernels count references only where arrays are made, and no reference is lost or left over."""

from __future__ import annotations

import gc
import re
import sys

import numpy as np
import pytest
from numba.core.caching import NullCache
from numba.core.runtime import _nrt_python, rtsys

from countless.core.jit import inner_kernel, kernel
from countless.core.linking import WRAPPER
from countless.core.references import without_counts


@inner_kernel
def _left(array, width):
    return array[:width]


@inner_kernel
def _both(array, width):
    return _left(array, width), array[width:]


@inner_kernel
def _sum_of_parts(array, width):
    left, right = _both(array, width)
    return left.sum() + 2.0 * right.sum()


@kernel
def _looks(array, width):
    """Makes no array."""
    left, right = _both(array, width)
    left[0] += 1.0
    return right[0], _sum_of_parts(array, width)


@kernel
def _makes(array, width):
    """Makes an array, and looks at another one through the same inner kernels."""
    room = np.zeros(width)
    left, _ = _both(array, width)
    for i in range(width):
        room[i] = left[i]
    return _sum_of_parts(array, width) + _sum_of_parts(room, 1) + _left(room, 1)[0]


@kernel
def _hands_out(array, width):
    """Returns a view of its argument."""
    return _left(array, width)


def _code(compiled):
    """The functions of a kernel that are not the door to Python."""
    (text,) = compiled.inspect_llvm().values()
    return "".join(part for part in text.split("\ndefine ") if WRAPPER not in part.partition("(")[0])


@pytest.fixture
def array():
    return np.arange(1.0, 7.0)


def test_nothing_is_counted_where_no_array_is_made(array):
    fresh = kernel(_looks.py_func)
    fresh._cache = NullCache()  # code from the cache cannot be looked at
    assert fresh(array, 2) == (3.0, 2.0 + 2.0 + 2.0 * 18.0)
    assert not re.search("call void @NRT_(incref|decref)", _code(fresh))


@pytest.mark.parametrize("ask", [_looks, _makes, _hands_out])
def test_no_reference_is_lost_or_left_over(ask, array):
    before = sys.getrefcount(array)
    results = [ask(array, 3) for _ in range(100)]
    del results
    gc.collect()
    assert sys.getrefcount(array) == before
    np.testing.assert_array_equal(array[3:], [4.0, 5.0, 6.0])


def test_a_view_keeps_its_array():
    view = _hands_out(np.arange(1.0, 7.0), 3)
    gc.collect()
    np.testing.assert_array_equal(view, [1.0, 2.0, 3.0])


def test_arrays_that_are_made_are_given_back(array):
    _makes(array, 3)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for _ in range(50):
        _makes(array, 3)
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    made, freed = after.mi_alloc - before.mi_alloc, after.mi_free - before.mi_free
    assert made >= 50
    assert freed == made


COUNTS = "  call void @NRT_incref(ptr %x)"
MODULE = f"""target triple = "some"
define i32 @view(ptr %retptr, ptr %x) {{
{COUNTS}
  store ptr %x, ptr %retptr, align 8
  ret i32 0
}}
define i32 @number(ptr %retptr, ptr %x) {{
{COUNTS}
  %1 = call i32 @view(ptr %a, ptr %x)
  store double 1.0, ptr %retptr, align 8
  ret i32 0
}}
define i32 @maker(ptr %retptr, ptr %x) {{
{COUNTS}
  %1 = call ptr @NRT_MemInfo_alloc(i64 8)
  %2 = call i32 @view(ptr %a, ptr %x)
  %3 = call i32 @number(ptr %a, ptr %x)
  store double 1.0, ptr %retptr, align 8
  ret i32 0
}}
define i32 @caller(ptr %retptr, ptr %x) {{
{COUNTS}
  %1 = call i32 @maker(ptr %a, ptr %x)
  store double 1.0, ptr %retptr, align 8
  ret i32 0
}}
define ptr @_ZN7cpython(ptr %x) {{
{COUNTS}
  %1 = call i32 @number(ptr %a, ptr %x)
  ret ptr null
}}"""


def test_who_counts_and_who_calls_whom():
    """What makes arrays, whoever calls it and the door count; they call a function that returns an array as it was."""
    found = {}
    for part in without_counts(MODULE, "_ZN7cpython").split("define ")[1:]:
        found[part.partition("@")[2].partition("(")[0]] = part
    assert {name for name, part in found.items() if COUNTS in part} == {"view", "maker", "caller", "_ZN7cpython"}
    assert set(found) - {"view", "maker", "caller", "_ZN7cpython"} == {"number", "view.uncounted"}
    assert "@view.uncounted(" in found["number"]
    assert "@view(" in found["maker"]
    assert "@number(" in found["maker"]


def test_a_module_of_which_everything_counts_stays():
    only = MODULE[: MODULE.index("define i32 @view")] + MODULE[MODULE.index("define i32 @caller") :]
    assert without_counts(MODULE[MODULE.index("define ptr") :], "_ZN7cpython") is None
    assert "@maker(" in without_counts(only, "_ZN7cpython")
