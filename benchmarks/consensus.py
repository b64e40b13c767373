"""Time and peak memory of posterior summaries of partitions, on draws like those of a sampler.

Rows are drawn from a mixture in the plane; each draw gives every row a component by its exact probabilities, merges
some pairs of neighbours, splits some clusters in halves, and opens a few clusters of single rows. Each line runs in a
process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import print_table
from numpy.typing import NDArray

# rows, draws, clusters, how far apart they are
CASES = [
    (150, 1_000, 4, 4.0),
    (1_000, 1_000, 8, 4.0),
    (5_000, 1_000, 10, 4.0),
    (10_000, 1_000, 10, 4.0),
    (10_000, 1_000, 30, 4.0),
    (10_000, 1_000, 60, 2.0),
    (100_000, 1_000, 30, 4.0),
]


def draws_like_a_sampler(
    n_rows: int, n_draws: int, n_clusters: int, spread: float, seed: int = 0
) -> NDArray[np.uint8 | np.uint16]:
    """Labels (draw, row) numbered by first appearance."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_clusters, 2)) * spread * np.sqrt(n_clusters) / 2
    X = centres[rng.choice(n_clusters, n_rows, p=rng.dirichlet(np.full(n_clusters, 3.0)))] + rng.normal(
        size=(n_rows, 2)
    )
    logs = -0.5 * ((X[:, None] - centres) ** 2).sum(axis=2)
    odds = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    odds /= odds[:, -1:]
    gaps = ((centres[:, None] - centres) ** 2).sum(axis=2) + 1e9 * np.eye(n_clusters)
    neighbour = gaps.argmin(axis=1)
    out = np.empty((n_draws, n_rows), dtype=np.uint8 if n_clusters < 100 else np.uint16)
    for draw in out:
        labels = (odds < rng.random(n_rows)[:, None]).sum(axis=1)
        for k in np.flatnonzero(rng.random(n_clusters) < 0.05):
            labels[labels == k] = neighbour[k]
        for k in np.flatnonzero(rng.random(n_clusters) < 0.05):
            labels[(labels == k) & (X[:, 0] > centres[k, 0])] = n_clusters + k
        few = rng.integers(n_rows, size=rng.poisson(3))
        labels[few] = 2 * n_clusters + np.arange(len(few))
        first = np.full(int(labels.max()) + 1, n_rows)
        first[labels[::-1]] = np.arange(n_rows)[::-1]
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        draw[:] = rank[labels]
    return out


def _memory(what: str) -> float:
    """A line of this process's status, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith(what))) / 1e3


def _measure(case: tuple[int, int, int, float], loss: str) -> list[object]:
    from countless.posterior.partition.consensus import consensus, expected_loss

    consensus(draws_like_a_sampler(50, 20, 3, 4.0), loss)
    draws = draws_like_a_sampler(*case)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak so far
    before, start, cpu = _memory("VmRSS"), time.perf_counter(), time.process_time()
    labels = consensus(draws, loss)
    seconds, cpu, extra = time.perf_counter() - start, time.process_time() - cpu, _memory("VmHWM") - before
    some = draws[:: max(1, len(draws) // 100)]
    best = min(expected_loss(draw, some, loss) for draw in some[:20])
    found = expected_loss(labels, some, loss)
    return [
        *case[:3],
        loss,
        f"{seconds:.2f}",
        f"{cpu:.2f}",
        f"{extra:.0f}",
        int(labels.max()) + 1,
        f"{found:.4f}",
        f"{best:.4f}",
    ]


def in_own_process(job: Callable[..., list[object]], *arguments: object) -> list[object]:
    """The result of a job in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(job, arguments)


if __name__ == "__main__":
    chosen = [int(number) for number in sys.argv[2:]] or range(len(CASES))
    kinds = sys.argv[1].split(",") if len(sys.argv) > 1 else ["vi", "binder", "omari"]
    rows = [in_own_process(_measure, CASES[number], loss) for number in chosen for loss in kinds]
    print_table(["rows", "draws", "clusters", "loss", "s", "CPU s", "MB", "found", "loss", "of 20 draws"], rows)
