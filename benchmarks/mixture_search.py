"""How often brute force over K finds the number of clusters of Pletscher's Zurich, Berne and London settings, N = 500.

usage: python benchmarks/mixture_search.py [REPETITIONS]
"""

from __future__ import annotations

import sys
import time
import warnings

from common import print_table

import countless as cl
from countless.experiments import split_by_criterion


def study(name: str, configuration: int, repetitions: int) -> list[object]:
    """Repetitions in which each way finds the number of clusters, and the time of all searches."""
    truth = cl.datasets.PLETSCHER[name].n_clusters
    found = dict.fromkeys(("bic", "aic", "icl", "full", "diagonal", "split bic", "split aic"), 0)
    seconds = 0.0
    for seed in range(repetitions):
        sample = cl.datasets.make_pletscher(name, n=500, configuration=configuration, random_state=seed)
        start = time.perf_counter()
        search = cl.MixtureSearch(sample.family, random_state=seed).fit(sample.X)
        seconds += time.perf_counter() - start
        table = search.scores_
        for criterion in ("bic", "aic", "icl"):
            found[criterion] += table["n_components"][table[criterion].argmin()] == truth
        for label, family in (("full", "gaussian"), ("diagonal", "diagonal-gaussian")):
            found[label] += cl.MixtureSearch(family, random_state=seed).fit(sample.X).n_clusters_ == truth
        for criterion in ("bic", "aic"):
            labels = split_by_criterion(sample.X, sample.family, criterion)
            found[f"split {criterion}"] += labels.n_clusters == truth
    kind = "easier" if configuration == 1 else "harder"
    return [name, kind, truth, *(f"{count} of {repetitions}" for count in found.values()), f"{seconds:.1f}"]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    rows = [study(name, which, repetitions) for which in (1, 2) for name in ("zurich", "berne", "london")]
    header = ["setting", "configuration", "K", "BIC", "AIC", "ICL", "BIC full", "BIC diagonal"]
    print_table([*header, "split BIC", "split AIC", "s BIC"], rows)
