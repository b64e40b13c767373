"""The CRP study of Raykov et al. 2016, section 5.1, in both readings: MAP and Gibbs on 100 data sets of 600 rows.

usage: python benchmarks/raykov.py [N_DATA_SETS]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from common import print_table

import countless as cl
from countless.inference import Problem
from countless.metrics import normalized_mutual_information as nmi
from countless.posterior import Posterior


def study(separated: bool, n_sets: int) -> list[object]:
    """Mean NMI of both engines, and how often MAP's log joint is at least that of the best of 4 x 500 draws."""
    scores, wins, seconds = [], 0, np.zeros(2)
    for seed in range(n_sets):
        sample = cl.datasets.make_raykov(600, separated=separated, random_state=seed)
        problem = Problem.of(sample.X, sample.family.resolve(sample.X), cl.priors.CRP(3.0))
        results = []
        for engine in (cl.inference.MAP(), cl.inference.CollapsedGibbs(chains=4, draws=500, warmup=100)):
            start = time.perf_counter()
            results.append(engine.run(problem, np.random.default_rng(seed)))
            seconds[len(results) - 1] += time.perf_counter() - start
        best, drawn = results
        # Equal up to the rounding of a sum over rows counts as reached.
        wins += best.log_joint.max() >= drawn.log_joint.max() - 1e-8
        scores.append([nmi(Posterior.of(draws).consensus(), sample.labels) for draws in results])
    means = np.mean(scores, axis=0)
    return [
        "independent means" if separated else "literal",
        f"{means[0]:.3f}",
        f"{means[1]:.3f}",
        f"{wins} of {n_sets}",
        f"{seconds[0]:.0f}",
        f"{seconds[1]:.0f}",
    ]


if __name__ == "__main__":
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rows = [study(separated, n_sets) for separated in (True, False)]
    print_table(["reading", "NMI MAP", "NMI Gibbs", "MAP >= best draw", "s MAP", "s Gibbs"], rows)
