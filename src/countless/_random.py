"""From a user's random_state to NumPy Generators: one entry, one independent stream per chain.

No global state is read or changed; the streams depend on the seed alone, never on threads.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def as_generator(random_state: Any = None) -> np.random.Generator:
    """Turn None, an int, a SeedSequence, a Generator or a RandomState into a Generator.

    A Generator is returned as it is (its state advances as it is used). A RandomState is asked for a
    seed, as scikit-learn's own helpers do.

    Examples
    --------
    >>> from countless._random import as_generator
    >>> as_generator(0).random() == as_generator(0).random()
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(random_state)
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        f"random_state must be None, a non-negative int, a Generator or a RandomState, got {random_state!r}"
    )


def spawn(rng: np.random.Generator, n_streams: int) -> list[np.random.Generator]:
    """Independent generators derived from ``rng``, e.g. one per chain."""
    return list(rng.spawn(n_streams))
