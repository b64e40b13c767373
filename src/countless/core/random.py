"""From a user's random_state to NumPy Generators: one entry, one independent stream per chain.

No global state is read or changed; the streams depend on the seed alone, never on threads.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

# Streams that can be written to a file and continued.
BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def as_generator(random_state: Any = None) -> np.random.Generator:
    """Turn None, an int, a SeedSequence, a Generator or a RandomState into a Generator.

    A Generator is returned as it is (its state advances as it is used). A RandomState is asked for a
    seed, as scikit-learn's own helpers do.

    Examples
    --------
    >>> from countless.core.random import as_generator
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


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Where a stream stands, as plain numbers, text and lists; ``generator_from`` makes one that continues from there.

    Examples
    --------
    >>> from countless.core.random import as_generator, generator_from, generator_state
    >>> rng = as_generator(0)
    >>> twin = generator_from(generator_state(rng))
    >>> twin.random() == rng.random()
    True
    """
    bits = rng.bit_generator
    state: dict[str, Any] = {"bits": _plain(bits.state)}
    seeds = getattr(bits, "seed_seq", None)
    if isinstance(seeds, np.random.SeedSequence):
        state["seeds"] = _plain({**seeds.state, "spawn_key": list(seeds.spawn_key)})
    return state


def generator_from(state: Mapping[str, Any]) -> np.random.Generator:
    """A stream that stands where ``generator_state`` found it; ValueError where that is none."""
    try:
        name = state["bits"]["bit_generator"]
        if name not in BIT_GENERATORS:
            raise ValueError(f"unknown kind {name!r}")
        seeds = state.get("seeds")
        bits = getattr(np.random, name)(0 if seeds is None else np.random.SeedSequence(**seeds))
        bits.state = _as_found(state["bits"], bits.state)
    except (ArithmeticError, LookupError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"the state of a random stream cannot be read: {error}") from None
    return np.random.Generator(bits)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return [int(part) for part in value]
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return int(value) if isinstance(value, numbers.Integral) else value


def _as_found(value: Any, like: Any) -> Any:
    """Lists become arrays where a state of this kind has them; other fields are refused."""
    if isinstance(like, dict):
        if not isinstance(value, Mapping) or set(value) != set(like):
            raise ValueError("its fields have other names")
        return {key: _as_found(value[key], part) for key, part in like.items()}
    if isinstance(like, np.ndarray):
        array = np.array(value, dtype=like.dtype)
        if array.shape != like.shape:
            raise ValueError("an array has another size")
        return array
    if type(value) is not (str if isinstance(like, str) else int):
        raise ValueError(f"{value!r} is no part of it")
    return value
