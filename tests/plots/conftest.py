"""Small fitted models that the tests of the figures share, and one put together by hand from a mixed table."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import countless as cl
from by_hand import posterior_of
from countless.core.validate import by_first_appearance
from countless.core.warnings import ConvergenceWarning
from countless.models.mixture.data import MixtureData

SHORT = cl.inference.CollapsedGibbs(chains=2, draws=40, warmup=40)


def fit(X, family="gaussian", inference=SHORT, **settings):
    """A fit that need not have converged: figures are about its draws, whatever they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cl.DPMixture(family, inference=inference, random_state=0, **settings).fit(X), X


@pytest.fixture(scope="session")
def faithful():
    X = cl.datasets.load_faithful()
    return fit(X)


@pytest.fixture(scope="session")
def galaxies():
    X = cl.datasets.load_galaxies()
    return fit(X)


@pytest.fixture(scope="session")
def five_columns():
    X = cl.datasets.make_gaussian_mixture(150, n_columns=5, n_clusters=4, random_state=1).X
    return fit(X)


@pytest.fixture(scope="session")
def counts_of_events():
    sample = cl.datasets.make_mixture(120, cl.families.Poisson(2.0, 0.1), cl.priors.CRP(1.0), random_state=3)
    return fit(sample.X, "poisson")


@pytest.fixture(scope="session")
def single_partition():
    X = cl.datasets.load_faithful()
    return fit(X, inference="map")


@pytest.fixture(scope="session")
def approximation():
    X = cl.datasets.load_faithful()
    return fit(X, inference="variational")


@pytest.fixture(scope="session")
def one_cluster():
    X = np.random.default_rng(5).standard_normal((60, 3))
    engine = cl.inference.CollapsedGibbs(chains=1, draws=5, warmup=0, split_merge=False, start=np.zeros(60, dtype=int))
    return fit(X, inference=engine, prior=cl.priors.CRP(1e-9))


def by_hand(rows, family, labels, draws, prior=None):
    """What figures need of a fit: draws (chain, draw, row) and labels as they are handed in."""
    draws = np.asarray(draws)
    family = family.resolve(rows)
    prior = cl.priors.CRP(1.0).resolve(len(rows)) if prior is None else prior
    names = [f"column {j}" for j in range(rows.shape[1])]
    return SimpleNamespace(
        labels_=np.asarray(labels),
        posterior_=posterior_of(
            draws,
            log_joint=np.arange(float(draws[..., 0].size)).reshape(draws.shape[:2]),
            data=MixtureData(rows, family.describe_columns(names), family, prior),
        ),
    )


def mixed_frame(n=150):
    """Numbers, counts and categories of three clusters, a tenth of the cells missing; and the clusters."""
    rng = np.random.default_rng(2)
    truth = by_first_appearance(rng.choice(3, size=n, p=[0.5, 0.3, 0.2]))
    table = pd.DataFrame(
        {
            "age": 30.0 + 15.0 * truth + rng.normal(0.0, 5.0, n),
            "income in $ per year, $ of 2020, before taxes": np.exp(10.0 + 0.5 * truth + rng.normal(0.0, 0.3, n)),
            "visits": rng.poisson(1.0 + 3.0 * truth).astype(float),
            "city": np.array(["Aarhus", "Bergen", "Vila Nova de Famalicão e arredores"])[
                (truth + (rng.random(n) < 0.3)) % 3
            ],
            "owner": np.where(rng.random(n) < 0.2 + 0.3 * truth, "yes", "no"),
        }
    )
    return table.mask(rng.random(table.shape) < 0.1), truth


@pytest.fixture(scope="session")
def mixed():
    """A table of several families with holes: draws are the truth with some rows moved."""
    table, truth = mixed_frame()
    kinds = ["diagonal-gaussian", "diagonal-gaussian", "poisson", "categorical", "categorical"]
    family, rows = cl.families.Table(dict(zip(table.columns, kinds, strict=True))).read(table)
    rng = np.random.default_rng(3)
    moved = rng.random((2, 15, len(truth))) < 0.1
    draws = np.where(moved, rng.integers(0, 3, moved.shape), truth)
    draws = np.apply_along_axis(by_first_appearance, 2, draws)
    model = by_hand(rows, family, truth, draws)
    return model, table


@pytest.fixture(scope="session")
def large():
    """22,010 rows in 13 clusters, one of them of 10 rows: more rows and clusters than are drawn one by one."""
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.repeat(np.arange(12), 22_000 // 12 + 1)[:22_000], np.full(10, 12)])
    X = 40.0 * rng.standard_normal((13, 2))[labels] + rng.standard_normal((len(labels), 2))
    engine = cl.inference.CollapsedGibbs(chains=1, draws=2, warmup=0, split_merge=False, start=labels)
    return fit(X, inference=engine)
