"""Posteriors made by hand: draws whose law is known, without a fit."""

from __future__ import annotations

import numpy as np

from by_hand import posterior_of
from countless.core.validate import by_first_appearance

__all__ = ["independent_labels", "posterior_of"]


def independent_labels(rng, n_chains, n_draws, n_rows, groups=3, noise=0.1):
    """Independent draws: some groups, and each row somewhere else with probability ``noise``."""
    base = np.arange(n_rows) % groups
    draws = np.where(rng.random((n_chains * n_draws, n_rows)) < noise, rng.integers(groups, size=n_rows), base)
    return np.stack([by_first_appearance(draw) for draw in draws]).reshape(n_chains, n_draws, n_rows)
