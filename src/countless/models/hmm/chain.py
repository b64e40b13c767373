"""A hidden Markov model with known probabilities: what it says of the states of sequences whose densities are given.

Rabiner 1989. ``scores`` are log densities of the steps under each state (step, state).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kernels.forward import NO_SLICES, best_path, draw_path, forward, smooth

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Chain(NamedTuple):
    """Probabilities of first states, and of each state (columns) after each (rows)."""

    start: FloatArray
    transition: FloatArray

    def filtered(self, scores: FloatArray, first: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of the states after each step given the steps so far; log densities given those before."""
        out, each = np.array(scores, order="C"), np.empty(len(scores))
        forward(out, first, self.start, self.transition, NO_SLICES, each)
        return out, each

    def smoothed(self, scores: FloatArray, first: BoolArray) -> FloatArray:
        """Probabilities of the states of each step given all steps of its sequence."""
        out = self.filtered(scores, first)[0]
        smooth(out, first, self.transition, np.zeros_like(self.transition))
        return out

    def best(self, scores: FloatArray, first: BoolArray) -> tuple[IntArray, float]:
        """The most probable path, and its log density."""
        labels = np.empty(len(scores), dtype=np.int64)
        with np.errstate(divide="ignore"):
            logs = np.log(self.start), np.log(self.transition)
        return labels, float(best_path(np.ascontiguousarray(scores), first, *logs, labels))

    def draw(self, scores: FloatArray, first: BoolArray, rng: np.random.Generator) -> IntArray:
        """A path drawn from its law given all steps."""
        labels = np.empty(len(scores), dtype=np.int64)
        draw_path(rng, self.filtered(scores, first)[0], first, self.transition, NO_SLICES, labels)
        return labels

    def simulate(self, n: int, rng: np.random.Generator, before: FloatArray | None = None) -> IntArray:
        """States of so many steps; ``before`` are probabilities of the state before the first of them."""
        shares = self.start if before is None else before @ self.transition
        out = np.empty(n, dtype=np.int64)
        for t in range(n):
            out[t] = np.searchsorted(np.cumsum(shares), rng.random() * shares.sum(), side="right")
            shares = self.transition[min(out[t], len(shares) - 1)]
        return np.minimum(out, len(self.start) - 1)
