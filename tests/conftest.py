"""Fixtures of all tests."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import generator


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the name of the test, its parameters included, and on nothing else."""
    return generator(request.node.name)
