"""A learned concentration: partitions and concentration together against quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import gamma as gamma_law

from countless.inference import Problem
from countless.models.mixture.moves.concentration import ConcentrationUpdate
from countless.models.mixture.moves.split_merge import SplitMerge
from countless.models.mixture.moves.sweeps import GibbsSweep
from countless.priors import CRP, FiniteDirichlet, Gamma, MixtureOfFinite, PitmanYor
from helpers import batch_error

from .chains import LIMIT, N_DRAWS, excess, run_chain
from .enumeration import exact_posterior, log_evidences, partitions
from .problems import example

LAW = Gamma(2.0, 1.0)
# prior, example, kept draws: a step of the last prior's concentration costs a hundred times the others'.
CASES = {
    "crp-gaussian": (CRP(LAW), "gaussian", N_DRAWS),
    "crp-poisson": (CRP(LAW), "poisson", N_DRAWS),
    "pitman-yor": (PitmanYor(LAW, 0.3), "gaussian", N_DRAWS),
    "finite-dirichlet": (FiniteDirichlet(3, LAW), "gaussian", N_DRAWS),
    "mixture-of-finite": (MixtureOfFinite(LAW), "gaussian", 500),
}


def _moments(prior, sizes):
    """Integrals of p(sizes | c) c^power Gamma(c) over c, for powers 0, 1 and 2: the trapezoid rule in log c."""
    step = 0.15
    values = np.exp(np.arange(-14.0, 4.5, step))
    heights = np.exp([prior.with_concentration(value).log_prob_sizes(sizes) for value in values])
    weights = step * values * gamma_law(LAW.shape, scale=1.0 / LAW.rate).pdf(values)
    return (weights * heights) @ np.vander(values, 3, increasing=True)


def _exact(family, X, prior):
    """Posterior of the partitions, and posterior mean and variance of the concentration."""
    shapes = [tuple(sorted(np.bincount(labels).tolist())) for labels in partitions(len(X))]
    moments = {shape: _moments(prior, shape) for shape in set(shapes)}
    table = np.array([moments[shape] for shape in shapes])
    with np.errstate(divide="ignore"):
        log_joint = np.log(table[:, 0]) + log_evidences(family, X)
    posterior = np.exp(log_joint - logsumexp(log_joint))
    possible = table[:, 0] > 0
    mean, square = posterior[possible] @ (table[possible, 1:] / table[possible, :1])
    return posterior, mean, square - mean**2


@pytest.mark.parametrize("case", CASES)
def test_partitions_and_concentration(case, rng):
    prior, name, n_draws = CASES[case]
    family, X = example(name)
    posterior, mean, variance = _exact(family, X, prior)
    np.testing.assert_allclose(posterior, exact_posterior(family, X, prior), rtol=1e-6, atol=1e-12)
    moves = [GibbsSweep(), SplitMerge(5), ConcentrationUpdate()]
    draws = run_chain(Problem.of(X, family, prior), moves, rng, n_draws=n_draws)
    assert excess(draws.labels, posterior, rng) <= LIMIT
    drawn = draws.concentration
    assert abs(drawn.mean() - mean) <= 4.0 * batch_error(drawn)
    assert abs(np.mean((drawn - mean) ** 2) - variance) <= 4.0 * batch_error((drawn - mean) ** 2)
