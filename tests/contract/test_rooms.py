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

# From the ground up. A room may use the rooms of its own floor and of the floors below it.
FLOORS: list[list[str]] = [
    ["core"],
    ["families", "priors"],
    ["transitions"],
    ["partitions", "passes", "chains"],
    ["posterior", "metrics", "tuning"],
    ["runs", "plots", "report", "datasets"],
    ["models"],
    ["inference", "estimators", "io"],
    ["cli", "experiments", "__main__"],
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MOST_FILES, MOST_LINES, LONGEST_FUNCTION = 14, 500, 70

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
        assert FLOOR[other] <= FLOOR[room], f"{file} opens a door from {room} up to {other}"


def test_no_two_rooms_use_each_other():
    doors = {(_room(file), other) for file in FILES for other in _rooms_used(file) if _room(file) != "__init__"}
    assert not {pair for pair in doors if pair[::-1] in doors and pair[0] < pair[1]}


MODELS = [path.name for path in sorted((HOUSE / "models").iterdir()) if path.is_dir() and path.name != "__pycache__"]


@pytest.mark.parametrize("file", [file for file in FILES if FLOOR.get(_room(file), 9) < FLOOR["models"]])
def test_general_rooms_know_no_model_class(file):
    """Neither by import nor by the name of an estimator in the code; docstrings may show examples."""
    assert not {module for module in _modules(file) if module.startswith("countless.models")}
    names = {node.id for node in ast.walk(_tree(file)) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(_tree(file)) if isinstance(node, ast.Attribute)}
    assert not names & {"DPMixture", "FiniteMixture", "MixtureSearch", "DPMeans", "Partitional", "MixturePosterior"}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_class_does_not_know_another_one_but_those_it_is_made_of(model):
    """A finite mixture is sampled as a mixture; nothing else crosses."""
    allowed = {"finite": {"mixture"}}.get(model, set())
    for file in FILES:
        if file.startswith(f"models/{model}/"):
            used = {m.split(".")[2] for m in _modules(file) if m.startswith("countless.models.") and m.count(".") >= 2}
            assert not (used & set(MODELS)) - {model} - allowed, file


def test_the_test_of_doors_sees_doors():
    assert _rooms_used("partitions/partition.py") >= {"families", "priors", "core"}
    assert _rooms_used("models/mixture/estimator.py") >= {"chains", "posterior", "runs"}


@pytest.mark.parametrize("folder", sorted({str(Path(file).parent) for file in FILES}))
def test_folders_stay_small(folder):
    """There may be any number of families, priors and moves: only the other files of a folder are counted."""
    files = [file for file in FILES if str(Path(file).parent) == folder and not file.endswith("__init__.py")]
    registered = [file for file in files if "\n@register" in (HOUSE / file).read_text(encoding="utf-8")]
    assert len(files) - len(registered) <= MOST_FILES


@every_file
def test_functions_fit_on_a_screen(file):
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.FunctionDef):
            length = node.end_lineno - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{file}: {node.name} has {length} lines"


COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "stencil", "cfunc", "generated_jit", "jitclass", "pjit"}


@every_file
def test_one_place_compiles(file):
    for node in ast.walk(_tree(file)):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        names = {name} | ({alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else set())
        assert not names & COMPILERS, f"{file}:{node.lineno} compiles; use @kernel of core/jit.py"


def test_the_one_place_does():
    assert "numba.core.registry.CPUDispatcher" in set(_modules("core/linking.py"))
    others = (file for file in FILES if file != "core/linking.py")
    assert not [file for file in others if any("Dispatcher" in module for module in _modules(file))]


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
    assert len(text.splitlines()) <= MOST_LINES
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
