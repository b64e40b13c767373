"""Two groups of rows for every family, quick engines, and the priors by name; shared by the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import countless as cl
from countless.families import FAMILIES
from countless.inference import MAP, CollapsedGibbs

FloatArray = NDArray[np.float64]

GIBBS = CollapsedGibbs(chains=1, draws=20, warmup=20, n_threads=1)
SEARCH = MAP(restarts=1, perturbations=1, n_threads=1)
ENGINES = {"gibbs": GIBBS, "map": SEARCH}
PRIORS = ("crp", "pitman-yor", "finite-dirichlet", "mixture-of-finite")
FAMILY_NAMES = tuple(name for name, cls in FAMILIES.items() if cls.__module__.startswith("countless."))

REAL = ("gaussian", "diagonal-gaussian", "gaussian-known-covariance", "spherical-gaussian")
COUNTS = ("multinomial", "categorical", "bernoulli", "binomial", "poisson", "geometric")


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([4711, seed])


def two_groups(name: str, n: int = 8) -> FloatArray:
    """``n`` rows of each of two groups far apart, of the kind that the family takes; the groups alternate."""
    rng = _rng(FAMILY_NAMES.index(name))
    if name in REAL:
        parts = rng.normal(0.0, 1.0, (n, 2)), rng.normal(12.0, 1.0, (n, 2))
    elif name == "multinomial":
        parts = rng.multinomial(40, [0.8, 0.1, 0.1], n), rng.multinomial(40, [0.1, 0.1, 0.8], n)
    elif name in ("categorical", "bernoulli"):
        parts = rng.random((n, 12)) < 0.03, rng.random((n, 12)) < 0.97
    elif name == "binomial":
        parts = rng.binomial(30, 0.1, (n, 2)), rng.binomial(30, 0.9, (n, 2))
    elif name == "poisson":
        parts = rng.poisson([2.0, 60.0], (n, 2)), rng.poisson([60.0, 2.0], (n, 2))
    elif name == "geometric":
        parts = rng.geometric(0.6, (n, 6)) - 1, rng.geometric(0.005, (n, 6)) - 1
    elif name == "exponential":
        parts = rng.exponential(0.01, (n, 6)), rng.exponential(100.0, (n, 6))
    else:
        raise LookupError(f"tests/estimators/cases.py has no rows for {name!r}")
    rows = np.stack([np.asarray(part, dtype=np.float64) for part in parts], axis=1)
    return np.ascontiguousarray(rows.reshape(2 * n, -1))


def alternating(n: int = 8) -> NDArray[np.int64]:
    """The groups of ``two_groups``, numbered by first appearance."""
    return np.tile([0, 1], n)


def model(family: Any = "gaussian", prior: Any = "crp", inference: Any = GIBBS, random_state: Any = 0) -> cl.DPMixture:
    """An estimator with a quick engine and a seed."""
    return cl.DPMixture(family=family, prior=prior, inference=inference, random_state=random_state)


def first_appearance(labels: NDArray[np.int64]) -> bool:
    """Whether labels are numbered 0, 1, 2, ... in the order in which they first occur."""
    seen = 0
    for label in labels.tolist():
        if label > seen or label < 0:
            return False
        seen = max(seen, label + 1)
    return True
