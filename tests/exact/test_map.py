"""MAP finds the mode that enumeration finds, and its objective never falls."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from countless.inference import MAP, Problem, Watch
from countless.priors import CRP, FiniteDirichlet, Gamma, PitmanYor
from helpers import generator

from .enumeration import log_evidences, log_priors, partitions
from .problems import EXAMPLES, PRIORS, example

N_PROBLEMS = 100
N_ROWS = 7


def _random_rows(name, prior, rng):
    """Rows from the model itself: a partition, then the rows of each cluster."""
    family, _ = example(name)
    labels = prior.sample(N_ROWS, rng)
    parts = [family.sample(int(size), rng) for size in np.bincount(labels)]
    return family, np.ascontiguousarray(np.concatenate(parts)[rng.permutation(N_ROWS)])


def _never_falls(objective):
    return np.all(np.diff(objective) >= -1e-9 * np.abs(objective[:-1]))


def test_the_mode_is_found():
    """100 random problems over all families and priors; the objective never falls, and ends at that of the labels."""
    hits = 0
    for number in range(N_PROBLEMS):
        rng = generator("random problem", number)
        name = EXAMPLES[number % len(EXAMPLES)]
        prior = list(PRIORS.values())[(number + number // len(EXAMPLES)) % len(PRIORS)]
        family, X = _random_rows(name, prior, rng)
        log_joint = log_priors(prior, N_ROWS) + log_evidences(family, X)
        draws = MAP().run(Problem.of(X, family, prior), rng, Watch(progress=False))
        at = np.flatnonzero((partitions(N_ROWS) == draws.labels[0, 0]).all(axis=1))[0]
        assert draws.log_joint[0, 0] == pytest.approx(log_joint[at], rel=1e-9, abs=1e-9)
        assert draws.log_joint[0, 0] <= log_joint.max() + 1e-6
        assert draws.objective[-1] == draws.log_joint[0, 0]
        assert draws.n_clusters[0, 0] == draws.labels.max() + 1
        assert _never_falls(draws.objective)
        hits += draws.log_joint[0, 0] >= log_joint.max() - 1e-6
    assert hits >= 99


@pytest.mark.parametrize(
    ("name", "prior"),
    [
        ("gaussian", CRP(Gamma(2.0, 1.0))),
        ("gaussian", PitmanYor(Gamma(2.0, 1.0), 0.3)),
        ("poisson", FiniteDirichlet(3, Gamma(2.0, 1.0))),
    ],
    ids=["crp", "pitman-yor", "finite-dirichlet"],
)
def test_the_mode_with_a_learned_concentration(name, prior, rng):
    """Partition and log concentration are maximised together."""
    hits = 0
    for _ in range(5):
        family, X = _random_rows(name, prior, rng)
        log_joint = _best_over_concentrations(prior) + log_evidences(family, X)
        draws = MAP().run(Problem.of(X, family, prior), rng, Watch(progress=False))
        assert draws.log_joint[0, 0] <= log_joint.max() + 1e-6
        assert _never_falls(draws.objective)
        hits += draws.log_joint[0, 0] >= log_joint.max() - 1e-6
    assert hits >= 4


@cache
def _best_over_concentrations(prior):
    """Largest value of log p(partition | c) + log p(log c) over c, for each partition."""

    def height(sizes):
        def fall(log_c):
            c = float(np.exp(log_c))
            return -(prior.with_concentration(c).log_prob_sizes(sizes) + prior.log_concentration_prior(c))

        grid = np.linspace(-8.0, 5.0, 27)
        best = grid[np.argmin([fall(point) for point in grid])]
        bracket = {"bounds": (best - 0.6, best + 0.6), "method": "bounded", "options": {"xatol": 1e-10}}
        return -minimize_scalar(fall, **bracket).fun

    shapes = [tuple(sorted(np.bincount(labels).tolist())) for labels in partitions(N_ROWS)]
    possible = {shape for shape in shapes if len(shape) <= prior.max_clusters(N_ROWS)}
    heights = {shape: height(shape) for shape in possible}
    return np.array([heights.get(shape, -np.inf) for shape in shapes])
