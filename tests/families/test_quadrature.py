"""Evidence by direct numerical integration of likelihood times prior over the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from scipy.special import logsumexp

from cases import FAMILY_CASES
from countless.families import FAMILIES

from .cases import EXAMPLES

ONE_PARAMETER = [name for name, case in FAMILY_CASES.items() if case.quadrature is not None]


def _unbounded(prior) -> tuple:
    """Points all over the support in a coordinate without ends, and the log of their weights.

    There the integrand dies away exponentially, and the trapezium rule is as good as exact.
    """
    if prior.support() == (0, 1):
        u, step = np.linspace(-60, 35, 8001, retstep=True)  # beyond 36 the number rounds to one
        return special.expit(u), special.log_expit(u) + special.log_expit(-u) + np.log(step)
    if prior.support()[0] == 0:
        u, step = np.linspace(-60, 8, 8001, retstep=True)
        return np.exp(u), u + np.log(step)
    u, step = np.linspace(-30, 30, 8001, retstep=True)
    return u, np.full(len(u), np.log(step))


@pytest.mark.parametrize("name", ONE_PARAMETER)
@pytest.mark.parametrize("n", [1, 4, 8])
def test_one_parameter_evidence_by_quadrature(name, n):
    case = EXAMPLES[name][0]
    prior, log_likelihood = case.oracle.quadrature(case.resolved())
    rows = case.rows[:n]
    points, log_weights = _unbounded(prior)
    expected = logsumexp(log_likelihood(rows, points).sum(axis=0) + prior.logpdf(points) + log_weights)
    assert case.family.log_marginal(rows) == pytest.approx(expected, rel=1e-9)


def test_three_level_categorical_evidence_by_quadrature():
    """Over the simplex, with p = (u, (1 - u) v, (1 - u)(1 - v))."""
    alpha = np.array([1.7, 2.6, 1.4])
    codes = EXAMPLES["categorical"][0].rows
    counts = np.array([np.sum(codes == level) for level in range(3)])
    nodes, weights = np.polynomial.legendre.leggauss(200)
    # A cubic step flattens the ends, where the integrand is a fractional power.
    t = (nodes + 1) / 2
    u, du = t**3 * (10 - 15 * t + 6 * t**2), weights / 2 * 30 * t**2 * (1 - t) ** 2
    first, rest = np.meshgrid(u, u, indexing="ij")
    p = np.stack([first, (1 - first) * rest, (1 - first) * (1 - rest)])
    log_prior = stats.dirichlet(alpha).logpdf(p.reshape(3, -1)).reshape(first.shape)
    log_integrand = np.tensordot(counts, np.log(p), 1) + log_prior + np.log(1 - first)
    expected = logsumexp(log_integrand, b=np.outer(du, du))
    evidence = FAMILIES["categorical"]([alpha], n_levels=[3]).log_marginal(codes)
    assert evidence == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "diagonal-gaussian"])
@pytest.mark.parametrize("n", [1, 3, 8])
def test_one_column_gaussian_evidence_by_quadrature(name, n):
    """Trapezium rule over the mean and the logarithm of the standard deviation."""
    case = EXAMPLES[name][0]
    family, x = case.resolved(), case.rows[:n, 0]
    strength, mean, dof = (float(np.ravel(v)[0]) for v in (family.mean_strength, family.mean, family.dof))
    scale = float(np.ravel(family.scale)[0])
    log_sd, step = np.linspace(-6.0, 14.0, 1001, retstep=True)
    sd = np.exp(log_sd)
    z, dz = np.linspace(-14.0, 14.0, 401, retstep=True)
    # Any centre and width that follow the integrand serve; these are where all rows and the prior pull.
    mu = (x.sum() + strength * mean) / (n + strength) + sd[:, None] * z / np.sqrt(n + strength)
    log_integrand = (
        stats.norm(mu[..., None], sd[:, None, None]).logpdf(x).sum(axis=-1)
        + stats.norm(mean, sd[:, None] / np.sqrt(strength)).logpdf(mu)
        + stats.invgamma(dof / 2, scale=scale / 2).logpdf(sd**2)[:, None]
        # d(sd^2) d(mu) = 2 sd^2 d(log sd) * sd / sqrt(n + strength) dz
        + np.log(2 * sd**3 / np.sqrt(n + strength))[:, None]
    )
    expected = logsumexp(log_integrand) + np.log(step * dz)
    assert case.family.log_marginal(case.rows[:n]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [1, 5])
def test_two_column_gaussian_evidence_by_quadrature(n):
    """The mean integrated by scipy's Gaussian of the stacked rows, the covariance by the trapezium rule.

    Sigma = [[e^2a, e^2a b], [., e^2a b^2 + e^2c]] with b = centre + e^c t.
    """
    case = EXAMPLES["gaussian"][1]
    family, rows = case.resolved(), case.rows[:n]
    scatter = np.asarray(family.scale) + (rows - family.mean).T @ (rows - family.mean)
    centre = scatter[0, 1] / scatter[0, 0]
    (a, da), (t, dt), (c, dc) = (
        np.linspace(low, high, size, retstep=True) for low, high, size in ((-3, 10, 110), (-13, 13, 80), (-3, 11, 110))
    )
    a, t, c = (axis.ravel() for axis in np.meshgrid(a, t, c, indexing="ij"))
    slope = centre + np.exp(c) * t / np.sqrt(scatter[0, 0])
    sigma = np.empty((2, 2, len(a)))
    sigma[0, 0] = np.exp(2 * a)
    sigma[0, 1] = sigma[1, 0] = slope * sigma[0, 0]
    sigma[1, 1] = slope**2 * sigma[0, 0] + np.exp(2 * c)
    log_jacobian = np.log(4) + 2 * a + 2 * c + (2 * a + c - np.log(scatter[0, 0]) / 2)
    # The rows given Sigma: mean of the rows ~ N(m, Sigma (1/n + 1/strength)), deviations independent of it.
    average = rows.mean(axis=0)
    gap, deviations = average - family.mean, rows - average
    spread = 1 / n + 1 / family.mean_strength
    inverse = np.stack([[sigma[1, 1], -sigma[0, 1]], [-sigma[0, 1], sigma[0, 0]]]) / np.exp(2 * a + 2 * c)
    log_prior = (
        -0.5 * np.einsum("ijg,ij->g", inverse, family.scale)
        - (family.dof + 3) * (a + c)
        + 0.5 * family.dof * np.log(np.linalg.det(family.scale) / 4)
        - special.multigammaln(family.dof / 2, 2)
    )
    some = np.flatnonzero(log_prior > log_prior.max() - 12)[::997]
    scipys = stats.invwishart(family.dof, family.scale).logpdf(sigma[..., some])
    np.testing.assert_allclose(log_prior[some], scipys, rtol=1e-9)
    quadratic = np.einsum("ijg,ij->g", inverse, deviations.T @ deviations + np.outer(gap, gap) / spread)
    log_likelihood = -n * np.log(2 * np.pi) - n * (a + c) - np.log(n * spread) - quadratic / 2
    expected = logsumexp(log_prior + log_likelihood + log_jacobian) + np.log(da * dt * dc)
    assert case.family.log_marginal(rows) == pytest.approx(expected, rel=1e-8)
