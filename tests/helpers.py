"""Seeds and Monte Carlo tolerances for all tests: every tolerance is a number of standard errors, computed."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.stats import norm


def generator(*keys: object) -> np.random.Generator:
    """A generator whose seed is the text of ``keys``: fixed, and different for every test that names itself."""
    return np.random.default_rng([zlib.crc32(str(key).encode()) for key in keys])


def batch_error(draws: ArrayLike, n_batches: int = 40) -> float:
    """Standard error of the mean of a stationary chain, by the means of long batches.

    Batches must be many autocorrelation times long; independent draws are the special case where that is sure.
    """
    values = np.asarray(draws, dtype=np.float64)
    length = len(values) // n_batches
    means = values[-n_batches * length :].reshape(n_batches, length).mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(n_batches))


def z_limit(n_comparisons: int, level: float = 1e-3) -> float:
    """Largest |z| allowed when ``n_comparisons`` are made: by Bonferroni, one false alarm in 1 / level suites."""
    return float(norm.isf(0.5 * level / n_comparisons))


def with_slow(names: Iterable[str], slow: Collection[str]) -> list[Any]:
    """Names for ``parametrize``, some of them only with ``-m slow``: long studies of what others show as well."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in names]
