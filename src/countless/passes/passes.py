"""Passes over all rows, by blocks on all cores, added up in order: for variational inference, EM and blocked Gibbs.

Nothing of size rows x components outlives its block. Blocks are gathered in parcels whose size depends on the rows
alone. Parcels run in threads and their sums are added in order, with one BLAS thread each: the result does not depend
on the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from ..core.random import spawn
from ..partitions.sums import NO_WEIGHTS, add_known_by_label, row_statistics_of
from .blocks import FloatArray, Hard, Soft, assign, draw_many, soften

# Rows of a block: its statistics and scores stay in the cache of a core.
BLOCK = 1024
# Parcels: enough of them to keep all cores busy, large enough that handing them out costs nothing.
SMALLEST_PARCEL, LARGEST_PARCEL, PARCELS = 2 * BLOCK, 64 * BLOCK, 16
# Statistics of all rows are kept from pass to pass where they take no more than this many bytes.
KEEP_BELOW = 32e6


class Blocks(Protocol):
    """Rows that can be handed out a block at a time, as kernels take them."""

    def block(self, which: slice) -> FloatArray: ...


class Passable(Protocol):
    """What a pass needs of a problem: rows, their weights, the family."""

    @property
    def n_rows(self) -> int: ...

    @property
    def table(self) -> Blocks: ...

    @property
    def weights(self) -> FloatArray | None: ...

    @property
    def hyper(self) -> Any: ...

    @property
    def layout(self) -> Any: ...


Problem = TypeVar("Problem", bound=Passable)


class Passes(Generic[Problem]):
    """Rows of a problem, ready to be gone over again and again; use it in a ``with`` statement.

    Parameters
    ----------
    problem : Problem
        Rows, their weights and the family.
    n_threads : int, optional
        Default: one per core.
    tick : callable, optional
        Called before each pass that softens; where it returns True, climbs should come to their end.

    Attributes
    ----------
    stopping : bool
        Whether ``tick`` has said so.
    """

    def __init__(self, problem: Problem, n_threads: int | None = None, tick: Callable[[], bool] | None = None) -> None:
        self.problem = problem
        self.stopping = False
        self._tick = tick
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

    def heed(self, tick: Callable[[], bool]) -> None:
        """Ask somebody else before each pass from now on."""
        self._tick = tick

    def soften(self, natural: FloatArray, deletions: bool = False) -> Soft:
        """Probabilities of the components for each row, and the weighted sums; ``deletions``: fill ``without`` too."""
        n_components = len(natural)
        self.stopping = self.stopping or (self._tick is not None and self._tick())

        def parcel(rows: slice) -> Soft:
            sums, without, log_total = np.zeros((n_components, self._width)), np.zeros(n_components), 0.0
            for part, statistics in self._blocks(rows):
                total, lost = soften(statistics, self._weights(part), natural, deletions, sums)
                log_total += total
                without += lost
            return Soft(sums, log_total, without)

        total = Soft(np.zeros((n_components, self._width)), 0.0, np.zeros(n_components))
        for part in self.map(parcel, self._parcels):
            total = total.plus(part)
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
                draw_many(statistics, natural, streams[number], labels[:, part])

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
                add_known_by_label(statistics, self._weights(part), labels[part].astype(np.int64, copy=False), sums)
            return sums

        return np.asarray(sum(self.map(parcel, self._parcels), start=np.zeros((n_components, self._width))))

    def _assign(self, natural: FloatArray, uniforms: FloatArray) -> Hard:
        labels = np.empty(self.problem.n_rows, dtype=np.int64)
        n_components = len(natural)

        def parcel(rows: slice) -> FloatArray:
            sums = np.zeros((n_components, self._width))
            for part, statistics in self._blocks(rows):
                drawn = uniforms[part] if len(uniforms) else uniforms
                assign(statistics, self._weights(part), natural, drawn, labels[part], sums)
            return sums

        sums = sum(self.map(parcel, self._parcels), start=np.zeros((n_components, self._width)))
        return Hard(np.asarray(sums), labels)

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results of ``function`` in the order of ``items``, computed in the threads of the passes."""
        return map(function, items) if self._pool is None else self._pool.map(function, items)

    def _weights(self, part: slice) -> FloatArray:
        weights = self.problem.weights
        return NO_WEIGHTS if weights is None else weights[part]

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
        """Statistics of some rows, a block at a time: rows in local units are never kept."""
        for start in range(part.start, part.stop, BLOCK):
            stop = min(start + BLOCK, part.stop)
            rows = self.problem.table.block(slice(start, stop))
            row_statistics_of(self.problem.hyper, rows, out[start - part.start : stop - part.start])


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS with one thread, for those who multiply matrices in threads of their own."""
    _OneBlasThread.enter()
    try:
        yield
    finally:
        _OneBlasThread.leave()


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
