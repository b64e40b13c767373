"""Small fitted models that the tests of the figures share."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl

SHORT = cl.inference.CollapsedGibbs(chains=2, draws=40, warmup=40)


@pytest.fixture(scope="session")
def faithful():
    X = cl.datasets.load_faithful()
    return cl.DPMixture(inference=SHORT, random_state=0).fit(X), X


@pytest.fixture(scope="session")
def galaxies():
    X = cl.datasets.load_galaxies()
    return cl.DPMixture(inference=SHORT, random_state=0).fit(X), X


@pytest.fixture(scope="session")
def five_columns():
    X = cl.datasets.make_gaussian_mixture(150, n_columns=5, n_clusters=4, random_state=1).X
    return cl.DPMixture(inference=SHORT, random_state=0).fit(X), X


@pytest.fixture(scope="session")
def counts_of_events():
    sample = cl.datasets.make_mixture(120, cl.families.Poisson(2.0, 0.1), cl.priors.CRP(1.0), random_state=3)
    return cl.DPMixture("poisson", inference=SHORT, random_state=0).fit(sample.X), sample.X


@pytest.fixture(scope="session")
def single_partition():
    X = cl.datasets.load_faithful()
    return cl.DPMixture(inference="map", random_state=0).fit(X), X


@pytest.fixture(scope="session")
def large():
    """22,010 rows in 13 clusters, one of them of 10 rows: more rows and clusters than are drawn one by one."""
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.repeat(np.arange(12), 22_000 // 12 + 1)[:22_000], np.full(10, 12)])
    X = 40.0 * rng.standard_normal((13, 2))[labels] + rng.standard_normal((len(labels), 2))
    engine = cl.inference.CollapsedGibbs(chains=1, draws=2, warmup=0, split_merge=False, start=labels)
    return cl.DPMixture(inference=engine, random_state=0).fit(X), X
