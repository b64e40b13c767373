"""One collapsed Gibbs sweep: the generic kernel against a hand-written one on the same rows, in turn.

``python benchmarks/sweep.py growth``: how its time grows with the rows, the columns and the clusters.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from common import print_table, use_shared

import countless as cl
from countless.inference import Problem, State
from countless.partitions.moves.sweeps import GibbsSweep

use_shared("yardstick")
import gibbs_yardstick  # noqa: E402


def seconds_per_sweep(n: int, d: int, k: int, sweeps: int = 15) -> float:
    """Median time of a settled sweep on the yardstick's own rows and prior."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(k, d)) * 5
    labels = rng.integers(k, size=n)
    X = means[labels] + rng.normal(size=(n, d))
    family = cl.families.Gaussian(mean=X.mean(axis=0), mean_strength=0.01, scale=np.eye(d), dof=d + 2)
    problem = Problem.of(X, family.resolve(X), cl.priors.CRP(1.0))
    state = State(problem, labels, 1.0)
    move = GibbsSweep()
    times = []
    for _ in range(sweeps):
        start = time.perf_counter()
        move.step(rng, state)
        times.append(time.perf_counter() - start)
    return float(np.median(times[2:]))


def compare() -> None:
    """Ratios to the hand-written kernel."""
    rows = []
    for n, d, k in [(10_000, 10, 20), (10_000, 2, 20), (10_000, 32, 10)]:
        ours = seconds_per_sweep(n, d, k)
        theirs, _ = gibbs_yardstick.run(n, d, k)
        rows.append([n, d, k, f"{1e3 * ours:.2f}", f"{1e3 * theirs:.2f}", f"{ours / theirs:.2f}"])
    print_table(["N", "D", "K", "countless ms", "hand-written ms", "ratio"], rows)


def growth() -> None:
    """Time against N, D and K."""
    rows = []
    for what, sizes in [
        ("N", [(1_000, 10, 20), (10_000, 10, 20), (100_000, 10, 20), (1_000_000, 10, 20)]),
        ("D", [(10_000, 2, 20), (10_000, 4, 20), (10_000, 8, 20), (10_000, 16, 20), (10_000, 32, 20)]),
        ("K", [(10_000, 10, 5), (10_000, 10, 20), (10_000, 10, 80)]),
    ]:
        for n, d, k in sizes:
            seconds = seconds_per_sweep(n, d, k, sweeps=7)
            rows.append([what, n, d, k, f"{1e3 * seconds:.2f}", f"{1e9 * seconds / n:.0f}"])
    print_table(["grows", "N", "D", "K", "ms a sweep", "ns a row"], rows)


if __name__ == "__main__":
    growth() if sys.argv[1:] == ["growth"] else compare()
