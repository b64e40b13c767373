"""Mixed tables with holes (workload W7) beside lace: time to agree with the truth, held-out density, imputation.

lace has a Python of its own: COUNTLESS_LACE is the path of an interpreter that has pylace; without it lace is left out.
Both sides are asked after every few sweeps how well they agree with the true groups, and the oracle that knows the true
parameters is the yardstick. Run: python benchmarks/tables.py [seed ...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
from common import SHARED, print_table, use_shared

LACE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np, workloads
from sklearn.metrics import normalized_mutual_info_score as nmi
from peers.table_peers import LaceFlat
w = workloads.make("W7", int(sys.argv[2]))
peer = LaceFlat()
peer.setup(w, int(sys.argv[2]))
start = time.perf_counter()
book = peer.lace.CodebookBuilder.infer(cat_cutoff=7)
engine = peer.lace.Engine.from_df(peer.tr, codebook=book, n_states=2, rng_seed=int(sys.argv[2]), flat_columns=True)
seen = []
spent = time.perf_counter() - start
for _ in range(20):
    start = time.perf_counter()
    engine.update(10, quiet=True, transitions="flat")
    spent += time.perf_counter() - start
    scores = np.asarray(engine.diagnostics("score")[-1].row(0), dtype=float)
    best = int(np.argmax(scores))
    labels = np.array(engine.row_assignments(best)[0])
    seen.append((spent, nmi(labels, w.labels), int(labels.max()) + 1))
print(json.dumps(seen))
"""


def frame_of(part: dict[str, np.ndarray]):
    """The workload as people have it: text categories, empty cells."""
    import pandas as pd

    columns = {f"x{j}": cells for j, cells in enumerate(part["cont"].T)}
    for j, cells in enumerate(part["cat"].T):
        columns[f"c{j}"] = pd.Series([None if cell < 0 else f"level {cell}" for cell in cells], dtype=object)
    for j, cells in enumerate(part["count"].T):
        columns[f"n{j}"] = np.where(cells < 0, np.nan, cells)
    return pd.DataFrame(columns)


def ours(work, engine, kind: str | None = None) -> list[object]:
    """One fit, with measurements of the given kind: seconds, agreement, clusters, held-out density."""
    import countless as cl
    from countless.metrics import normalized_mutual_information as nmi

    frame, new = frame_of(work.train), frame_of(work.test)
    start = time.perf_counter()
    family = "auto" if kind is None else cl.families.Table({f"x{j}": kind for j in range(10)})
    model = cl.DPMixture(family=family, inference=engine, random_state=0, progress=False).fit(frame)
    seconds = time.perf_counter() - start
    density = model.score(new) if work.oracle_lpd is not None else np.nan
    return [f"{seconds:.1f}", f"{nmi(model.labels_, work.labels):.4f}", model.n_clusters_, f"{density:.3f}"]


def imputation(work) -> None:
    """Squared error of missing measurements and counts, in units of the error of the column means."""
    import countless as cl

    truth = work.train["cont"].copy()
    rng = np.random.default_rng(0)
    holes = (rng.random(truth.shape) < 0.05) & ~np.isnan(truth)
    part = {**work.train, "cont": np.where(holes, np.nan, truth)}
    model = cl.DPMixture(
        family="auto", inference=cl.inference.CollapsedGibbs(chains=2, draws=50, warmup=30), random_state=0
    )
    missing = model.fit(frame_of(part)).posterior_.impute(100)
    guess = np.full(truth.shape, np.nan)
    among = missing.columns < truth.shape[1]
    guess[missing.rows[among], missing.columns[among]] = missing.mean[among]
    means = np.broadcast_to(np.nanmean(part["cont"], axis=0), truth.shape)
    ratio = np.mean((guess - truth)[holes] ** 2) / np.mean((means - truth)[holes] ** 2)
    print(f"imputation: squared error {ratio:.3f} of that of column means, over {holes.sum()} cells")


def main() -> None:
    use_shared("bench")
    import workloads

    from countless.inference import CollapsedGibbs
    from countless.metrics import normalized_mutual_information as nmi

    warm = workloads.w7(99, n=300)
    ours(warm, CollapsedGibbs(chains=1, draws=3, warmup=2))
    seeds = [int(seed) for seed in sys.argv[1:]] or [0, 1, 2]
    for seed in seeds:
        work = workloads.make("W7", seed)
        lines: list[list[object]] = [
            ["oracle", "", f"{nmi(work.oracle_labels, work.labels):.4f}", 8, f"{work.oracle_lpd:.3f}"]
        ]
        # Columns independent given the cluster, as lace has them; then one block with its correlations.
        short = CollapsedGibbs(chains=2, draws=15, warmup=15)
        lines.append(["countless, independent, 2 x 30 sweeps", *ours(work, short, "diagonal-gaussian")])
        short = CollapsedGibbs(chains=2, draws=20, warmup=20)
        lines.append(["countless, correlated, 2 x 40 sweeps", *ours(work, short)])
        if seed == seeds[0]:
            lines.append(["countless, defaults", *ours(work, "auto")])
        if os.environ.get("COUNTLESS_LACE"):
            command = [os.environ["COUNTLESS_LACE"], "-c", LACE, str(SHARED / "bench"), str(seed)]
            seen = json.loads(
                subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
            )
            best = max(seen, key=lambda one: one[1])
            lines.append(["lace, at its best", f"{best[0]:.1f}", f"{best[1]:.4f}", best[2], ""])
            lines.append(["lace, 200 iterations", f"{seen[-1][0]:.1f}", f"{seen[-1][1]:.4f}", seen[-1][2], ""])
        print(f"seed {seed}")
        print_table(["", "seconds", "NMI", "clusters", "held out"], lines)
    imputation(workloads.make("W7", seeds[0]))


if __name__ == "__main__":
    main()
