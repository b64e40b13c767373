"""Effective draws of the number of clusters per second of CPU time, one chain, on two classic tables.

With the sources of another version first on the path (``PYTHONPATH=other/src``), the two are compared on one machine.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from common import print_table

import countless as cl
from countless.core.convergence import effective
from countless.inference import CollapsedGibbs

WARMUP, DRAWS, SEEDS = 200, 4000, 3


def effective_per_second(X: np.ndarray, learned: bool, seed: int) -> tuple[float, float]:
    """Effective draws of the number of clusters per second, and the time of a draw."""
    tune = "learn" if learned else None
    engine = CollapsedGibbs(chains=1, draws=DRAWS, warmup=WARMUP, n_threads=1)
    cl.DPMixture(inference=CollapsedGibbs(chains=1, draws=2, warmup=2), tune=tune, random_state=0).fit(X)
    short = CollapsedGibbs(chains=1, draws=1, warmup=WARMUP, n_threads=1)
    begin = time.process_time()
    cl.DPMixture(inference=short, tune=tune, random_state=seed).fit(X)
    before = time.process_time()
    model = cl.DPMixture(inference=engine, tune=tune, random_state=seed).fit(X)
    seconds = (time.process_time() - before) - (before - begin)
    counts = np.asarray(model.posterior_.n_clusters, dtype=np.float64)
    return effective(counts) / seconds, seconds / DRAWS


if __name__ == "__main__":
    rows = []
    for name, X in (("Old Faithful", cl.datasets.load_faithful()), ("galaxies", cl.datasets.load_galaxies())):
        table = np.asarray(X, dtype=np.float64).reshape(len(X), -1)
        for learned in (False, True):
            found = np.array([effective_per_second(table, learned, seed) for seed in range(SEEDS)])
            rate, cost = np.median(found, axis=0)
            rows.append([name, "learned" if learned else "given", f"{rate:.0f}", f"{1e3 * cost:.2f}"])
    print(cl.__file__, file=sys.stderr)
    print_table(["table", "hyperparameters", "effective per s", "ms per draw"], rows)
