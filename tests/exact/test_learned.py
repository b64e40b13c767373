"""A learned concentration: partitions and concentration together against quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import gamma as gamma_law

from countless.inference import Problem
from countless.inference.concentration import ConcentrationUpdate
from countless.inference.split_merge import SplitMerge
from countless.inference.sweep import GibbsSweep
from countless.priors import CRP, FiniteDirichlet, Gamma, MixtureOfFinite, PitmanYor
from helpers import batch_error

from .chains import LIMIT, excess, run_chain
from .enumeration import exact_posterior, log_evidences, partitions
from .problems import example

LAW = Gamma(2.0, 1.0)
LEARNED = {
    "crp": CRP(LAW),
    "pitman-yor": PitmanYor(LAW, 0.3),
    "finite-dirichlet": FiniteDirichlet(3, LAW),
    "mixture-of-finite": MixtureOfFinite(LAW),
}


def _moments(prior, sizes):
    """Integral of p(sizes | c) c^power Gamma(c) over c, for powers 0, 1 and 2, by adaptive quadrature."""
    density = gamma_law(LAW.shape, scale=1.0 / LAW.rate).pdf

    def integrand(c, power):
        return math.exp(prior.with_concentration(c).log_prob_sizes(sizes)) * density(c) * c**power

    return [quad(integrand, 0.0, 60.0, args=(p,), epsabs=0.0, epsrel=1e-8, limit=200)[0] for p in range(3)]


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


@pytest.mark.parametrize("prior", LEARNED)
@pytest.mark.parametrize("name", ["gaussian", "poisson"])
def test_partitions_and_concentration(name, prior, rng):
    family, X = example(name)
    problem = Problem.of(X, family, LEARNED[prior])
    posterior, mean, variance = _exact(family, X, LEARNED[prior])
    np.testing.assert_allclose(posterior, exact_posterior(family, X, LEARNED[prior]), rtol=1e-6, atol=1e-12)
    draws = run_chain(problem, [GibbsSweep(), SplitMerge(5), ConcentrationUpdate()], rng)
    assert excess(draws.labels, posterior, rng) <= LIMIT
    drawn = draws.concentration
    assert abs(drawn.mean() - mean) <= 4.0 * batch_error(drawn)
    assert abs(np.mean((drawn - mean) ** 2) - variance) <= 4.0 * batch_error((drawn - mean) ** 2)
