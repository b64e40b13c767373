"""What people get by default: nothing in one Gaussian population, both of two."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl

SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))]


def _study(seed, gap, n=200, v=5):
    """Intercepts and slopes with deviation 1, apart by ``gap``; noise of variance 1."""
    rng = np.random.default_rng(seed)
    subject, time = np.repeat(np.arange(n), v), np.tile(np.arange(float(v)), n)
    groups = rng.integers(2, size=n)
    effects = np.column_stack([2.0 + gap * groups, 1.0 + gap * groups]) + rng.normal(size=(n, 2))
    y = effects[subject, 0] + effects[subject, 1] * time + rng.normal(size=n * v)
    return np.column_stack([np.ones(n * v), time]), y, subject, groups


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_one_population_is_one_cluster(seed):
    assert cl.MixedEffects(random_state=seed).fit(*_study(seed, 0.0)[:3]).n_clusters_ == 1


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")
@pytest.mark.parametrize("seed", SEEDS[:10])
def test_two_populations_are_found(seed):
    X, y, subject, groups = _study(seed, 3.0)
    model = cl.MixedEffects(random_state=seed).fit(X, y, subject)
    assert model.n_clusters_ == 2
    assert cl.metrics.compare(model.labels_, groups, metrics=("nmi",))["nmi"] > 0.75
