"""Kernels that do not count references: LLVM code of Numba without it, wherever no array is made.

Numba counts who holds an array, with one atomic addition for each slice and each call. Verbs of a table slice a few
arrays for each cell, and spent most of their time on that. Whoever calls a kernel keeps its arguments alive; what is
looked at inside, and not made there, need not be counted.

So a function counts nothing if neither itself nor anything that it calls makes an array. One that returns an array
also has a *twin* that counts nothing, for functions that do not count either: others would give a reference back that
the twin has never taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r'@("[^"]+"|[\w.$]+)')
_COUNTS = re.compile(r"\s+(?:tail )?call void @NRT_(?:incref|decref)\(")
_RUNTIME = re.compile(r"call [^@]*@NRT_")
_STORE = re.compile(r"\s+store (.*), ptr (%[\w.]+),")
_PLACE = re.compile(r"\s+(%[\w.]+) = getelementptr .*ptr (%[\w.]+),")
_RESULT = "%retptr"
_TWIN = ".uncounted"


@dataclass
class _Function:
    """One definition in the text of a module."""

    name: str
    lines: list[str]

    def __post_init__(self) -> None:
        body = self.lines[1:]
        self.calls = {name for line in body if "call " in line for name in _NAME.findall(line)}
        self.makes_arrays = any(_RUNTIME.search(line) and not _COUNTS.match(line) for line in body)

    @property
    def returns_numbers(self) -> bool:
        """Whether all that it writes into its result are numbers, or nothing."""
        places = {_RESULT}
        for line in self.lines[1:]:
            if not any(place in line for place in places):
                continue
            place, store = _PLACE.match(line), _STORE.match(line)
            if place and place[2] in places:
                places.add(place[1])
            elif not (store and store[2] in places and "ptr" not in store[1].replace("ptr null", "")):
                return False
        return True


def without_counts(text: str, door: str) -> str | None:
    """The text of an LLVM module that counts only where it must; None where that is everywhere.

    ``door`` is in the name of the function by which Python calls the kernel, which goes on counting.
    """
    if "comdat" in text:
        return None
    functions, parts = _parts(text)
    counting = _counting(functions, door)
    silent = [function for name, function in functions.items() if name not in counting]
    if not silent:
        return None
    twins = {function.name: _twin_name(function.name) for function in silent if not function.returns_numbers}
    for function in silent:
        lines = [_renamed(line, twins) for line in function.lines if not _COUNTS.match(line)]
        twin = twins.get(function.name)
        if twin is None:
            function.lines = lines
        elif twin not in functions:  # a kernel that this one calls may have brought it along
            parts += lines
    return "\n".join([*parts, *(line for function in functions.values() for line in function.lines)])


def _parts(text: str) -> tuple[dict[str, _Function], list[str]]:
    """Definitions by name, and all other lines."""
    functions: dict[str, _Function] = {}
    rest: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        if not line.startswith("define "):
            rest.append(line)
            continue
        body = [line]
        for inner in lines:
            body.append(inner)
            if inner == "}":
                break
        name = _NAME.findall(line)[0]
        functions[name] = _Function(name, body)
    return functions, rest


def _counting(functions: dict[str, _Function], door: str) -> set[str]:
    """Functions that go on counting: the door, what makes arrays, and what calls it."""
    counting = {name for name, function in functions.items() if function.makes_arrays or door in name}
    # The counts themselves are functions of the module as well.
    counting |= {name for name in functions if name.startswith("NRT_")}
    counted = {name for name in counting if not name.startswith("NRT_")}
    while True:
        more = {name for name, function in functions.items() if name not in counting and function.calls & counted}
        if not more:
            return counting
        counting |= more
        counted = more


def _twin_name(name: str) -> str:
    plain = name.strip('"')
    if plain.endswith(_TWIN):
        return name
    return f'"{plain}{_TWIN}"' if name.startswith('"') else f"{plain}{_TWIN}"


def _renamed(line: str, twins: dict[str, str]) -> str:
    if "call " not in line and not line.startswith("define "):
        return line
    return _NAME.sub(lambda found: f"@{twins.get(found[1], found[1])}", line)
