"""Two groups of rows for every family (from the case files), quick engines, and the priors by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import countless as cl
from cases import FAMILY_CASES, PRIOR_CASES
from countless.inference import MAP, CollapsedGibbs

FloatArray = NDArray[np.float64]

GIBBS = CollapsedGibbs(chains=1, draws=20, warmup=20, n_threads=1)
SEARCH = MAP(restarts=1, perturbations=1, n_threads=1)
ENGINES = {"gibbs": GIBBS, "map": SEARCH}
PRIORS = tuple(PRIOR_CASES)
FAMILY_NAMES = tuple(FAMILY_CASES)

REAL = tuple(name for name, case in FAMILY_CASES.items() if case.cells == "real")
POSITIVE = tuple(name for name, case in FAMILY_CASES.items() if case.cells == "positive")
COUNTS = tuple(name for name, case in FAMILY_CASES.items() if case.cells in ("counts", "codes"))


def two_groups(name: str, n: int = 8) -> FloatArray:
    """``n`` rows of each of two groups far apart, of the kind that the family takes; the groups alternate."""
    parts = FAMILY_CASES[name].two_groups(n)
    rows = np.stack([np.asarray(part, dtype=np.float64) for part in parts], axis=1)
    return np.ascontiguousarray(rows.reshape(2 * n, -1))


def alternating(n: int = 8) -> NDArray[np.int64]:
    """The groups of ``two_groups``, numbered by first appearance."""
    return np.tile([0, 1], n)


def model(
    family: Any = "gaussian", prior: Any = "crp", inference: Any = GIBBS, random_state: Any = 0, tune: Any = "learn"
) -> cl.DPMixture:
    """An estimator with a quick engine and a seed."""
    return cl.DPMixture(family=family, prior=prior, inference=inference, random_state=random_state, tune=tune)


def largest_first(labels: NDArray[np.int64]) -> bool:
    """Whether labels are numbered 0, 1, 2, ... by the sizes of their clusters; of equal ones the first row decides."""
    names, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    keys = list(zip((-sizes).tolist(), first.tolist(), strict=True))
    return names.tolist() == list(range(len(names))) and keys == sorted(keys)


def first_appearance(labels: NDArray[np.int64]) -> bool:
    """Whether labels are numbered 0, 1, 2, ... in the order in which they first occur."""
    seen = 0
    for label in labels.tolist():
        if label > seen or label < 0:
            return False
        seen = max(seen, label + 1)
    return True
