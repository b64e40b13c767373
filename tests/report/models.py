"""Fitted models without a fit: any table, any number of rows and clusters, draws that waver around known labels."""

from __future__ import annotations

import numpy as np

import countless as cl
from by_hand import posterior_of
from countless.core.validate import by_first_appearance
from countless.families import resolve_family
from countless.families.columns import Column
from countless.inference import CollapsedGibbs
from countless.posterior.data import Data
from countless.priors import resolve_prior

NASTY = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"><svg onload=alert(3)>'",
    "&lt;b&gt; \u2028 \u202e $title ${page} __proto__",
]


def wavering(labels: np.ndarray, n_chains: int, n_draws: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draws in which a few rows, always the same ones, change to another cluster half of the time."""
    k = int(labels.max()) + 1
    loose = rng.random(len(labels)) < share
    other = rng.integers(k, size=len(labels))
    away = rng.random((n_chains, n_draws, len(labels))) < 0.4
    draws = np.where(away & loose, other, labels)
    flat = draws.reshape(-1, len(labels))
    return np.stack([by_first_appearance(draw) for draw in flat]).reshape(draws.shape).astype(np.int16)


def model_of(rows, columns, labels, chains=2, draws=30, share=0.05, seed=0):
    """A model whose sampled posterior is about these rows."""
    rng = np.random.default_rng(seed)
    labels = by_first_appearance(np.asarray(labels, dtype=np.int64))
    family = resolve_family("diagonal-gaussian").resolve(np.nan_to_num(np.asarray(rows, dtype=np.float64)))
    prior = resolve_prior("crp").resolve(len(labels))
    drawn = wavering(labels, chains, draws, share, rng)
    counts = drawn.max(axis=2).astype(np.int64) + 1
    model = cl.DPMixture(random_state=seed)
    model.posterior_ = posterior_of(
        drawn,
        log_joint=-100.0 + rng.normal(size=counts.shape),
        concentration=rng.gamma(2.0, 0.5, size=counts.shape),
        data=Data(np.asarray(rows, dtype=np.float64), tuple(columns), family, prior),
    )
    model.family_, model.prior_, model.inference_ = family, prior, CollapsedGibbs(chains=chains, draws=draws)
    model.labels_, model.n_clusters_ = labels, int(labels.max()) + 1
    model.concentration_ = float(model.posterior_.concentration.mean())
    model._certainty = None  # worked out when it is asked for
    model.n_features_in_ = len(model.posterior_.data.columns)
    return model


def blobs(n_rows, n_clusters, n_columns=4, seed=0, **more):
    """Rows around centres."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clusters, size=n_rows)
    rows = rng.normal(0.0, 6.0, (n_clusters, n_columns))[labels] + rng.normal(size=(n_rows, n_columns))
    return model_of(rows, [Column(f"column {j}", "gaussian") for j in range(n_columns)], labels, seed=seed, **more)


def mixed(n_rows=300, seed=0, names=("age", "sex", "port", "children"), levels=("S", "C", "Q")):
    """Numbers, categories and counts, with holes in each column."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_rows)
    age = np.array([22.0, 45.0, 60.0])[labels] + 5.0 * rng.normal(size=n_rows)
    sex = (rng.random(n_rows) < np.array([0.1, 0.5, 0.9])[labels]).astype(float)
    port = np.where(labels == 2, 2.0, rng.integers(len(levels) - 1, size=n_rows))
    children = rng.poisson(np.array([0.3, 2.5, 1.0])[labels])
    rows = np.stack([np.round(age, 1), sex, port, children], axis=1)
    rows[rng.random(rows.shape) < 0.06] = np.nan
    kinds = ["gaussian", "categorical", "categorical", "poisson"]
    named = [None, ("female", "male"), tuple(levels), None]
    columns = [Column(name, kind, level) for name, kind, level in zip(names, kinds, named, strict=True)]
    return model_of(rows, columns, labels, seed=seed)
