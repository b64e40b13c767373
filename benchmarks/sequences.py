"""Series with known states or change points: InfiniteHMM beside hmmlearn and ruptures, in one run.

python benchmarks/sequences.py mocap FOLDER       mocap6.csv: Hamming distance after the best matching of states
python benchmarks/sequences.py well-log FOLDER    well_log.csv: change points against those that five people marked

FOLDER has the tables; hmmlearn and ruptures (PyPI) are needed beside countless.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

import countless as cl

SEEDS = range(3)
ENGINES = ("variational", "map", "gibbs")
# Numbers of states that BIC chooses from.
NUMBERS = (4, 6, 8, 10, 12, 15, 20, 25, 30, 40)
WINDOW = 10


def hamming(labels: Any, truth: Any) -> float:
    """Share of steps in another state, after the best matching of states."""
    table = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(table, (labels, truth), 1)
    rows, columns = linear_sum_assignment(-table)
    return 1.0 - float(table[rows, columns].sum()) / len(labels)


def say(line: str) -> None:
    """A line at once: some of these fits take long."""
    print(line, flush=True)


def timed(fit: Any) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds."""
    begin = time.process_time()
    return fit(), time.process_time() - begin


def mocap(folder: Path) -> None:
    """Six recordings of twelve exercises; hmmlearn with 12 states, and with as many as BIC chooses."""
    from hmmlearn.hmm import GaussianHMM

    table = pd.read_csv(folder / "mocap6.csv")
    X = table.drop(columns=["seq_id", "tstep_id", "action"]).to_numpy(dtype=float)
    truth, lengths = pd.factorize(table["action"])[0], table["seq_id"].value_counts(sort=False).to_numpy()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    for kind in ("diag", "full"):
        for seed in SEEDS:
            peer = GaussianHMM(12, covariance_type=kind, n_iter=100, random_state=seed).fit(scaled, lengths)
            say(f"hmmlearn {kind}, 12 states, seed {seed}: {hamming(peer.predict(scaled, lengths), truth):.3f}")
    for engine in ENGINES:
        for seed in SEEDS:
            model = cl.InfiniteHMM(inference=engine, random_state=seed)
            model, seconds = timed(lambda model=model: model.fit(X, lengths=lengths))
            words = f"{model.n_states_} states, row weight {model.row_weight_}"
            say(f"countless {engine}, seed {seed}: {words}, {hamming(model.labels_, truth):.3f}, {seconds:.1f} s")
    for kind in ("diag", "full"):
        best = None
        for k in NUMBERS:
            try:
                peer = GaussianHMM(k, covariance_type=kind, n_iter=60, random_state=0).fit(scaled, lengths)
                bic = peer.bic(scaled, lengths)
            except ValueError:  # a state without steps
                continue
            best = min(best or (np.inf, 0, 0.0), (bic, k, hamming(peer.predict(scaled, lengths), truth)))
        assert best is not None
        say(f"hmmlearn {kind}, {best[1]} states by BIC: {best[2]:.3f}")


def found_and_right(changes: Any, marks: Any) -> str:
    """Recall and precision of change points, within ``WINDOW`` steps."""
    apart = np.abs(np.subtract.outer(np.asarray(changes), np.asarray(marks)))
    recall, precision = (apart.min(axis=0) <= WINDOW).mean(), (apart.min(axis=1) <= WINDOW).mean()
    return f"{len(changes)} changes, recall {recall:.3f}, precision {precision:.3f}"


def well_log(folder: Path) -> None:
    """Where the state changes, beside PELT with a few penalties."""
    import ruptures

    X = pd.read_csv(folder / "well_log.csv")[["response"]].to_numpy(dtype=float)
    marks = pd.read_csv(folder / "well_log_annotations.csv")["t"].to_numpy()
    for engine in ENGINES:
        model = cl.InfiniteHMM(inference=engine, random_state=0)
        model, seconds = timed(lambda model=model: model.fit(X))
        changes = np.flatnonzero(np.diff(model.labels_)) + 1
        words = f"{model.n_states_} states, {found_and_right(changes, marks)}"
        say(f"countless {engine}: {words}, {seconds:.1f} s")
    scaled = (X - X.mean()) / X.std()
    noise = np.median(np.abs(np.diff(scaled[:, 0]))) / 0.6745 / np.sqrt(2.0)
    penalty = 2.0 * noise**2 * np.log(len(X))
    for cost, chosen in (("l2", penalty), ("l2", 5.0 * penalty), ("rbf", np.log(len(X)))):
        search = ruptures.Pelt(model=cost, min_size=2, jump=1 if cost == "l2" else 5).fit(scaled)
        changes = search.predict(pen=chosen)[:-1]
        say(f"ruptures PELT {cost}, penalty {chosen:.2f}: {found_and_right(changes, marks)}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"mocap": mocap, "well-log": well_log}[sys.argv[1]](Path(sys.argv[2]))
