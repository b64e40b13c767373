"""Similarity of rows, and exact losses between many partitions from contingency tables, without a matrix of pairs.

With n_c the sizes of the clusters of one partition of N rows, n_d those of another and n_cd those of their overlaps,

    loss = (sum_c f(n_c) + sum_d f(n_d) - 2 sum_cd f(n_cd)) / g(N),

where f(n) = n log n and g(N) = N give the variation of information in nats (Meila 2007), f(n) = n^2 and
g(N) = N^2 Binder's loss with equal costs: twice the number of pairs on which the two disagree, over N^2 (Wade and
Ghahramani 2018, Bayesian cluster analysis: point estimation and credible balls, section 2). One minus the adjusted
Rand index comes from the same tables (Fritsch and Ickstadt 2009; Hubert and Arabie 1985).

The first two have a weight a between 0 and 2 (Dahl, Johnson and Mueller 2022, section 2): with c the estimate and d the
draw, separating rows that the draw has together costs a, joining rows that it has apart costs 2 - a,

    loss = (a (sum_d f(n_d) - sum_cd f(n_cd)) + (2 - a) (sum_c f(n_c) - sum_cd f(n_cd))) / g(N).
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts load on first use
from numpy.typing import NDArray

from ...core.jit import inner_kernel, kernel
from ...core.validate import choose
from .draws import FloatArray, IntArray

# Side of a tile of a similarity matrix; largest side in double precision; most pairs in a sparse one (1.6 GB).
TILE = 1024
MOST_DOUBLE = 5_000
MOST_ENTRIES = 200_000_000
# Labels that are converted for a kernel at a time: 16 MB.
_BLOCK = 4_000_000


def _n_log_n(n: int) -> FloatArray:
    counts = np.arange(n + 2, dtype=np.float64)
    return counts * np.log(np.maximum(counts, 1.0))


def _squares(n: int) -> FloatArray:
    return np.arange(n + 2, dtype=np.float64) ** 2


def _pairs(n: int) -> FloatArray:
    counts = np.arange(n + 2, dtype=np.float64)
    return 0.5 * counts * (counts - 1.0)


class Loss(NamedTuple):
    """A loss between partitions: ``values(N)`` tabulates f(0), ..., f(N + 1), and g(N) = N^p with p = ``power``.

    If ``adjusted``, f counts pairs, and the loss is one minus the adjusted Rand index of the sums. ``weight`` is the
    cost of separating, 2 minus it that of joining.
    """

    values: Callable[[int], FloatArray]
    power: int
    adjusted: bool = False
    weight: float = 1.0


LOSSES = {"binder": Loss(_squares, 2), "omari": Loss(_pairs, 0, adjusted=True), "vi": Loss(_n_log_n, 1)}


def weighted_loss(name: str, weight: float) -> Loss:
    """The loss of this name, with a weight between 0 and 2.

    Examples
    --------
    >>> from countless.posterior.partition.similarity import weighted_loss
    >>> weighted_loss("vi", 0.5).weight
    0.5
    """
    kind = choose("loss", name, LOSSES)
    if isinstance(weight, bool) or not isinstance(weight, numbers.Real) or not 0.0 < weight < 2.0:
        raise ValueError(f"weight must be a number above 0 and below 2, got {weight!r}")
    if kind.adjusted and not math.isclose(weight, 1.0):
        raise ValueError(f"weight: the loss {name!r} has none; leave it out, or choose 'vi' or 'binder'")
    return kind._replace(weight=float(weight))


def losses(candidates: NDArray[Any], draws: NDArray[Any], loss: Loss, weights: IntArray | None = None) -> FloatArray:
    """Loss of each candidate partition against each draw; both are (partition, row) with labels from 0.

    ``weights`` is the number of equal rows that each row represents.
    """
    counts = np.ones(draws.shape[1], dtype=np.int64) if weights is None else weights
    values = loss.values(int(counts.sum()))
    out = np.empty((len(candidates), len(draws)))
    mine = np.ascontiguousarray(candidates, dtype=np.int32)
    width = int(mine.max()) + 1
    step = max(1, _BLOCK // max(1, draws.shape[1]))
    blocks = [slice(start, start + step) for start in range(0, len(draws), step)]

    def one(block: slice) -> None:
        theirs = np.ascontiguousarray(draws[block], dtype=np.int32)
        part = np.empty((len(mine), len(theirs)))
        kind = loss.power, loss.adjusted, loss.weight
        _losses(mine, theirs, width, int(theirs.max()) + 1, counts, values, *kind, part)
        out[:, block] = part

    in_threads(one, blocks, big=out.size * draws.shape[1] > 1e7)
    return out


def in_threads(job: Callable[[Any], Any], items: list[Any], big: bool, at_most: int | None = None) -> list[Any]:
    """Results of independent jobs, in order; in threads if the work is ``big``."""
    threads = min(os.cpu_count() or 1, len(items), at_most or len(items))
    if not big or threads < 2:
        return [job(item) for item in items]
    with ThreadPoolExecutor(max_workers=threads) as pool:
        return list(pool.map(job, items))


def similarity(draws: NDArray[Any], rows: IntArray | None = None, columns: IntArray | None = None) -> NDArray[Any]:
    """Share of the draws (draw, row) in which each of ``rows`` and each of ``columns`` are in the same cluster.

    ``rows`` are all rows by default, and ``columns`` the same as ``rows``. Single precision beyond 5,000 rows.
    """
    narrow = _narrow(draws)
    mine = narrow if rows is None else np.ascontiguousarray(narrow[:, rows])
    theirs = mine if columns is None else np.ascontiguousarray(narrow[:, columns])
    shape = mine.shape[1], theirs.shape[1]
    out = np.empty(shape, dtype=np.float64 if max(shape) <= MOST_DOUBLE else np.float32)

    def one(start: int) -> None:
        here = slice(start, start + TILE)
        # A matrix of rows with themselves is symmetric.
        first = start if theirs is mine else 0
        for other in range(first, shape[1], TILE):
            there = slice(other, other + TILE)
            share = _counted(mine, theirs, here, there) / len(draws)
            out[here, there] = share
            if theirs is mine:
                out[there, here] = share.T

    in_threads(one, list(range(0, shape[0], TILE)), big=len(draws) * out.size > 1e8)
    return out


def sparse_similarity(draws: NDArray[Any], threshold: float) -> Any:
    """Similarity of all pairs that share a cluster in a share ``threshold`` of the draws or more, as a CSR array."""
    narrow = _narrow(draws)
    n_rows = narrow.shape[1]
    least = int(np.ceil(threshold * len(draws) - 1e-9))
    parts: list[Any] = []
    n_entries = 0
    batch = TILE * (os.cpu_count() or 1)

    def one(start: int) -> Any:
        here = slice(start, min(start + TILE, n_rows))
        blocks = []
        for other in range(0, n_rows, TILE):
            counts = _counted(narrow, narrow, here, slice(other, other + TILE))
            counts[counts < least] = 0
            block = scipy.sparse.csr_array(counts)
            block.data = (block.data / len(draws)).astype(np.float32)
            blocks.append(block)
        return scipy.sparse.hstack(blocks, format="csr")

    for start in range(0, n_rows, batch):
        parts += in_threads(one, list(range(start, min(start + batch, n_rows), TILE)), big=True)
        n_entries = sum(part.nnz for part in parts)
        if n_entries > MOST_ENTRIES:
            raise ValueError(
                f"threshold: more than {MOST_ENTRIES:,} pairs have a similarity of {threshold:g} or more; raise it, or "
                "compare only some of them"
            )
    return scipy.sparse.vstack(parts, format="csr")


def _narrow(draws: NDArray[Any]) -> NDArray[Any]:
    """Labels in as few bytes as possible, so that a processor compares more at a time."""
    top = int(draws.max())
    kind = np.uint8 if top < 2**8 else np.uint16 if top < 2**16 else np.int32
    return np.ascontiguousarray(draws, dtype=kind)


def _counted(mine: NDArray[Any], theirs: NDArray[Any], here: slice, there: slice) -> NDArray[np.int32]:
    """Number of draws in which rows are together, for a tile of the matrix."""
    a, b = np.ascontiguousarray(mine[:, here]), np.ascontiguousarray(theirs[:, there])
    counts = np.zeros((a.shape[1], b.shape[1]), dtype=np.int32)
    _count_together(a, b, counts)
    return counts


class Condensed(NamedTuple):
    """Draws without repetitions.

    ``draws`` (draw, row) holds each distinct draw once, ``draw_weights`` how often it occurred. Rows that share a
    cluster in every draw are merged into one; ``row_weights`` is how many, and ``row_of`` the merged row of each row.
    """

    draws: NDArray[Any]
    draw_weights: FloatArray
    row_weights: IntArray
    row_of: IntArray


def condense(draws: NDArray[Any]) -> Condensed:
    """Merge equal draws, and rows that no draw separates."""
    first, number = _distinct(draws)
    some = draws[first]
    column, row_of = _distinct(some.T)
    return Condensed(
        np.ascontiguousarray(some[:, column]),
        np.bincount(number).astype(np.float64),
        np.bincount(row_of).astype(np.int64),
        row_of,
    )


def _distinct(vectors: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Index of the first occurrence of each distinct vector, and for every vector the number of its distinct one.

    Found by 64-bit hashes and then compared in full; if different vectors share a hash, all count as distinct.
    """
    keys = np.zeros(len(vectors), dtype=np.uint64)
    random = np.random.default_rng(0)
    factor = np.frombuffer(random.bytes(8 * vectors.shape[1]), dtype=np.uint64) | np.uint64(1)
    by_rows = vectors.flags.c_contiguous
    for j, block in _slabs(vectors, 0 if by_rows else 1):
        if by_rows:
            keys[j] = block.astype(np.uint64) @ factor
        else:
            keys += block.astype(np.uint64) @ factor[j]
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    back = np.argsort(first, kind="stable")
    rank = np.empty(len(first), dtype=np.int64)
    rank[back] = np.arange(len(first))
    first, number = first[back], rank[number.reshape(-1)]
    same = all(
        np.array_equal(block, vectors[first[number[j]]] if by_rows else vectors[:, j][first[number]])
        for j, block in _slabs(vectors, 0 if by_rows else 1)
    )
    everything = np.arange(len(vectors))
    return (first, number) if same else (everything, everything)


def _slabs(vectors: NDArray[Any], axis: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Blocks of whole vectors (axis 0) or of coordinates of all vectors (axis 1)."""
    step = max(1, _BLOCK // max(1, vectors.shape[1 - axis]))
    for start in range(0, vectors.shape[axis], step):
        j = slice(start, start + step)
        yield j, vectors[j] if axis == 0 else vectors[:, j]


@kernel
def _losses(candidates, draws, k_a, k_b, weights, values, power, adjusted, weight, out):
    n_rows = draws.shape[1]
    dense = k_a * k_b <= n_rows
    table = np.zeros(k_a * k_b if dense else k_b, dtype=np.int64)
    sizes_a = np.zeros(k_a, dtype=np.int64)
    sizes_b = np.zeros(k_b, dtype=np.int64)
    total = 0
    for i in range(n_rows):
        total += weights[i]
    scale = float(total) ** power
    for c in range(candidates.shape[0]):
        a = candidates[c]
        sizes_a[:] = 0
        for i in range(n_rows):
            sizes_a[a[i]] += weights[i]
        of_a = 0.0
        for k in range(k_a):
            of_a += values[sizes_a[k]]
        order = np.arange(0) if dense else np.argsort(a, kind="mergesort")
        for m in range(draws.shape[0]):
            sizes_b[:] = 0
            if dense:
                both = _overlap_by_table(a, draws[m], k_a, k_b, weights, values, table, sizes_b)
            else:
                both = _overlap_by_cluster(a, draws[m], order, weights, values, table, sizes_b)
            of_b = 0.0
            for y in range(k_b):
                of_b += values[sizes_b[y]]
            if adjusted:
                out[c, m] = 1.0 - adjusted_rand(both, of_a, of_b, values[total])
            else:
                out[c, m] = max(0.0, (2.0 - weight) * of_a + weight * of_b - 2.0 * both) / scale


@inner_kernel
def _overlap_by_table(a, b, k_a, k_b, weights, values, table, sizes_b):
    """Sum of f over the contingency table, and its column sums; the scratch table is zero before and after."""
    for i in range(len(a)):
        table[a[i] * k_b + b[i]] += weights[i]
    both = 0.0
    for x in range(k_a):
        for y in range(k_b):
            count = table[x * k_b + y]
            sizes_b[y] += count
            both += values[count]
            table[x * k_b + y] = 0
    return both


@inner_kernel
def _overlap_by_cluster(a, b, order, weights, values, line, sizes_b):
    """The same where the table has more cells than rows: one line at a time, and only cells that are not zero."""
    both = 0.0
    first = 0
    while first < len(order):
        last = first
        while last < len(order) and a[order[last]] == a[order[first]]:
            line[b[order[last]]] += weights[order[last]]
            last += 1
        for j in range(first, last):
            y = b[order[j]]
            sizes_b[y] += line[y]
            both += values[line[y]]
            line[y] = 0
        first = last
    return both


@inner_kernel
def adjusted_rand(both, of_a, of_b, of_all):
    """Hubert and Arabie's index from numbers of pairs: together in both, in a, in b, and all."""
    chance = of_a * of_b / max(of_all, 1.0)
    spread = 0.5 * (of_a + of_b) - chance
    # Both are one cluster, or both are all single rows: they are equal.
    return 1.0 if spread <= 1e-12 * of_all else (both - chance) / spread


@kernel
def _count_together(a, b, counts):
    """Count in bytes, up to 255 draws at a time, because a processor adds dozens of bytes at once."""
    n_draws, width = b.shape
    line = np.zeros(width, dtype=np.uint8)
    for first in range(0, n_draws, 255):
        last = min(first + 255, n_draws)
        for i in range(a.shape[1]):
            line[:] = 0
            for m in range(first, last):
                own = a[m, i]
                other = b[m]
                for j in range(width):
                    line[j] += np.uint8(other[j] == own)
            for j in range(width):
                counts[i, j] += line[j]
