"""countless as one more peer of the shared harness, beside scikit-learn's variational mixture, in one run.

usage: python benchmarks/peers.py [WORKLOAD ...]      default: W1-sep W2-1e3 W2-1e4
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from common import print_table, use_shared

import countless as cl
from countless.metrics import normalized_mutual_information as nmi

use_shared("bench")
import workloads  # noqa: E402
from peers import Peer, register  # noqa: E402
from peers.sklearn_peers import SklearnBGM  # noqa: E402


class _Countless(Peer):
    workloads = ("W1", "W1-sep", "W2-1e3", "W2-1e4", "W2-1e5", "W4")
    inference = "auto"

    def setup(self, w, seed):
        self.w, self.seed = w, seed
        family = "multinomial" if w.kind == "mult" else "gaussian"
        self.model = cl.DPMixture(family=family, inference=self.inference, random_state=seed)

    def fit(self):
        self.model.fit(self.w.train)

    def result(self):
        sample = self.w.test[:2000]
        return {"labels": self.model.labels_, "heldout_lpd": self.model.score(sample), "iterations": None}


@register
class CountlessGibbs(_Countless):
    """Defaults: four chains of collapsed Gibbs with split-merge."""

    name = "countless_gibbs"
    inference = "gibbs"


@register
class CountlessMAP(_Countless):
    """The most probable partition."""

    name = "countless_map"
    inference = "map"


def compare(name: str, seed: int) -> list[list[object]]:
    """One row per peer on one workload."""
    w = workloads.make(name, seed)
    oracle = nmi(w.oracle_labels, w.labels)
    rows: list[list[object]] = []
    reference = None
    for peer_class in (SklearnBGM, CountlessGibbs, CountlessMAP):
        if name not in peer_class.workloads:
            continue
        peer = peer_class()
        peer.setup(w, seed)
        start = time.perf_counter()
        peer.fit()
        seconds = time.perf_counter() - start
        reference = reference or seconds
        found = peer.result()
        sizes = np.bincount(found["labels"])
        rows.append(
            [
                name,
                peer.name,
                f"{seconds:.2f}",
                f"{seconds / reference:.2f}",
                f"{(sizes > 0).sum()} ({w.k_true})",
                f"{nmi(found['labels'], w.labels):.3f} ({oracle:.3f})",
                f"{found['heldout_lpd'] - w.oracle_lpd:+.3f}",
            ]
        )
    return rows


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    names = sys.argv[1:] or ["W1-sep", "W2-1e3", "W2-1e4"]
    rng = np.random.default_rng(0)
    for engine in ("gibbs", "map"):  # the kernels compile before any clock starts
        cl.DPMixture(inference=engine, random_state=0).fit(rng.normal(size=(50, 3)))
    table = [row for name in names for row in compare(name, seed=0)]
    print_table(["workload", "peer", "seconds", "ratio", "K (true)", "NMI (oracle)", "held-out, oracle = 0"], table)
