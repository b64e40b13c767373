"""Cases: what the tests know about each family and each prior, one file for each.

A family called ``my-family`` has its case in ``tests/cases/families/my_family.py``, a prior ``my-prior`` in
``tests/cases/priors/my_prior.py``. The file says ``CASE = FamilyCase(...)`` or ``CASE = PriorCase(...)``; every test
that goes over families or priors finds it there, and ``tests/contract/test_cases.py`` asks for a file that is missing.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from countless.families import FAMILIES
from countless.priors.names import PRIORS

from .family import Example, FamilyCase, Seven
from .prior import PriorCase

__all__ = [
    "FAMILY_CASES",
    "PRIOR_CASES",
    "Example",
    "FamilyCase",
    "PriorCase",
    "Seven",
    "case_file",
    "without_case",
]

_FOLDER = Path(__file__).parent


def case_file(kind: str, name: str) -> Path:
    """Where the case of a family (kind ``"families"``) or prior (``"priors"``) is expected."""
    return _FOLDER / kind / f"{name.replace('-', '_')}.py"


def _built_in(register: Any) -> list[str]:
    """Names of the library itself: other tests may have registered more."""
    return [name for name, cls in register.items() if cls.__module__.startswith("countless.")]


def without_case(kind: str) -> list[Path]:
    """Files that should be there and are not."""
    register = {"families": FAMILIES, "priors": PRIORS}[kind]
    return [case_file(kind, name) for name in _built_in(register) if not case_file(kind, name).exists()]


def _load(kind: str, names: Iterable[str]) -> dict[str, Any]:
    files = {name: case_file(kind, name) for name in names}
    return {
        name: importlib.import_module(f"{__name__}.{kind}.{file.stem}").CASE
        for name, file in files.items()
        if file.exists()
    }


FAMILY_CASES: dict[str, FamilyCase] = _load("families", _built_in(FAMILIES))
PRIOR_CASES: dict[str, PriorCase] = _load("priors", _built_in(PRIORS))
