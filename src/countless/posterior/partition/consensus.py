"""The consensus: the partition of least posterior expected loss, searched over all partitions.

After Dahl, Johnson and Mueller 2022, *Search algorithms and loss functions for Bayesian clustering* (SALSO), Journal of
Computational and Graphical Statistics 31. From each of many starts, rows are placed one after the other in random
order, then moved one at a time while the loss falls; then whole clusters are dissolved and their rows placed again. The
best draws are among the starts, so that the result is never worse than they are. Rows that no draw separates move
together. That loses no minimum of the variation of information or of Binder's loss, whatever their weight, because
both are concave in the number of such rows in a cluster.

Two rules make it a clustering for people. It has no more clusters than nearly all draws have; otherwise the variation
of information would separate all rows where draws have nothing in common. And wavering rows go home (``settle.py``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.random import as_generator, spawn
from ...core.validate import by_first_appearance, by_size, whole_number
from .draws import FloatArray, IntArray, thinned
from .search import LANES, Candidate, Target, candidate, reallocate, sweep, target_of
from .settle import settle as settled
from .similarity import Condensed, Loss, condense, in_threads, losses, weighted_loss

# Share of the draws that have no more clusters than a consensus may have.
SUPPORTED = 0.975
# Labels (row, draw) that a search reads; more draws are thinned evenly.
MOST_LOOKED_AT = 25_000_000
# Pairs (cluster of a draw, cluster of the candidate) in all threads, 8 bytes each.
MOST_COUNTS = 40_000_000
# Draws that are always kept; if their clusters are too many to search, the best draw is the consensus.
FEWEST = 20
# Additions (about 0.4 ns each) after which a restart begins no further round, and the search no further restart.
LONGEST = 2e10
BUDGET = 3e10
# Restarts of a search, and of one that is quick.
RESTARTS = 16
QUICK_RESTARTS = 32
# Restarts that run at the same time, and how many must find the best partition before the search ends.
WAVE = 4
ENOUGH = 3
# Expected losses that differ by less than this are equal.
ALIKE = 1e-5
# Additions of a sweep below which neither threads nor an early end are worthwhile.
QUICK = 1e6
# Number of draws with which all draws are compared, to find the best ones.
SCREEN = 64


def expected_loss(labels: NDArray[Any], draws: NDArray[Any], loss: str = "vi", weight: float = 1.0) -> float:
    """Mean loss of a partition against draws (draw, row).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.posterior.partition.consensus import expected_loss
    >>> expected_loss(np.array([0, 0, 1]), np.array([[0, 0, 1], [0, 0, 1]]), "binder")
    0.0
    """
    kind = weighted_loss(loss, weight)
    return float(losses(by_first_appearance(labels)[None], draws, kind).mean())


def consensus(
    draws: NDArray[Any],
    loss: str = "vi",
    max_clusters: int | None = None,
    n_restarts: int | None = None,
    random_state: Any = 0,
    weight: float = 1.0,
    settle: bool = True,
) -> IntArray:
    """Partition of least expected loss over the draws (draw, row), settled; see ``PartitionDraws.consensus``."""
    kind = weighted_loss(loss, weight)
    most = _most_clusters(draws, max_clusters)
    if n_restarts is not None:
        n_restarts = whole_number("n_restarts", n_restarts, 1)
    rng = as_generator(random_state)
    data = condense(_affordable(draws))
    if len(data.draws) == 1 and int(data.draws.max()) < most:
        return by_size(data.draws[0][data.row_of])
    screen = _Screen.of(data, kind, most, rng)
    best = _search(data, kind, screen.best(data, 4), most, n_restarts, rng)
    labels = screen.better(data, kind, best)[data.row_of]
    return by_size(settled(labels, draws) if settle else labels)


def _most_clusters(draws: NDArray[Any], given: int | None) -> int:
    """Most clusters that a consensus may have: as given, any number for 0, by default as the draws support."""
    if given is None:
        return int(np.quantile(draws.max(axis=1), SUPPORTED, method="inverted_cdf")) + 1
    return whole_number("max_clusters", given, 0) or draws.shape[1]


def _affordable(draws: NDArray[Any]) -> NDArray[Any]:
    """As many draws, evenly spaced, as the tables have memory for."""
    n_clusters = draws.max(axis=1).astype(np.int64) + 1
    cells = n_clusters.mean() * _room(int(n_clusters.max()), draws.shape[1])
    kept = int(max(FEWEST, min(MOST_LOOKED_AT // draws.shape[1], MOST_COUNTS // cells)))
    return thinned(draws, kept)


def _room(n_clusters: int, most: int) -> int:
    """Number of slots for these clusters and a few more, a multiple of the vector length."""
    return LANES * (min(n_clusters + LANES, most) // LANES + 1)


class _Screen(NamedTuple):
    """Expected losses of the draws themselves, with standard errors.

    ``numbers`` are the draws that have no more clusters than allowed.
    """

    numbers: IntArray
    mean: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, data: Condensed, loss: Loss, most: int, rng: np.random.Generator) -> _Screen:
        """Compare all draws with a sample of them, or with all if there are few."""
        numbers = np.flatnonzero(data.draws.max(axis=1) < most)
        n_draws = len(data.draws)
        weights = data.draw_weights / data.draw_weights.sum()
        some = np.arange(n_draws) if n_draws <= SCREEN else rng.choice(n_draws, SCREEN, p=weights)
        if not len(numbers):
            return cls(numbers, np.empty(0), np.empty(0))
        each = losses(data.draws[numbers], data.draws[some], loss, data.row_weights)
        if n_draws <= SCREEN:
            return cls(numbers, each @ weights, np.zeros(len(numbers)))
        return cls(numbers, each.mean(axis=1), each.std(axis=1) / np.sqrt(SCREEN))

    def best(self, data: Condensed, count: int) -> list[IntArray]:
        """The draws of least expected loss."""
        return [data.draws[m].astype(np.int64) for m in self.numbers[np.argsort(self.mean, kind="stable")[:count]]]

    def better(self, data: Condensed, loss: Loss, labels: IntArray) -> IntArray:
        """The best of ``labels`` and all draws; draws more than five standard errors worse are skipped."""
        weights = data.draw_weights / data.draw_weights.sum()
        mine = losses(labels[None], data.draws, loss, data.row_weights)[0] @ weights
        rivals = data.draws[self.numbers[self.mean - 5.0 * self.error < mine]]
        if not len(rivals):
            return labels
        theirs = losses(rivals, data.draws, loss, data.row_weights) @ weights
        at = int(theirs.argmin())
        return rivals[at].astype(np.int64) if theirs[at] < mine - 1e-12 else labels


def _search(
    data: Condensed, loss: Loss, best_draws: list[IntArray], most: int, n_restarts: int | None, rng: np.random.Generator
) -> IntArray:
    """The best partition of all restarts.

    If the number of restarts is not given, a slow search ends when several of them have found the best partition.
    """
    n_draws, n_rows = data.draws.shape
    room = _room(int(data.draws.max()) + 1, min(n_rows, most))
    if best_draws and room * (data.draws.max(axis=1) + 1.0).sum() > 2 * MOST_COUNTS:
        return best_draws[0]
    t = target_of(data, loss, most)
    work = float(t.cells.size) * min(room, LANES * (1 + t.n_cells // n_draws // LANES))
    count = n_restarts or (RESTARTS if work > QUICK else QUICK_RESTARTS)
    streams = spawn(rng, count)
    starts = _starts(best_draws, n_rows, min(room, most, n_rows), count, rng)
    threads = max(1, MOST_COUNTS // (t.n_cells * room))
    # A hundred times less than the Monte Carlo error of the loss.
    near = ALIKE * float(data.draw_weights.sum() * data.row_weights.sum() ** float(loss.power))
    found: list[Found] = []

    def one(number: int) -> Found:
        return _descend(t, starts[number], room, streams[number])

    for wave in range(0, count, WAVE):
        found += in_threads(one, list(range(wave, min(count, wave + WAVE))), work > QUICK, threads)
        least = min(each.objective for each in found)
        met = sum(each.objective <= least + near for each in found)
        spent = sum(each.work for each in found)
        if n_restarts is None and work > QUICK and (met >= ENOUGH or spent > BUDGET):
            break
    return min(found, key=lambda each: each.objective).labels


def _starts(
    best_draws: list[IntArray], n_rows: int, n_clusters: int, count: int, rng: np.random.Generator
) -> list[IntArray]:
    """Starts: the best draws, one cluster, unplaced rows (-1), then unplaced rows and random labels in turn."""
    nothing = np.full(n_rows, -1)
    starts = [*best_draws[:1], nothing, nothing, *best_draws[1:2], np.zeros(n_rows, dtype=np.int64), *best_draws[2:]]
    while len(starts) < count:
        width = int(rng.integers(1, n_clusters, endpoint=True))
        starts += [nothing, rng.integers(width, size=n_rows)]
    return starts[:count]


class Found(NamedTuple):
    """Result of a restart, and the additions that it took."""

    objective: float
    labels: IntArray
    work: float


def _descend(t: Target, start: IntArray, room: int, rng: np.random.Generator) -> Found:
    """The local minimum that a start leads to."""
    # More than the rounding error of the gains, so that every step lowers the loss.
    unit = 1e-9 if t.adjusted else 1e-6 * (t.values[-1] - t.values[-2])
    tolerance = unit * float(t.draw_weights.sum())
    most = min(len(start), t.most)
    c = candidate(t, start, room)
    sweep(t, c, rng.permutation(len(start)), tolerance)
    while True:
        _search_from(t, c, rng, tolerance)
        wider = min(_room(2 * room, most), MOST_COUNTS // t.n_cells)
        if c.sums[2] < min(room, most) or wider <= room:
            return Found(float(c.sums[0]), c.labels, float(c.sums[4]))
        start, room, spent = c.labels, wider, c.sums[4]
        del c
        c = candidate(t, start, room)
        c.sums[4] = spent


def _search_from(t: Target, c: Candidate, rng: np.random.Generator, tolerance: float) -> None:
    """Alternate between single moves and dissolving clusters while the loss falls."""
    tried: dict[int, IntArray] = {}
    nothing = np.empty(0, dtype=np.int64)
    improved = True
    while improved and c.sums[4] < LONGEST:
        _sweep_until_still(t, c, rng, tolerance)
        improved = False
        for k in rng.permutation(np.flatnonzero(c.sizes)):
            rows = np.flatnonzero(c.labels == k)
            # Dissolving the same cluster again would mostly give the same result.
            if len(rows) > 1 and not np.array_equal(tried.get(int(k), nothing), rows) and c.sums[4] < LONGEST:
                tried[int(k)] = rows
                improved |= reallocate(t, c, rng.permutation(rows), tolerance)


def _sweep_until_still(t: Target, c: Candidate, rng: np.random.Generator, tolerance: float) -> None:
    """Sweep until no row moves; between sweeps over all rows, sweep over the least certain ones.

    Rows of one cluster follow each other, because they read mostly the same lines.
    """

    def moved(rows: IntArray) -> bool:
        in_order = rows[np.argsort(c.labels[rows], kind="stable")]
        return bool(sweep(t, c, in_order, tolerance)) and c.sums[4] < LONGEST

    everything = rng.permutation(len(c.labels))
    while moved(everything):
        close = np.flatnonzero(c.margins <= np.quantile(c.margins, 0.1))
        while moved(close):
            pass
