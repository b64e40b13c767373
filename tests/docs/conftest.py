"""The worked example as a module, registered for the time of one test."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from countless.families import FAMILIES
from countless.priors import names

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "negative_binomial.py"
_LOADED: dict[str, object] = {}


def _load():
    if "module" not in _LOADED:
        spec = importlib.util.spec_from_file_location("negative_binomial", EXAMPLE)
        module = importlib.util.module_from_spec(spec)
        sys.modules["negative_binomial"] = module
        spec.loader.exec_module(module)
        _LOADED["module"] = module
    return _LOADED["module"]


@pytest.fixture
def example(monkeypatch):
    """The module of the example; what it and the guide register is forgotten afterwards."""
    monkeypatch.setattr(names, "_REGISTRY", dict(names._REGISTRY))
    registered = dict(FAMILIES)
    module = _load()
    FAMILIES["negative-binomial"] = module.NegativeBinomial
    yield module
    FAMILIES.clear()
    FAMILIES.update(registered)
    FAMILIES.pop("negative-binomial", None)
