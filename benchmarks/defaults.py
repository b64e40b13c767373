"""What people get by default settings: held-out densities beside scikit-learn's, the classics, known truths.

usage: python benchmarks/defaults.py held-out [TABLE ...]    five folds, standardised columns
       python benchmarks/defaults.py classics [SEEDS]        numbers of clusters, seed by seed
       python benchmarks/defaults.py truth [SEEDS]           W2-1e3, W4, W1-sep and an outlier, by workload of the bench

With the sources of another version first on the path (``PYTHONPATH=other/src``) and its own settings in
``COUNTLESS_SETTINGS`` (JSON, such as ``{"tune": "sample"}``), the two are compared on one machine.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings

import numpy as np
import pandas as pd
from common import SHARED, print_table, use_shared

import countless as cl
from countless.metrics import normalized_mutual_information as nmi

SETTINGS = json.loads(os.environ.get("COUNTLESS_SETTINGS", "{}"))
# Tables of measurements, with the columns that are labels or names.
TABLES = {
    "wine": ("wine.csv", ["class"]),
    "iris": ("iris.csv", ["species"]),
    "vehicle": ("vehicle.csv", ["class"]),
    "faithful": ("faithful.csv", []),
}
FOLDS = 5


def measurements(name: str) -> np.ndarray:
    """Columns of numbers of a table of ``shared/data``."""
    file, labels = TABLES[name]
    frame = pd.read_csv(SHARED / "data" / file)
    frame = frame.drop(columns=[column for column in frame if column.lower() in labels])
    return frame.select_dtypes("number").to_numpy(dtype=np.float64)


def scikit_learn(train: np.ndarray, new: np.ndarray) -> tuple[float, float]:
    """BIC over one to twelve components and four kinds of covariance; the variational mixture with up to 20."""
    from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

    fits = [
        GaussianMixture(k, covariance_type=kind, n_init=3, random_state=0).fit(train)
        for k in range(1, 13)
        for kind in ("full", "tied", "diag", "spherical")
    ]
    best = min(fits, key=lambda fit: fit.bic(train))
    law = "dirichlet_process"
    bayesian = BayesianGaussianMixture(
        n_components=20, weight_concentration_prior_type=law, max_iter=500, random_state=0
    )
    return best.score(new), bayesian.fit(train).score(new)


def held_out(names: list[str]) -> None:
    from sklearn.model_selection import KFold

    lines = []
    for name in names or TABLES:
        X = measurements(name)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        scores, start = [], time.process_time()
        for train, new in KFold(FOLDS, shuffle=True, random_state=0).split(X):
            model = cl.DPMixture(random_state=0, progress=False, **SETTINGS).fit(X[train])
            scores.append(model.score(X[new]))
        seconds = time.process_time() - start
        peers = []
        if not SETTINGS:
            folds = KFold(FOLDS, shuffle=True, random_state=0).split(X)
            peers = [
                f"{value:.2f}" for value in np.mean([scikit_learn(X[train], X[new]) for train, new in folds], axis=0)
            ]
        lines.append([name, f"{np.mean(scores):.2f}", *peers, f"{seconds:.0f}"])
        print(lines[-1], file=sys.stderr)
    print_table(["table", "countless", *(["BIC", "BayesianGaussianMixture"] if not SETTINGS else []), "CPU s"], lines)


def classics(seeds: int) -> None:
    enzyme = pd.read_csv(SHARED / "data" / "enzyme.csv").select_dtypes("number").to_numpy(dtype=np.float64)
    tables = {
        "Old Faithful": np.asarray(cl.datasets.load_faithful(), dtype=np.float64),
        "galaxies": np.asarray(cl.datasets.load_galaxies(), dtype=np.float64).reshape(-1, 1),
        "iris": measurements("iris"),
        "enzyme": enzyme,
    }
    lines = []
    for name, X in tables.items():
        start = time.process_time()
        models = [cl.DPMixture(random_state=seed, progress=False, **SETTINGS).fit(X) for seed in range(seeds)]
        seconds = (time.process_time() - start) / seeds
        lines.append([name, " ".join(str(model.n_clusters_) for model in models), f"{seconds:.1f}"])
        print(lines[-1], file=sys.stderr)
    print_table(["table", "clusters", "CPU s a fit"], lines)


def truth(seeds: int) -> None:
    use_shared("bench")
    import workloads

    for name, engine in (("W2-1e3", "auto"), ("W1-sep", "auto"), ("W4", "gibbs"), ("W4", "variational")):
        lines = []
        for seed in range(seeds if name != "W4" else 1):
            work = workloads.make(name, seed)
            family = "multinomial" if work.kind == "mult" else "gaussian"
            start = time.process_time()
            model = cl.DPMixture(family, inference=engine, random_state=seed, progress=False, **SETTINGS).fit(
                work.train
            )
            seconds = time.process_time() - start
            found = [nmi(model.labels_, work.labels), nmi(work.oracle_labels, work.labels)]
            lines.append([seed, model.n_clusters_, work.k_true, *(f"{value:.4f}" for value in found), f"{seconds:.0f}"])
            print(name, lines[-1], file=sys.stderr, flush=True)
        print(name, engine)
        print_table(["seed", "clusters", "true", "NMI", "oracle", "CPU s"], lines)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    command, *rest = sys.argv[1:] or ["classics"]
    if command == "held-out":
        held_out(rest)
    else:
        {"classics": classics, "truth": truth}[command](int(rest[0]) if rest else 5)
