"""The examples of all families, from the case files in ``tests/cases/families``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases import FAMILY_CASES, Example
from cases.family import filled, statistics_of

__all__ = ["CASES", "EXAMPLES", "NAMES", "every", "filled", "statistics_of", "suitable_rows"]

NAMES = list(FAMILY_CASES)
EXAMPLES = {name: case.examples for name, case in FAMILY_CASES.items()}
CASES = [example for examples in EXAMPLES.values() for example in examples]


def suitable_rows(name: str, shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Rows of this shape that the family takes with its hyperparameters left as None."""
    return FAMILY_CASES[name].suitable(shape, seed)


def every(cases: list[Example] = CASES) -> Any:
    """Parametrise a test over examples."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.label)
