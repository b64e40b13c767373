"""Fixtures of all tests."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  its BLAS must be loaded before its threads are limited
from threadpoolctl import threadpool_limits

from helpers import generator


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the name of the test, its parameters included, and on nothing else."""
    return generator(request.node.name)


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread() -> Iterator[None]:
    """Tests run side by side: threads that BLAS would start for its 2 x 2 systems only wait for each other."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


@pytest.fixture(scope="session", autouse=True)
def heed_interrupts() -> None:
    """A test run in the background of a shell inherits a SIGINT that is ignored; tests of Ctrl-C need it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_figure_stays_open() -> Iterator[None]:
    """Plots draw in pyplot where some other test has imported it, and it warns when more than twenty are open."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
