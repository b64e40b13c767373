"""Sampling, variational and MAP predict held-out rows of real tables equally well, within their own errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import countless as cl

IRIS = Path(__file__).resolve().parents[3] / "shared" / "data" / "iris.csv"


def _table(name):
    if name == "iris":
        if not IRIS.exists():
            pytest.skip(f"{IRIS} is not there")
        return pd.read_csv(IRIS).to_numpy()[:, :4].astype(float)
    load = {"Old Faithful": cl.datasets.load_faithful, "galaxies": cl.datasets.load_galaxies}[name]
    return load().to_numpy(dtype=float)


@pytest.mark.parametrize("name", ["Old Faithful", "galaxies", "iris"])
def test_held_out_density(name):
    X = _table(name)
    engines = {
        "gibbs": cl.inference.CollapsedGibbs(chains=2, draws=100, warmup=50),
        "map": cl.inference.MAP(),
        "variational": cl.inference.Variational(),
    }
    densities = {engine: np.empty(len(X)) for engine in engines}
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        for engine, settings in engines.items():
            fit = cl.DPMixture(inference=settings, random_state=0).fit(X[train])
            densities[engine][test] = fit.score_samples(X[test])
    means = {engine: values.mean() for engine, values in densities.items()}
    errors = {engine: values.std() / np.sqrt(len(X)) for engine, values in densities.items()}
    for engine in ("map", "variational"):
        assert abs(means[engine] - means["gibbs"]) < np.hypot(errors[engine], errors["gibbs"])
    # A single Gaussian is told apart from them by this measure.
    one = cl.DPMixture(prior=cl.priors.FiniteDirichlet(1, 1.0), inference="map").fit(X)
    if name != "iris":
        assert one.score(X) < means["gibbs"]
