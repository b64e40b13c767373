"""Long studies of whole fits: structure that is there is found from any start, and none is found in noise."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl
from countless.experiments.biclusters import error_of_side, make_normalisation, make_steps

PATTERNS = {"steps": (make_steps, (6, 10)), "normalisation": (make_normalisation, (2, 3))}
ENGINES = {
    "map": lambda start: cl.inference.BiclusterMAP(start=start),
    "gibbs": lambda start: cl.inference.BiclusterGibbs(chains=2, draws=30, warmup=20, start=start),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")  # thirty draws say little of agreement
@pytest.mark.parametrize("start", ["one", "singletons"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_from_either_end(pattern, model, engine, start):
    """The correct biclustering in ten of ten seeds (Pletscher 2007, 5.5.2 and 5.5.3)."""
    make, sizes = PATTERNS[pattern]
    for seed in range(10):
        X, rows, columns = make(np.random.default_rng(seed))
        fit = cl.InfiniteBiclustering(model, inference=ENGINES[engine](start), random_state=seed).fit(X)
        errors = [
            error_of_side(found, truth, X.sum(axis=axis))
            for found, truth, axis in ((fit.row_labels_, rows, 1), (fit.column_labels_, columns, 0))
        ]
        assert (fit.n_clusters_, errors) == (sizes, [0.0, 0.0]), seed


# Matrices without structure, and what makes them.
NOISE = {
    "Poisson(0.1)": lambda rng: rng.poisson(0.1, (200, 100)),
    "Poisson(3)": lambda rng: rng.poisson(3.0, (200, 100)),
    "Bernoulli(0.03)": lambda rng: rng.random((200, 100)) < 0.03,
}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["relational", "symmetric", "asymmetric", "factorized", "frequency"])
@pytest.mark.parametrize("kind", NOISE)
def test_nothing_is_found_in_noise(kind, model):
    """One row cluster and one column cluster in at least 19 of 20 matrices, with default settings."""
    whole = 0
    for seed in range(20):
        X = NOISE[kind](np.random.default_rng(seed)).astype(float)
        whole += cl.InfiniteBiclustering(model, random_state=seed).fit(X).n_clusters_ == (1, 1)
    assert whole >= 19
