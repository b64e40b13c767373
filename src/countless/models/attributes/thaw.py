"""A state from what was frozen, which may come from a file that somebody changed."""

from __future__ import annotations

import numpy as np

from ...chains.contract import Frozen
from .kernels.blocks import IntArray
from .problem import UNKNOWN, Problem
from .state import NUMBERS, Attribute, State

# Attributes beyond which a state is no state.
MOST = 100_000


def thawed(problem: Problem, frozen: Frozen) -> State:
    """The state that ``State.freeze`` gave; ValueError where it is none of this problem."""
    arrays, n = frozen.arrays, problem.n_objects
    labels, sizes, weights, numbers = (arrays[name] for name in ("labels", "sizes", "weights", "numbers"))
    shapes = labels.ndim == 2 and labels.shape[1:] == (n,) and sizes.shape == labels.shape[:1] and weights.ndim == 1
    kinds = labels.dtype == np.int64 and sizes.dtype == np.int64 and weights.dtype == numbers.dtype == np.float64
    if not shapes or not kinds or numbers.shape != (len(NUMBERS),) or len(sizes) > MOST:
        raise ValueError("the state of a chain is damaged: its attributes do not fit the matrix")
    if not (np.isfinite(weights).all() and np.isfinite(numbers).all()) or (numbers[:-1] <= 0.0).any():
        raise ValueError("the state of a chain is damaged: its numbers are not possible")
    if len(sizes) < problem.n_known or (len(sizes) and sizes.min() < 1) or (sizes > n).any():
        raise ValueError("the state of a chain is damaged: its clusters are not possible")
    if (sizes * sizes).sum() != len(weights):
        raise ValueError("the state of a chain is damaged: its weights do not fit its clusters")
    parts = np.split(weights, np.cumsum(sizes * sizes)[:-1]) if len(sizes) else []
    attributes = []
    for number, (line, size, part) in enumerate(zip(labels, sizes, parts, strict=True)):
        square = part.reshape(size, size).copy()
        _check(problem, number, line, square)
        attributes.append(Attribute(line.copy(), square))
    return State(problem, attributes, dict(zip(NUMBERS, numbers.tolist(), strict=True)))


def _check(problem: Problem, number: int, labels: IntArray, weights: np.ndarray) -> None:
    inside = labels[labels >= 0]
    counts = np.bincount(inside) if inside.size and inside.max() < len(weights) else np.zeros(0)
    if labels.min() < -1 or len(counts) != len(weights) or (counts == 0).any():
        raise ValueError("the state of a chain is damaged: the clusters of an attribute are not numbered 0, 1, 2, ...")
    if not problem.directed and not np.array_equal(weights, weights.T):
        raise ValueError("the state of a chain is damaged: its weights are not symmetric")
    if number < problem.n_known and problem.known is not None:
        column = problem.known[:, number]
        held = column != UNKNOWN
        if (labels[held] != column[held]).any() or (not problem.may_lack[number] and (labels < 0).any()):
            raise ValueError("the state of a chain is damaged: it contradicts attributes that are known")
