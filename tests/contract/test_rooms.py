"""The house: doors open downwards only, one place compiles, nothing is pickled, files stay short."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import countless

HOUSE = Path(countless.__file__).resolve().parent
FILES = sorted(path.relative_to(HOUSE).as_posix() for path in HOUSE.rglob("*.py"))

# From the ground up. A room may use the rooms of the floors below it and itself.
FLOORS: list[list[str]] = [
    ["_jit", "_random", "_validate", "_special", "_files", "_warnings"],
    ["families", "priors"],
    ["inference"],
    ["posterior", "metrics"],
    ["tuning"],
    ["runs"],
    ["estimators"],
    ["datasets", "io"],
    ["plots"],
    ["report", "experiments"],
    ["cli", "__main__"],
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Single files that make one room together.
SHARED = [set(FLOORS[0]), set(FLOORS[-1])]

every_file = pytest.mark.parametrize("file", FILES)


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse((HOUSE / file).read_text(encoding="utf-8"))


def _room(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def _modules(file: str) -> Iterator[str]:
    """Absolute dotted names that a file imports anywhere, inside functions and for type checkers too."""
    package = ["countless", *file.split("/")[:-1]]
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _rooms_used(file: str) -> set[str]:
    used = set()
    for module in _modules(file):
        parts = module.split(".")
        if parts[0] == "countless" and len(parts) > 1 and (parts[1] in FLOOR or _is_room(parts[1])):
            used.add(parts[1])
    return used


def _is_room(name: str) -> bool:
    return (HOUSE / name).is_dir() or (HOUSE / f"{name}.py").is_file()


@every_file
def test_doors_open_downwards_only(file):
    room = _room(file)
    if room == "__init__":
        pytest.skip("the front door leads everywhere, when it is asked to")
    assert room in FLOOR, f"give the room {room!r} a floor in {Path(__file__).name}"
    for other in _rooms_used(file) - {room}:
        together = any({room, other} <= rooms for rooms in SHARED)
        assert together or FLOOR[other] < FLOOR[room], f"{file} opens a door from {room} up to {other}"


def test_the_test_of_doors_sees_doors():
    assert _rooms_used("inference/state.py") >= {"families", "priors", "_jit"}
    assert _rooms_used("priors/verbs.py") >= {"_random"}
    assert _rooms_used("estimators/dp_mixture.py") >= {"inference", "posterior"}


COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "stencil", "cfunc", "generated_jit", "jitclass", "pjit"}


@every_file
def test_one_place_compiles(file):
    if file == "_jit.py":
        return
    for node in ast.walk(_tree(file)):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        names = {name} | ({alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else set())
        assert not names & COMPILERS, f"{file}:{node.lineno} compiles; use @kernel of _jit.py"


def test_the_one_place_does():
    assert any(isinstance(node, ast.Attribute) and node.attr == "njit" for node in ast.walk(_tree("_jit.py")))


PICKLERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "jsonpickle"}


@every_file
def test_nothing_is_pickled(file):
    assert not {module.split(".")[0] for module in _modules(file)} & PICKLERS
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant)
            assert node.value.value is False
        assert not (isinstance(node, ast.Attribute) and node.attr in ("to_pickle", "read_pickle"))


@every_file
def test_files_stay_short_and_say_what_they_are_for(file):
    text = (HOUSE / file).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 500
    assert ast.get_docstring(_tree(file)), f"{file} does not say what it is for"


@every_file
def test_no_global_random_state(file):
    """Draws come from a Generator that was handed in."""
    allowed = {"default_rng", "Generator", "RandomState", "SeedSequence", "BitGenerator"}
    for node in ast.walk(_tree(file)):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "random"
            and isinstance(node.value.value, ast.Name)
            and node.value.value.id in ("np", "numpy")
        ):
            assert node.attr in allowed, f"{file}:{node.lineno} uses numpy.random.{node.attr}"
    assert "random" not in set(_modules(file))


HEAVY = ("numba", "sklearn", "scipy", "pandas", "matplotlib", "rich", "typer")


def test_the_front_door_is_light():
    code = f"import sys, countless; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_compiles_at_import():
    """Numba's dispatchers hold no machine code until they are called."""
    code = (
        "import pkgutil, importlib, countless\n"
        "from numba.core.registry import CPUDispatcher\n"
        "compiled = []\n"
        "for found in pkgutil.walk_packages(countless.__path__, 'countless.'):\n"
        "    if found.name.endswith('__main__'): continue\n"
        "    module = importlib.import_module(found.name)\n"
        "    compiled += [f'{found.name}.{n}' for n, v in vars(module).items()\n"
        "                 if isinstance(v, CPUDispatcher) and v.signatures]\n"
        "print(compiled)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist_and_unknown_ones_do_not():
    assert dir(countless) == countless.__all__
    for name in countless.__all__:
        assert getattr(countless, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'KMeans'"):
        _ = countless.KMeans
