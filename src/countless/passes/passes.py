"""One pass over the rows as two matrix products: shared by variational inference, EM and blocked Gibbs.

The log density of a row under a component is the inner product of the row's statistics with the natural
parameter of the component. So for one block of rows at a time

    scores = statistics @ natural',    normalise (or draw),    sums += weights' @ statistics,

BLAS does the work, and nothing of size rows x components outlives its block. Entry 0 of the statistics is the
count, so that log weights of components are part of their natural parameters.

Blocks are gathered in parcels whose size depends on the rows alone. Parcels run in threads and their sums are
added in order, with one BLAS thread each: the result does not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from ..core.jit import kernel
from ..core.random import spawn
from ..core.special import NEGLIGIBLE
from ..families import verbs
from ..models.mixture.state import FloatArray, IntArray, Problem

# Rows of a block: its statistics and scores stay in the cache of a core.
BLOCK = 1024
# Parcels: enough of them to keep all cores busy, large enough that handing them out costs nothing.
SMALLEST_PARCEL, LARGEST_PARCEL, PARCELS = 2 * BLOCK, 64 * BLOCK, 16
# Statistics of all rows are kept from pass to pass where they take no more than this many bytes.
KEEP_BELOW = 32e6
# Weights are mostly zero where clusters are apart; then the second product visits those above zero only.
SPARSE_BELOW = 0.2


class Soft(NamedTuple):
    """What a pass with probabilities leaves behind.

    ``sums`` are the weighted statistics of each component (K, S), ``log_total`` is the sum over rows of the log of
    the summed exponentials of their scores, and ``without[k]`` is what ``log_total`` would lose without k.
    """

    sums: FloatArray
    log_total: float
    without: FloatArray


class Hard(NamedTuple):
    """What a pass with one component per row leaves behind."""

    sums: FloatArray
    labels: IntArray


class Passes:
    """Rows of a problem, ready to be gone over again and again; use it in a ``with`` statement.

    Parameters
    ----------
    problem : Problem
        Rows, their weights and the family.
    n_threads : int, optional
        Default: one per core.
    """

    def __init__(self, problem: Problem, n_threads: int | None = None) -> None:
        self.problem = problem
        self._width = problem.layout.statistics
        n = problem.n_rows
        size = min(max(n // PARCELS, SMALLEST_PARCEL), LARGEST_PARCEL)
        self._parcels = [slice(start, min(start + size, n)) for start in range(0, n, size)]
        self._kept: FloatArray | None = None
        if 8.0 * n * self._width <= KEEP_BELOW:
            self._kept = np.empty((n, self._width))
            self._fill(slice(0, n), self._kept)
        self._threads = min(n_threads or os.cpu_count() or 1, len(self._parcels))
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        _OneBlasThread.enter()
        if self._threads > 1:
            self._pool = ThreadPoolExecutor(self._threads)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        _OneBlasThread.leave()

    @property
    def total_weight(self) -> float:
        """Number of rows, each counted with its weight."""
        weights = self.problem.weights
        return float(self.problem.n_rows) if weights is None else float(weights.sum())

    def soften(self, natural: FloatArray, deletions: bool = False) -> Soft:
        """Probabilities of the components for each row, and the weighted sums; ``deletions``: fill ``without`` too."""
        n_components = len(natural)

        def parcel(rows: slice) -> Soft:
            sums = np.zeros((n_components, self._width))
            without = np.zeros(n_components)
            log_total = 0.0
            for part, statistics in self._blocks(rows):
                scores = statistics @ natural.T
                total, n_positive = _soften(scores, self._weights(part), deletions, without)
                log_total += total
                if n_positive < SPARSE_BELOW * scores.size:
                    _add_positive(scores, statistics, sums)
                else:
                    sums += scores.T @ statistics
            return Soft(sums, log_total, without)

        total = Soft(np.zeros((n_components, self._width)), 0.0, np.zeros(n_components))
        for part in self.map(parcel, self._parcels):
            total = Soft(total.sums + part.sums, total.log_total + part.log_total, total.without + part.without)
        return total

    def draw(self, natural: FloatArray, rng: np.random.Generator) -> Hard:
        """A component for each row, drawn with probability proportional to the exponential of its score."""
        return self._assign(natural, rng.random(self.problem.n_rows))

    def draws(self, natural: FloatArray, rng: np.random.Generator, n_draws: int) -> NDArray[Any]:
        """As many components for each row, drawn independently; shape (draw, row)."""
        small = len(natural) <= np.iinfo(np.int16).max
        labels = np.empty((n_draws, self.problem.n_rows), dtype=np.int16 if small else np.int32)
        streams = spawn(rng, len(self._parcels))

        def parcel(number: int) -> None:
            for part, statistics in self._blocks(self._parcels[number]):
                _draw_many(statistics @ natural.T, streams[number], labels[:, part])

        list(self.map(parcel, range(len(self._parcels))))
        return labels

    def best(self, natural: FloatArray) -> Hard:
        """The component of largest score for each row."""
        return self._assign(natural, np.empty(0))

    def sums_of(self, labels: NDArray[Any], n_components: int) -> FloatArray:
        """Statistics of each component when the rows have these labels; a negative label counts for none."""

        def parcel(rows: slice) -> FloatArray:
            sums = np.zeros((n_components, self._width))
            for part, statistics in self._blocks(rows):
                _add_labelled(statistics, labels[part].astype(np.int64), self._weights(part), sums)
            return sums

        return np.asarray(sum(self.map(parcel, self._parcels), start=np.zeros((n_components, self._width))))

    def _assign(self, natural: FloatArray, uniforms: FloatArray) -> Hard:
        labels = np.empty(self.problem.n_rows, dtype=np.int64)
        n_components = len(natural)

        def parcel(rows: slice) -> FloatArray:
            sums = np.zeros((n_components, self._width))
            for part, statistics in self._blocks(rows):
                scores = statistics @ natural.T
                _choose(scores, uniforms[part] if len(uniforms) else uniforms, labels[part])
                _add_labelled(statistics, labels[part], self._weights(part), sums)
            return sums

        sums = sum(self.map(parcel, self._parcels), start=np.zeros((n_components, self._width)))
        return Hard(np.asarray(sums), labels)

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results of ``function`` in the order of ``items``, computed in the threads of the passes."""
        return map(function, items) if self._pool is None else self._pool.map(function, items)

    def _weights(self, part: slice) -> FloatArray:
        weights = self.problem.weights
        return _NO_WEIGHTS if weights is None else weights[part]

    def _blocks(self, rows: slice) -> Iterator[tuple[slice, FloatArray]]:
        """Blocks of a parcel with their statistics, which are overwritten by those of the next block."""
        room = np.empty((BLOCK, self._width)) if self._kept is None else None
        for start in range(rows.start, rows.stop, BLOCK):
            part = slice(start, min(start + BLOCK, rows.stop))
            if self._kept is not None:
                yield part, self._kept[part]
            else:
                assert room is not None
                statistics = room[: part.stop - part.start]
                self._fill(part, statistics)
                yield part, statistics

    def _fill(self, part: slice, out: FloatArray) -> None:
        problem = self.problem
        _fill(problem.hyper, problem.X[part], problem.shift, problem.scale, out)


_NO_WEIGHTS = np.empty(0)


class _OneBlasThread:
    """BLAS with one thread while any pass is open; what was set before comes back with the last one."""

    _lock = threading.Lock()
    _open = 0
    _before: ClassVar[list[tuple[Any, int]]] = []

    @classmethod
    def enter(cls) -> None:
        with cls._lock:
            cls._open += 1
            if cls._open == 1:
                libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                cls._before = [(library, library.get_num_threads()) for library in libraries]
                for library, _ in cls._before:
                    _set_threads(library, 1)

    @classmethod
    def leave(cls) -> None:
        with cls._lock:
            cls._open -= 1
            if cls._open == 0:
                for library, number in cls._before:
                    _set_threads(library, number)


def _set_threads(library: Any, number: int) -> None:
    """Set the threads of a BLAS from any thread of ours.

    Recent versions of threadpoolctl listen to the first thread only that asks; the count above does that here.
    """
    getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


@kernel
def _fill(family, X, shift, scale, out):
    """Statistics of each row of ``X``, which is in the user's units."""
    n, d = X.shape
    row = np.empty(d)
    for i in range(n):
        for j in range(d):
            row[j] = (X[i, j] - shift[j]) / scale[j]
        verbs.row_statistics(family, row, out[i])


@kernel
def _soften(scores, weights, deletions, without):
    """Scores become probabilities times the weight of the row; returns the weighted log totals and a count.

    The count is that of the probabilities above zero; those that are negligible beside the largest become zero.
    """
    n, n_components = scores.shape
    log_total = 0.0
    n_positive = 0
    for i in range(n):
        top = 0
        for k in range(1, n_components):
            if scores[i, k] > scores[i, top]:
                top = k
        largest = scores[i, top]
        second = -math.inf
        others = 0.0
        for k in range(n_components):
            difference = scores[i, k] - largest
            if k != top:
                second = max(second, difference)
            if difference > NEGLIGIBLE:
                scores[i, k] = math.exp(difference)
                if k != top:
                    others += scores[i, k]
            else:
                scores[i, k] = 0.0
        total = 1.0 + others
        log_row = math.log(total)
        weight = weights[i] if weights.size else 1.0
        log_total += weight * (largest + log_row)
        factor = weight / total
        for k in range(n_components):
            value = scores[i, k]
            if value > 0.0:
                n_positive += 1
                if deletions:
                    if k == top:
                        without[k] += weight * ((math.log(others) if others > 0.0 else second) - log_row)
                    else:
                        without[k] += weight * math.log1p(-value / total)
                scores[i, k] = value * factor
    return log_total, n_positive


@kernel
def _choose(scores, uniforms, labels):
    """A component for each row: drawn where there are uniforms, else the best; scores are overwritten."""
    n, n_components = scores.shape
    for i in range(n):
        top = 0
        for k in range(1, n_components):
            if scores[i, k] > scores[i, top]:
                top = k
        labels[i] = top
        if uniforms.size:
            largest = scores[i, top]
            total = 0.0
            for k in range(n_components):
                difference = scores[i, k] - largest
                if difference > NEGLIGIBLE:
                    total += math.exp(difference)
                scores[i, k] = total
            threshold = uniforms[i] * total
            for k in range(n_components):
                if threshold < scores[i, k]:
                    labels[i] = k
                    break


@kernel
def _draw_many(scores, rng, labels):
    n, n_components = scores.shape
    for i in range(n):
        largest = -math.inf
        for k in range(n_components):
            largest = max(largest, scores[i, k])
        total = 0.0
        for k in range(n_components):
            difference = scores[i, k] - largest
            if difference > NEGLIGIBLE:
                total += math.exp(difference)
            scores[i, k] = total
        for draw in range(labels.shape[0]):
            threshold = rng.random() * total
            k = 0
            while k < n_components - 1 and threshold >= scores[i, k]:
                k += 1
            labels[draw, i] = k


@kernel
def _add_positive(probabilities, statistics, sums):
    n, n_components = probabilities.shape
    width = statistics.shape[1]
    for i in range(n):
        for k in range(n_components):
            share = probabilities[i, k]
            if share > 0.0:
                for s in range(width):
                    sums[k, s] += share * statistics[i, s]


@kernel
def _add_labelled(statistics, labels, weights, sums):
    width = statistics.shape[1]
    for i in range(labels.size):
        k = labels[i]
        if k >= 0:
            weight = weights[i] if weights.size else 1.0
            for s in range(width):
                sums[k, s] += weight * statistics[i, s]
