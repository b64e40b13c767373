"""Nothing is found in noise: rows of one cluster give one cluster, by default settings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import countless as cl

from .noise import NOISE, TRIALS, cells

QUICK = [("gaussian", "correlated"), ("categorical", "uniform"), ("bernoulli", "sparse"), ("poisson", "sparse")]


def _n_clusters(family, kind, n, d, engine, seed):
    rows = NOISE[family][kind](np.random.default_rng([20261117, seed]), n, d)
    law = cl.families.Binomial(trials=TRIALS) if family == "binomial" else family
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cl.DPMixture(law, inference=engine, random_state=seed).fit(rows).n_clusters_


@pytest.mark.parametrize("engine", ["gibbs", "variational", "map"])
@pytest.mark.parametrize(("family", "kind"), QUICK)
def test_one_table_of_noise_is_one_cluster(family, kind, engine):
    assert _n_clusters(family, kind, 80, 10, engine, 0) == 1


@pytest.mark.parametrize(("engine", "seed"), [("map", 7), ("map", 17), ("variational", 0), ("variational", 9)])
def test_one_cluster_is_tried_with_hyperparameters_of_its_own(engine, seed):
    """A few clusters with the small variance that suits them are a peak, far below that of one cluster."""
    assert _n_clusters("spherical-gaussian", "round", 100, 2, engine, seed) == 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["gibbs", "variational", "map"])
@pytest.mark.parametrize(("family", "kind", "n", "d"), list(cells()))
def test_noise_is_one_cluster_in_19_of_20(family, kind, n, d, engine):
    found = [_n_clusters(family, kind, n, d, engine, seed) for seed in range(20)]
    assert sum(count == 1 for count in found) >= 19
