"""The worked example as a module, registered for the time of one test."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from countless.chains.moves import MOVES
from countless.families import FAMILIES
from countless.priors.names import PRIORS

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
    for register in (FAMILIES, PRIORS, MOVES):
        monkeypatch.setattr(register, "_classes", dict(register))
    module = _load()
    FAMILIES.add("negative-binomial")(module.NegativeBinomial)
    yield module
    FAMILIES.remove("negative-binomial")
