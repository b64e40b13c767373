"""Posteriors made by hand: draws whose law is known, without a fit."""

from __future__ import annotations

import numpy as np

from countless.core.validate import by_first_appearance
from countless.posterior import Posterior


def posterior_of(labels, log_joint=None, concentration=None, **more):
    """A posterior with these labels (chain, draw, row)."""
    labels = np.asarray(labels)
    shape = labels.shape[:2]
    clusters = np.array([len(np.unique(draw)) for draw in labels.reshape(-1, labels.shape[-1])]).reshape(shape)
    return Posterior(
        labels=labels,
        n_clusters=clusters,
        log_joint=np.zeros(shape) if log_joint is None else log_joint,
        concentration=np.ones(shape) if concentration is None else concentration,
        objective=np.empty(0),
        **more,
    )


def independent_labels(rng, n_chains, n_draws, n_rows, groups=3, noise=0.1):
    """Independent draws: some groups, and each row somewhere else with probability ``noise``."""
    base = np.arange(n_rows) % groups
    draws = np.where(rng.random((n_chains * n_draws, n_rows)) < noise, rng.integers(groups, size=n_rows), base)
    return np.stack([by_first_appearance(draw) for draw in draws]).reshape(n_chains, n_draws, n_rows)
