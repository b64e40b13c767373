"""A folder is its own register: what stands in it is imported, and registers itself."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from countless import models
from countless.core.register import import_folder
from countless.models.mixture import moves


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A package with two folders, each with an estimator and a figure."""
    for path in ("zoo", "zoo/cats", "zoo/dogs"):
        (tmp_path / path).mkdir()
        (tmp_path / path / "__init__.py").touch()
    for path in ("zoo/cats", "zoo/dogs"):
        (tmp_path / path / "estimator.py").touch()
        (tmp_path / path / "figures.py").write_text("raise RuntimeError('nobody has asked for figures')")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("zoo")
    for name in [name for name in sys.modules if name.partition(".")[0] == "zoo"]:
        del sys.modules[name]


def test_all_folders_are_entered_for_modules_of_one_name(folder):
    import_folder(folder.__name__, folder.__path__, only="estimator")
    assert {"zoo.cats.estimator", "zoo.dogs.estimator"} <= set(sys.modules)


def test_or_for_all_modules(folder):
    with pytest.raises(RuntimeError, match="nobody has asked"):
        import_folder(folder.__name__, folder.__path__)


def test_a_model_and_a_move_need_no_list():
    """Whoever reads a run in a new process has all estimators and moves there are: no list names them."""
    loaded = "import sys, countless.io; print(*sys.modules)"
    found = set(
        subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    )
    here = [f"{moves.__name__}.{file.stem}" for file in Path(moves.__file__).parent.glob("[a-z]*.py")]
    here += [
        f"{models.__name__}.{file.parent.name}.estimator"
        for file in Path(models.__file__).parent.glob("*/estimator.py")
    ]
    assert len(here) >= 9
    assert set(here) <= found
