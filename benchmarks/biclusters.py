"""Biclusterings beside graph-tool's block models and scikit-learn's spectral co-clustering, same matrix, same run.

    python benchmarks/biclusters.py dense       # 500 x 300 counts, 6 x 10 blocks
    python benchmarks/biclusters.py sparse      # 5,000 x 5,000 counts, a million stored, 20 x 20 blocks
    python benchmarks/biclusters.py classic3    # 3,891 documents x 4,303 words, popularities; needs the data
    python benchmarks/biclusters.py presence    # the same, where each word of a document counts once

graph-tool runs in the Python that COUNTLESS_GRAPH_TOOL names (default: /usr/bin/python3, where Debian puts it); the
documents are classic3_*.csv in COUNTLESS_DATA (default: ../shared/data). Each method is a process of its own; only the
fit is timed, imports, data and compiling left out. Read the CPU time where other jobs share the machine. Spectral
co-clustering is told the true numbers, and graph-tool's sweeps begin at twice the true numbers (dense, sparse) or at
40 and 80 groups (classic3).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import SHARED, print_table
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, homogeneity_completeness_v_measure, normalized_mutual_info_score

GRAPH_TOOL = os.environ.get("COUNTLESS_GRAPH_TOOL", "/usr/bin/python3")
DATA = Path(os.environ.get("COUNTLESS_DATA", SHARED / "data"))
LIMIT = float(os.environ.get("COUNTLESS_LIMIT", "600"))

PEER = """
import json, sys, time
import numpy as np
import graph_tool.all as gt
path, kind, corrected = sys.argv[1], sys.argv[2], sys.argv[5] == "1"
start_rows, start_columns = int(sys.argv[3]), int(sys.argv[4])
data = np.load(path)
rows, columns, values, n, d = data["rows"], data["columns"], data["values"], int(data["n"]), int(data["d"])
gt.seed_rng(1)
np.random.seed(0)
gt.openmp_set_num_threads(1)
g = gt.Graph(directed=False)
g.add_vertex(n + d)
g.add_edge_list(np.stack([rows, columns + n], 1))
weights = g.new_ep("int", vals=values.astype(int))
side = np.zeros(n + d, dtype=int)
side[n:] = 1
side = g.new_vp("int", vals=side)
wall, cpu = time.perf_counter(), time.process_time()
if kind == "mdl":
    s = gt.minimize_blockmodel_dl(g, state_args=dict(deg_corr=corrected, pclabel=side, eweight=weights))
else:
    b = np.random.randint(0, start_rows, n + d)
    b[n:] = start_rows + np.random.randint(0, start_columns, d)
    s = gt.BlockState(g, b=g.new_vp("int", vals=b), deg_corr=corrected, pclabel=side, eweight=weights)
    old = s.entropy()
    for _ in range(40):
        s.mcmc_sweep(beta=np.inf, niter=5)
        s.multiflip_mcmc_sweep(beta=np.inf, niter=2)
        new = s.entropy()
        if old - new < 1e-5 * abs(new):
            break
        old = new
    if kind == "bounded":
        b = s.get_blocks().copy()
        s.multilevel_mcmc_sweep(niter=1, psingle=0, beta=np.inf, B_max=s.get_nonempty_B(), b_max=b)
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
labels = np.array(s.get_blocks().a)
np.savez(path + ".out.npz", rows=labels[:n], columns=labels[n:])
print(json.dumps([cpu, wall]))
"""

OURS = """
import json, sys, time
import numpy as np
from scipy import sparse
from sklearn.cluster import SpectralCoclustering
import countless as cl
path, kind, corrected, k = sys.argv[1], sys.argv[2], sys.argv[3] == "1", int(sys.argv[4])
data = np.load(path)
places = data["rows"], data["columns"]
X = sparse.csr_array((data["values"].astype(float), places), shape=(int(data["n"]), int(data["d"])))
def fit(X):
    if kind == "spectral":
        return SpectralCoclustering(k, random_state=0).fit(sparse.csr_matrix(X) if sparse.issparse(X) else X)
    return cl.InfiniteBiclustering(kind, degree_corrected=corrected, random_state=0, inference="map").fit(X)
small = np.random.default_rng(0).poisson(np.kron([[0.1, 0.5], [0.5, 0.1]], np.ones((40, 40))))
fit(sparse.csr_array(small.astype(float)))
wall, cpu = time.perf_counter(), time.process_time()
model = fit(X)
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
np.savez(path + ".out.npz", rows=model.row_labels_, columns=model.column_labels_)
print(json.dumps([cpu, wall]))
"""


def planted(shape: tuple[int, int], blocks: tuple[int, int], mean: float, tag: int) -> tuple:
    """Poisson counts whose rates are gamma draws for each block, and both partitions."""
    rng = np.random.default_rng([6, tag, 0])
    parts = []
    for n, k in zip(shape, blocks, strict=True):
        labels = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 5.0)))
        labels[:k] = np.arange(k)
        parts.append(rng.permutation(labels))
    rates = rng.gamma(1.5, mean / 1.5, size=blocks) + 0.02 * mean
    X = np.concatenate([rng.poisson(rates[k][parts[1]])[None] for k in parts[0]]).astype(np.int32)
    return sparse.csr_array(X), parts[0], parts[1]


def classic3() -> tuple:
    """Documents x words, and the collection of each document."""
    import pandas as pd

    cells, documents = pd.read_csv(DATA / "classic3_triplets.csv"), pd.read_csv(DATA / "classic3_docs.csv")
    X = sparse.csr_array((cells["count"].to_numpy(), (cells["doc"].to_numpy(), cells["term"].to_numpy())))
    return X, documents["class"].astype("category").cat.codes.to_numpy(), None


def run(python: str, code: str, X: sparse.csr_array, *words: object) -> tuple[float, float, np.ndarray, np.ndarray]:
    """CPU time, time and labels of a method in its own process; infinite where it did not end."""
    with tempfile.TemporaryDirectory() as folder:
        path, coo = f"{folder}/matrix.npz", X.tocoo()
        n, d = X.shape
        np.savez(path, rows=coo.coords[0], columns=coo.coords[1], values=coo.data, n=n, d=d)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [python, "-W", "ignore", "-c", code, path, *map(str, words)]
        started = time.perf_counter()
        try:
            out = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=environment, check=False)
        except subprocess.TimeoutExpired:
            return np.inf, time.perf_counter() - started, np.zeros(n, int), np.zeros(d, int)
        if out.returncode:
            sys.exit(out.stderr[-2000:])
        cpu, wall = json.loads(out.stdout.splitlines()[-1])
        found = np.load(path + ".out.npz")
        return cpu, wall, found["rows"], found["columns"]


def quality(rows: np.ndarray, columns: np.ndarray, truth: tuple) -> list[str]:
    """How labels agree with what is known."""
    if truth[1] is None:
        homogeneity, completeness, _ = homogeneity_completeness_v_measure(truth[0], rows)
        return [f"{homogeneity:.3f}", f"{completeness:.3f}", f"{adjusted_rand_score(truth[0], rows):.3f}"]
    pairs = zip(truth, (rows, columns), strict=True)
    return [f"{normalized_mutual_info_score(part, found):.4f}" for part, found in pairs] + [""]


def main(case: str, chosen: list[str]) -> None:
    """Every method on one matrix, one line each."""
    if case in ("classic3", "presence"):
        X, *truth = classic3()
        X.data = np.minimum(X.data, 1 if case == "presence" else np.inf).astype(np.int32)
        k, starts, models, corrected = 3, (40, 80), ("symmetric", "relational"), 1
    elif case == "sparse":
        X, *truth = planted((5_000, 5_000), (20, 20), 0.042, 1)
        k, starts, models, corrected = 20, (40, 40), ("symmetric", "relational"), 0
    else:
        X, *truth = planted((500, 300), (6, 10), 0.5, 0)
        k, starts, models, corrected = 6, (12, 20), ("symmetric", "relational"), 0
    methods = [(f"countless {name}", sys.executable, OURS, (name, corrected, k)) for name in models]
    methods.append(("spectral co-clustering (told k)", sys.executable, OURS, ("spectral", corrected, k)))
    methods += [(f"graph-tool {kind}", GRAPH_TOOL, PEER, (kind, *starts, corrected)) for kind in ("bounded", "mdl")]
    words = ("homogeneity", "completeness", "ARI") if truth[1] is None else ("NMI rows", "NMI columns", "")
    lines = []
    for name, python, code, settings in methods:
        if chosen and not any(word in name for word in chosen):
            continue
        cpu, wall, rows, columns = run(python, code, X, *settings)
        found = [len(set(rows.tolist())), len(set(columns.tolist()))]
        ended = np.isfinite(cpu)
        values = quality(rows, columns, tuple(truth)) if ended else ["did not end"] * 3
        lines.append([name, f"{cpu:.1f}", f"{wall:.1f}", f"{found[0]} x {found[1]}" if ended else "", *values])
        print(*lines[-1], flush=True)
    print(f"\n{case}: {X.shape[0]} x {X.shape[1]}, {X.nnz:,} stored")
    print_table(["method", "CPU s", "wall s", "clusters", *words], lines)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "dense", sys.argv[2:])
