"""Defaults on 10,000 rows of 20 Gaussian clusters in 10 dimensions, all chains from one cluster, ten seeds.

usage: python benchmarks/cold_start.py [FIRST_SEED LAST_SEED]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from common import print_table

import countless as cl
from countless.metrics import normalized_mutual_information as nmi


def large(labels: np.ndarray) -> int:
    """Clusters with at least 0.5 % of the rows."""
    return int((np.bincount(labels) >= 0.005 * len(labels)).sum())


if __name__ == "__main__":
    first, last = (int(a) for a in sys.argv[1:3]) if len(sys.argv) > 2 else (0, 10)
    rows = []
    for seed in range(first, last):
        sample = cl.datasets.make_gaussian_mixture(10_000, 10, 20, random_state=seed)
        start = time.perf_counter()
        engine = cl.inference.CollapsedGibbs(start="one")
        model = cl.DPMixture(inference=engine, random_state=seed).fit(sample.X)
        seconds = time.perf_counter() - start
        oracle, ours = nmi(sample.oracle_labels(sample.X), sample.labels), nmi(model.labels_, sample.labels)
        good = oracle - ours <= 0.01 and abs(large(model.labels_) - large(sample.labels)) <= 1 and seconds < 60
        rows.append(
            [seed, f"{seconds:.1f}", f"{oracle:.4f}", f"{ours:.4f}", large(sample.labels), large(model.labels_), good]
        )
    print_table(["seed", "seconds", "oracle NMI", "NMI", "large, true", "large, found", "good"], rows)
