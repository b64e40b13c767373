"""DP-means at a million rows against the package pdc-dp-means, in turn, same rows and same penalty.

That package wants an older scikit-learn, so it runs in a Python of its own, which COUNTLESS_PDC names (an
environment with pdc-dp-means installed). Without it the yardstick is scikit-learn's KMeans, told the true number, one
start. Only the fits are timed; the objective is computed from the labels, the same way for all.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from common import print_table
from sklearn.cluster import KMeans

import countless as cl

OTHER = """
import json, sys, time
import numpy as np
from pdc_dp_means import DPMeans
X = np.load(sys.argv[1])
DPMeans(n_clusters=1, n_init=1, delta=float(sys.argv[2]), random_state=0).fit(X[:5000])
start = time.perf_counter()
model = DPMeans(n_clusters=int(sys.argv[3]), n_init=1, delta=float(sys.argv[2]), random_state=0).fit(X)
seconds = time.perf_counter() - start
np.save(sys.argv[4], model.labels_)
print(json.dumps(seconds))
"""


def objective(X: np.ndarray, labels: np.ndarray, penalty: float) -> tuple[int, float]:
    """Number of clusters and J, from the labels alone."""
    used, labels = np.unique(labels, return_inverse=True)
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, X[:, j]) / sizes for j in range(X.shape[1])], axis=1)
    return len(used), float(sum(((X[:, j] - means[labels, j]) ** 2).sum() for j in range(X.shape[1]))) + penalty * len(
        used
    )


def ours(X: np.ndarray, **settings: object) -> tuple[float, np.ndarray]:
    """Seconds and labels of a second fit; the first one compiles."""
    cl.DPMeans(random_state=0, **settings).fit(X[:30_000])
    start = time.perf_counter()
    labels = cl.DPMeans(random_state=0, **settings).fit(X).labels_
    return time.perf_counter() - start, labels


def theirs(X: np.ndarray, penalty: float, n_start: int, k: int) -> tuple[str, float, np.ndarray]:
    """Seconds and labels of the peer."""
    python = os.environ.get("COUNTLESS_PDC")
    if python is None:
        start = time.perf_counter()
        labels = KMeans(k, n_init=1, random_state=0).fit(X).labels_
        return f"KMeans({k})", time.perf_counter() - start, labels
    with tempfile.TemporaryDirectory() as folder:
        rows, labels_file = Path(folder, "rows.npy"), Path(folder, "labels.npy")
        np.save(rows, X)
        command = [python, "-c", OTHER, str(rows), str(penalty), str(n_start), str(labels_file)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
        return f"pdc-dp-means({n_start})", float(json.loads(done.stdout)), np.load(labels_file)


if __name__ == "__main__":
    n, d, k, penalty = 1_000_000, 8, 20, 50.0
    rows = []
    for name, spread in [("separated", 5.0), ("overlapping", 2.0)]:
        rng = np.random.default_rng(0)
        X = (rng.normal(size=(k, d)) * spread)[rng.integers(k, size=n)] + rng.normal(size=(n, d))
        results = [("countless, splits=False", *ours(X, penalty=penalty, splits=False))]
        results += [theirs(X, penalty, n_start, k) for n_start in (1, 8)]
        results += [(f"countless, n_clusters={k}", *ours(X, n_clusters=k)), ("countless", *ours(X))]
        faster = min(seconds for _, seconds, _ in results[1:3])
        for label, seconds, labels in results:
            found, value = objective(X, labels, penalty)
            rows.append([name, label, f"{seconds:.2f}", f"{seconds / faster:.2f}", found, f"{value:.0f}"])
    print_table(["data", "engine", "seconds", "of the faster peer", "clusters", f"J at penalty {penalty:g}"], rows)
